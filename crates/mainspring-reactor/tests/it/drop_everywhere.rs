//! Every call, dropped at every point at which it waits.
//!
//! A counting run does the whole exchange and counts how often a call had to wait. Then, for each
//! of these points, the exchange is done again, the call is dropped there, and fresh calls finish
//! what it began: no byte and no connection is lost or seen twice. In the end every descriptor and
//! every buffer is back, and as many calls were dropped as points were counted.

use crate::rig::{
    self, Drive, InBackground, OnPoll, OnRing, join, listener, narrow_pair, pair, poll_once, turns,
};
use mainspring_reactor::net::{TcpSocket, TcpStream};
use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net;
use std::task::Poll;

/// How often each call is made in an exchange.
const ROUNDS: usize = 4;

/// What is waited for comes...
#[derive(Clone, Copy, Debug)]
enum When {
    /// ...before the drop, and the driver has had its turns.
    Reaped,
    /// ...before the drop, and nobody has looked.
    Unseen,
    /// ...after the drop.
    After,
}

const EACH: [When; 3] = [When::Reaped, When::Unseen, When::After];

/// The points at which calls wait.
struct Points {
    seen: usize,
    drop_at: usize,
    dropped: usize,
}

impl Points {
    /// A call waits: whether it is to be dropped.
    fn drops(&mut self) -> bool {
        self.seen += 1;
        let drops = self.seen == self.drop_at;
        self.dropped += usize::from(drops);
        drops
    }
}

/// Counts, and then drops everywhere.
async fn everywhere(what: &str, mut exchange: impl AsyncFnMut(&mut Points)) {
    let mut run = async |drop_at| {
        let mut points = Points {
            seen: 0,
            drop_at,
            dropped: 0,
        };
        exchange(&mut points).await;
        points
    };
    let counted = run(0).await.seen;
    assert!(
        counted >= ROUNDS,
        "{what} waits {counted} times: a weak test"
    );
    let mut dropped = 0;
    for point in 1..=counted {
        dropped += run(point).await.dropped;
    }
    assert_eq!(dropped, counted, "{what} was not dropped everywhere");
}

/// One call: if it waits, `happen` does what it waits for, and it is dropped or goes on.
async fn call<F: Future>(
    future: F,
    points: &mut Points,
    when: When,
    mut happen: impl FnMut(),
) -> Option<F::Output> {
    let mut future = Box::pin(future);
    if let Poll::Ready(output) = poll_once(future.as_mut()).await {
        return Some(output);
    }
    let drops = points.drops();
    if !(drops && matches!(when, When::After)) {
        happen();
    }
    if !drops {
        return Some(future.await);
    }
    if matches!(when, When::Reaped) {
        turns().await;
    }
    drop(future);
    if matches!(when, When::After) {
        happen();
    }
    None
}

#[derive(Clone, Copy, Debug)]
enum Reads {
    Read,
    Pooled,
    Owned,
    Peek,
    Readable,
}

/// One call of that kind, and what it took.
async fn read(stream: &mut TcpStream, kind: Reads) -> Vec<u8> {
    let mut buf = vec![0; 3];
    match kind {
        Reads::Read => {
            let count = stream.read(&mut buf).await.unwrap();
            buf.truncate(count);
            buf
        }
        Reads::Pooled => stream.recv_pooled().await.unwrap().to_vec(),
        Reads::Owned => {
            let (count, buf) = stream.read_owned(Vec::with_capacity(3)).await;
            assert_eq!(count.unwrap(), buf.len());
            buf
        }
        Reads::Peek => {
            assert!(stream.peek(&mut buf).await.unwrap() > 0);
            Vec::new()
        }
        Reads::Readable => {
            stream.readable().await.unwrap();
            Vec::new()
        }
    }
}

async fn reads(kind: Reads, when: When) {
    everywhere(&format!("{kind:?}, {when:?}"), async |points| {
        let (client, mut server) = pair().await;
        let mut client = client.into_std().await.unwrap().stream;
        let (mut sent, mut found) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS as u8 {
            let message = [round, 10, 20, 30, 40];
            // As far as the reactor knows something is there, until a call has found nothing.
            assert!(server.try_read(&mut [0; 1]).is_err());
            let send = || client.write_all(&message).unwrap();
            let taken = call(read(&mut server, kind), points, when, send).await;
            sent.extend(message);
            found.extend(taken.unwrap_or_default());
            // Whatever it left, another call finds.
            while found.len() < sent.len() {
                let left = sent.len() - found.len();
                let mut buf = vec![0; left.min(2)];
                server.read_exact(&mut buf).await.unwrap();
                found.extend(buf);
            }
            assert_eq!(found, sent);
        }
        drop(client);
        assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0);
    })
    .await;
}

async fn accepts(when: When) {
    everywhere(&format!("accept, {when:?}"), async |points| {
        let (listener, address) = listener();
        for _ in 0..ROUNDS {
            let mut client = None;
            let connect = || client = Some(net::TcpStream::connect(address).unwrap());
            let accepted = call(listener.accept(), points, when, connect).await;
            let accepted = match accepted {
                Some(accepted) => accepted,
                None => listener.accept().await,
            };
            let client = client.expect("an accept that waits for nothing");
            assert_eq!(accepted.unwrap().1, client.local_addr().unwrap());
        }
    })
    .await;
}

/// More than the system takes at once.
const LONG: usize = 256 << 10;

#[derive(Clone, Copy, Debug)]
enum Writes {
    Write,
    Writable,
}

/// One call of that kind, and how much it wrote.
async fn write(stream: &mut TcpStream, kind: Writes, bytes: &[u8]) -> usize {
    match kind {
        Writes::Write => stream.write(bytes).await.unwrap(),
        Writes::Writable => {
            stream.writable().await.unwrap();
            0
        }
    }
}

/// The system has exactly what the calls say.
async fn writes(kind: Writes) {
    everywhere(&format!("{kind:?}"), async |points| {
        let (mut client, mut server) = narrow_pair().await;
        let chunk: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
        for _ in 0..ROUNDS {
            let mut written = 0;
            // Until it waits: the system may take a moment to find more room.
            let waiting = loop {
                while let Ok(count) = client.try_write(&chunk[written % 256..]) {
                    written += count;
                }
                let rest = &chunk[written % 256..];
                let mut waiting = Box::pin(write(&mut client, kind, rest));
                match poll_once(waiting.as_mut()).await {
                    Poll::Ready(count) => written += count,
                    Poll::Pending => break waiting,
                }
            };
            // Nobody reads before it is dropped, so that it has done nothing.
            let mut found = Vec::new();
            if points.drops() {
                drop(waiting);
                drain(&mut server, &mut found, written).await;
            } else {
                let half = written / 2;
                let drained = drain(&mut server, &mut found, half);
                written += join(waiting, drained).await.0;
                drain(&mut server, &mut found, written).await;
            }
            assert_eq!(found.len(), written);
            let expected = (0..=255_u8).cycle();
            assert!(found.iter().copied().eq(expected.take(written)));
            let nothing = server.try_read(&mut [0; 1]).unwrap_err();
            assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        }
    })
    .await;
}

async fn drain(stream: &mut TcpStream, found: &mut Vec<u8>, until: usize) {
    let mut buf = vec![0; 1 << 16];
    while found.len() < until {
        let most = buf.len().min(until - found.len());
        let count = stream.read(&mut buf[..most]).await.unwrap();
        assert!(count > 0, "the end");
        found.extend(&buf[..count]);
    }
}

fn long() -> Vec<u8> {
    (0..LONG).map(|place| (place % 251) as u8).collect()
}

/// What was handed over by value is sent, whether its future is dropped or not.
async fn owned_writes() {
    everywhere("write_owned", async |points| {
        let (mut client, mut server) = narrow_pair().await;
        for _ in 0..ROUNDS {
            let mut found = Vec::new();
            let mut send = Box::pin(client.write_owned(long()));
            assert!(poll_once(send.as_mut()).await.is_pending());
            if points.drops() {
                drop(send);
            } else {
                let ((sent, buf), ()) = join(send, drain(&mut server, &mut found, LONG)).await;
                assert_eq!(sent.unwrap(), LONG);
                assert!(buf == found);
            }
            let (later, ()) = join(
                client.write_all(b"later"),
                drain(&mut server, &mut found, LONG + 5),
            )
            .await;
            later.unwrap();
            assert!(found[..LONG] == long() && &found[LONG..] == b"later");
        }
    })
    .await;
}

/// Leaves a stream with a write that nobody waits for.
async fn leave_a_write(client: &mut TcpStream) {
    let mut send = Box::pin(client.write_owned(long()));
    assert!(poll_once(send.as_mut()).await.is_pending());
}

/// What waits for a send may be dropped, and has done nothing then.
async fn flushes_and_ends() {
    everywhere("flush, shutdown", async |points| {
        for _ in 0..ROUNDS {
            let (mut client, mut server) = narrow_pair().await;
            let mut found = Vec::new();
            leave_a_write(&mut client).await;
            let mut flush = Box::pin(client.flush());
            assert!(poll_once(flush.as_mut()).await.is_pending());
            if points.drops() {
                drop(flush);
                flush = Box::pin(client.flush());
            }
            let all = drain(&mut server, &mut found, LONG);
            join(flush, all).await.0.unwrap();
            leave_a_write(&mut client).await;
            let mut end = Box::pin(client.shutdown());
            assert!(poll_once(end.as_mut()).await.is_pending());
            if points.drops() {
                // It has ended nothing.
                drop(end);
                let more = drain(&mut server, &mut found, 2 * LONG + 1);
                join(client.write_all(b"x"), more).await.0.unwrap();
                client.shutdown().await.unwrap();
            } else {
                let all = drain(&mut server, &mut found, 2 * LONG);
                join(end, all).await.0.unwrap();
            }
            assert!(found[..LONG] == long() && found[LONG..2 * LONG] == long());
            assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0);
        }
    })
    .await;
}

/// A close that is dropped closes all the same.
async fn closes() {
    everywhere("close", async |points| {
        for _ in 0..ROUNDS {
            let (mut client, mut server) = narrow_pair().await;
            let mut found = Vec::new();
            leave_a_write(&mut client).await;
            let mut close = Box::pin(client.close());
            assert!(poll_once(close.as_mut()).await.is_pending());
            if points.drops() {
                drop(close);
                let mut buf = vec![0; 1 << 16];
                loop {
                    match server.read(&mut buf).await {
                        Ok(0) => break,
                        Ok(count) => found.extend(&buf[..count]),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                            break;
                        }
                    }
                }
                assert!(long().starts_with(&found));
            } else {
                let (closed, ()) = join(close, drain(&mut server, &mut found, LONG)).await;
                closed.unwrap();
                assert!(found == long());
                assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0);
            }
        }
    })
    .await;
}

/// A listener whose queue is full, and who is in it.
async fn full() -> (mainspring_reactor::net::TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    loop {
        assert!(queued.len() < 64, "the queue has no end");
        let mut connect = Box::pin(TcpStream::connect(address));
        let mut polls = 0;
        // The first polls look the address up.
        while polls < 4 {
            match poll_once(connect.as_mut()).await {
                Poll::Ready(stream) => {
                    queued.push(stream.unwrap());
                    break;
                }
                Poll::Pending => polls += 1,
            }
        }
        if polls == 4 {
            return (listener, queued);
        }
    }
}

/// A connect of a socket that stays goes on when it is dropped, and may be called again.
async fn connects() {
    everywhere("connect", async |points| {
        let (listener, queued) = full().await;
        let address = listener.local_addr().unwrap();
        let sockets: Vec<_> = (0..ROUNDS).map(|_| TcpSocket::new_v4().unwrap()).collect();
        for socket in &sockets {
            let mut connect = Box::pin(socket.connect(address));
            assert!(poll_once(connect.as_mut()).await.is_pending());
            if points.drops() {
                drop(connect);
                // Not even this thread waits for it.
                let mut again = Box::pin(socket.connect(address));
                assert!(poll_once(again.as_mut()).await.is_pending());
                turns().await;
            }
        }
        if points.drop_at > 1 {
            return;
        }
        // There is room for one of them, when the system tries once more, in a second.
        let _ = listener.accept().await.unwrap();
        let connected = sockets[0].connect(address).await;
        connected.unwrap().write_all(b"x").await.unwrap();
        drop(queued);
    })
    .await;
}

async fn all() {
    // What is started on first use, is.
    drop(pair().await);
    mainspring_core::time::sleep(std::time::Duration::from_nanos(1)).await;
    let before = rig::descriptors();
    for when in EACH {
        let kinds = [
            Reads::Read,
            Reads::Pooled,
            Reads::Owned,
            Reads::Peek,
            Reads::Readable,
        ];
        for kind in kinds {
            reads(kind, when).await;
        }
        accepts(when).await;
    }
    for kind in [Writes::Write, Writes::Writable] {
        writes(kind).await;
    }
    owned_writes().await;
    flushes_and_ends().await;
    closes().await;
    connects().await;
    rig::until(|| rig::descriptors() == before).await;
}

// WITNESS: ring-stream.owns, ring-stream.closing, ring-listener.owns, ring-owned.home
#[test]
fn every_call_on_ring() {
    rig::alone("drop_everywhere::every_call_on_ring", || OnRing::run(all()));
}

// WITNESS: unsent.first
#[test]
fn every_call_on_poll() {
    rig::alone("drop_everywhere::every_call_on_poll", || OnPoll::run(all()));
}

#[test]
fn every_call_in_background() {
    rig::alone("drop_everywhere::every_call_in_background", || {
        InBackground::run(all());
    });
}
