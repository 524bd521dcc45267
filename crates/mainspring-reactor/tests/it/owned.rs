//! Buffers that go in and come back, and buffers that are lent.

use crate::rig::{
    self, Drive, InBackground, OnPoll, OnRing, expected, join, pair, poll_once, turns,
};
use mainspring_reactor::Backend;
use mainspring_reactor::buf::{IoBuf, IoBufMut};
use mainspring_reactor::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

on_each! {
    owned_reads_that_are_dropped_at_any_point_lose_no_byte,
    pooled_reads_and_others_share_one_stream_of_bytes,
    owned_write_is_whole_with_a_slow_reader,
    end_and_flush_wait_for_a_dropped_owned_write,
    unread_bytes_leave_with_the_stream,
    reset_is_told_behind_the_bytes_and_when_the_stream_leaves,
    error_of_a_dropped_owned_write_is_told_by_close,
    closed_stream_is_closed_when_the_call_says_so,
    buffer_of_a_dropped_read_lives_until_the_system_is_done,
}

/// More than the system takes at once.
const LONG: usize = 8 << 20;

fn long() -> Vec<u8> {
    (0..LONG).map(|place| (place % 251) as u8).collect()
}

async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let (read, buf) = stream.read_owned(Vec::with_capacity(1 << 16)).await;
        if read.unwrap() == 0 {
            return all;
        }
        all.extend(buf);
    }
}

// WITNESS: net.received, buf.stable, ring-owned.home
#[test]
fn owned_read_fills_the_room_behind_what_the_buffer_holds() {
    fn check<D: Drive>() {
        D::run(async {
            let (mut client, mut server) = pair().await;
            let mut buf = Vec::with_capacity(8);
            buf.extend(b"ab");
            let start = buf.as_ptr();
            // Comes while it waits, and is there already.
            for expected in [b"abcde".as_slice(), b"abcdefg"] {
                let sent = &expected[buf.len()..];
                let (read, written) = join(server.read_owned(buf), client.write_all(sent)).await;
                written.unwrap();
                assert_eq!(read.0.unwrap(), sent.len());
                buf = read.1;
                assert_eq!(buf, expected);
                assert_eq!(buf.as_ptr(), start);
                turns().await;
            }
            // No room: at once, and nothing is taken.
            client.write_all(b"h").await.unwrap();
            let (read, full) = server.read_owned(b"full".to_vec()).await;
            assert_eq!((read.unwrap(), full.as_slice()), (0, b"full".as_slice()));
            drop(client);
            // Less room than there is.
            let (read, buf) = server.read_owned(buf).await;
            assert_eq!((read.unwrap(), buf.as_slice()), (1, b"abcdefgh".as_slice()));
            assert_eq!(server.read_owned(Vec::with_capacity(1)).await.0.unwrap(), 0);
            assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0);
        });
    }
    check::<OnRing>();
    check::<OnPoll>();
    check::<InBackground>();
}

fn owned_reads_that_are_dropped_at_any_point_lose_no_byte<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        let mut found = Vec::new();
        let mut sent = Vec::new();
        for round in 0..60_u8 {
            // Never polled; polled, and dropped before the bytes come; dropped after they came.
            drop(server.read_owned(Vec::with_capacity(3)));
            let message = [round, 1, 2, 3];
            {
                let mut read = pin!(server.read_owned(Vec::with_capacity(3)));
                if let Poll::Ready((read, buf)) = poll_once(read.as_mut()).await {
                    read.unwrap();
                    found.extend(buf);
                }
                if round % 2 == 0 {
                    client.write_all(&message).await.unwrap();
                    turns().await;
                }
            }
            if round % 2 == 1 {
                client.write_all(&message).await.unwrap();
            }
            sent.extend(message);
            // Some of it, by another call.
            let mut buf = [0; 3];
            let read = server.read(&mut buf).await.unwrap();
            found.extend(&buf[..read]);
        }
        drop(client);
        found.extend(read_to_end(&mut server).await);
        assert_eq!(found, sent);
    });
}

fn pooled_reads_and_others_share_one_stream_of_bytes<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"abcdefgh").await.unwrap();
        let mut buf = [0; 2];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"ab");
        assert!(server.peek(&mut buf).await.unwrap() > 0);
        let lent = server.recv_pooled().await.unwrap();
        assert_eq!(&*lent, b"cdefgh");
        // Dropped at each point.
        drop(server.recv_pooled());
        assert!(poll_once(pin!(server.recv_pooled())).await.is_pending());
        client.write_all(b"ij").await.unwrap();
        turns().await;
        drop(server.recv_pooled());
        let second = server.recv_pooled().await.unwrap();
        assert_eq!(&*second, b"ij");
        // Lent buffers go out again, and outlive their stream.
        let (sent, lent) = server.write_owned(lent).await;
        assert_eq!(sent.unwrap(), 6);
        drop(server);
        assert_eq!((&*lent, &*second), (b"cdefgh".as_slice(), b"ij".as_slice()));
        let mut echoed = [0; 6];
        client.read_exact(&mut echoed).await.unwrap();
        assert_eq!(&echoed, b"cdefgh");
        assert!(client.recv_pooled().await.unwrap().is_empty(), "the end");
        assert!(client.recv_pooled().await.unwrap().is_empty());
    });
}

fn owned_write_is_whole_with_a_slow_reader<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        let buf = long();
        let start = buf.as_ptr();
        let mut found: Vec<u8> = Vec::new();
        let ((sent, buf), ()) = join(client.write_owned(buf), async {
            while found.len() < LONG {
                let mut some = vec![0; 100_000];
                let read = server.read(&mut some).await.unwrap();
                found.extend(&some[..read]);
                turns().await;
            }
        })
        .await;
        assert_eq!(sent.unwrap(), LONG);
        assert_eq!(buf.as_ptr(), start);
        assert!(found == buf);
        assert_eq!(client.write_owned(Vec::new()).await.0.unwrap(), 0);
        assert_eq!(client.write_owned("static").await.0.unwrap(), 6);
    });
}

// WITNESS: unsent.first, unsent.fd, write-half.whole, write-half.queued, ring-owned.home
#[test]
fn dropped_owned_write_is_whole_and_before_what_comes_later() {
    fn check<D: Drive>() {
        D::run(async {
            let (mut client, mut server) = pair().await;
            // Never polled: nothing is sent.
            drop(client.write_owned(b"nothing".to_vec()));
            {
                let mut write = pin!(client.write_owned(long()));
                assert!(poll_once(write.as_mut()).await.is_pending());
                turns().await;
            }
            // Those whose turn has not come follow in order, when they are dropped.
            for waits in [&b"one"[..], b"two"] {
                let mut write = pin!(client.write_owned(waits.to_vec()));
                assert!(poll_once(write.as_mut()).await.is_pending());
            }
            let (written, found) = join(
                async {
                    client.write_all(b"later").await.unwrap();
                    let (sent, _) = client.write_owned(b"last".to_vec()).await;
                    assert_eq!(sent.unwrap(), 4);
                    client.shutdown().await
                },
                read_to_end(&mut server),
            )
            .await;
            written.unwrap();
            let mut expected = long();
            expected.extend(b"onetwolaterlast");
            assert_eq!(found.len(), expected.len());
            assert!(found == expected);
        });
    }
    check::<OnRing>();
    check::<OnPoll>();
    check::<InBackground>();
}

// WITNESS: unsent.told, write-half.told
#[test]
fn error_of_a_dropped_owned_write_is_told_once() {
    fn check<D: Drive>() {
        D::run(async {
            let (mut client, server) = pair().await;
            {
                let mut write = pin!(client.write_owned(long()));
                assert!(poll_once(write.as_mut()).await.is_pending());
                turns().await;
            }
            server.set_linger(Some(Duration::ZERO)).unwrap();
            server.close().await.unwrap();
            let error = client.flush().await.unwrap_err();
            let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            assert!(kinds.contains(&error.kind()), "{error}");
            client.flush().await.unwrap();
            // The next one has an error of its own.
            let (sent, buf) = client.write_owned(vec![7; 3]).await;
            assert!(kinds.contains(&sent.unwrap_err().kind()));
            assert_eq!(buf, [7; 3]);
        });
    }
    check::<OnRing>();
    check::<OnPoll>();
    check::<InBackground>();
}

fn end_and_flush_wait_for_a_dropped_owned_write<D: Drive>() {
    D::run(async {
        for ends in [false, true] {
            let (mut client, mut server) = pair().await;
            {
                let mut write = pin!(client.write_owned(long()));
                assert!(poll_once(write.as_mut()).await.is_pending());
            }
            assert!(poll_once(pin!(client.flush())).await.is_pending());
            let mut found = vec![0; LONG];
            if ends {
                assert!(poll_once(pin!(client.shutdown())).await.is_pending());
                let (ended, found) = join(client.shutdown(), read_to_end(&mut server)).await;
                ended.unwrap();
                assert!(found == long());
            } else {
                let (flushed, read) = join(client.flush(), server.read_exact(&mut found)).await;
                flushed.unwrap();
                read.unwrap();
                assert!(found == long());
            }
        }
    });
}

fn unread_bytes_leave_with_the_stream<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"abcdef").await.unwrap();
        server.read_exact(&mut [0; 2]).await.unwrap();
        {
            let mut read = pin!(server.read_owned(Vec::with_capacity(4)));
            match poll_once(read.as_mut()).await {
                Poll::Ready((read, buf)) => assert_eq!((read.unwrap(), &*buf), (4, &b"cdef"[..])),
                Poll::Pending => panic!("they have come"),
            }
        }
        // In the kernel, in the socket, and in a buffer whose future was dropped.
        assert!(
            poll_once(pin!(server.read_owned(Vec::with_capacity(4))))
                .await
                .is_pending()
        );
        client.write_all(b"ghijkl").await.unwrap();
        turns().await;
        {
            let mut write = pin!(server.write_owned(long()));
            assert!(poll_once(write.as_mut()).await.is_pending());
        }
        // What was handed over is waited for.
        let mut found = vec![0; LONG];
        let (left, read) = join(server.into_std(), client.read_exact(&mut found)).await;
        read.unwrap();
        assert!(found == long());
        let mut left = left.unwrap();
        client.write_all(b"mn").await.unwrap();
        client.shutdown().await.unwrap();
        let mut rest = left.unread;
        left.stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"ghijklmn");
        left.stream.write_all(b"x").unwrap();
        client.read_exact(&mut [0; 1]).await.unwrap();
    });
}

fn reset_is_told_behind_the_bytes_and_when_the_stream_leaves<D: Drive>() {
    D::run(async {
        for leaves in [false, true] {
            let (mut client, mut server) = pair().await;
            assert!(poll_once(pin!(server.peek(&mut [0; 1]))).await.is_pending());
            client.write_all(b"abc").await.unwrap();
            server.readable().await.unwrap();
            client.set_linger(Some(Duration::ZERO)).unwrap();
            client.close().await.unwrap();
            turns().await;
            let mut buf = [0; 8];
            assert_eq!(server.read(&mut buf).await.unwrap(), 3);
            let error = if leaves {
                // With the stream, or by the first read from it, and never as a mere end.
                let mut left = server.into_std().await.unwrap();
                let told = left.error.take();
                told.unwrap_or_else(|| left.stream.read(&mut buf).unwrap_err())
            } else {
                let error = server.read(&mut buf).await.unwrap_err();
                assert_eq!(server.read(&mut buf).await.unwrap(), 0, "told once");
                error
            };
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
    });
}

fn error_of_a_dropped_owned_write_is_told_by_close<D: Drive>() {
    D::run(async {
        let (mut client, server) = pair().await;
        assert!(
            poll_once(pin!(client.write_owned(long())))
                .await
                .is_pending()
        );
        turns().await;
        server.set_linger(Some(Duration::ZERO)).unwrap();
        server.close().await.unwrap();
        turns().await;
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        let error = client.close().await.unwrap_err();
        assert!(kinds.contains(&error.kind()), "{error}");
    });
}

fn closed_stream_is_closed_when_the_call_says_so<D: Drive>() {
    D::run(async {
        let (client, mut server) = pair().await;
        let mut client = client;
        assert!(poll_once(pin!(client.read(&mut [0; 1]))).await.is_pending());
        client.close().await.unwrap();
        // No turn in between.
        let mut std_server = server.try_read(&mut [0; 1]);
        if expected() == Backend::Uring || std_server.is_err() {
            // As far as the reactor has said; the system knows more.
            std_server = server.read(&mut [0; 1]).await;
        }
        assert_eq!(std_server.unwrap(), 0);
    });
}

/// A buffer of which it is known when it is dropped.
struct Tracked(
    Vec<u8>,
    #[expect(dead_code, reason = "it is counted")] Arc<()>,
);

// SAFETY: [buf.stable] as the vector.
unsafe impl IoBuf for Tracked {
    fn as_ptr(&self) -> *const u8 {
        IoBuf::as_ptr(&self.0)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

// SAFETY: [buf.stable] as the vector.
unsafe impl IoBufMut for Tracked {
    fn spare_ptr(&mut self) -> *mut u8 {
        self.0.spare_ptr()
    }

    fn spare_len(&self) -> usize {
        self.0.spare_len()
    }

    unsafe fn filled(&mut self, filled: usize) {
        // SAFETY: [buf.stable] the caller's.
        unsafe { self.0.filled(filled) };
    }
}

// CORRECTION: 29
fn buffer_of_a_dropped_read_lives_until_the_system_is_done<D: Drive>() {
    D::run(async {
        let count = Arc::new(());
        let tracked = || Tracked(Vec::with_capacity(4), Arc::clone(&count));
        let kept = usize::from(expected() == Backend::Uring);
        let (mut client, mut server) = pair().await;
        assert!(
            poll_once(pin!(server.read_owned(tracked())))
                .await
                .is_pending()
        );
        assert_eq!(
            Arc::strong_count(&count),
            1 + kept,
            "freed under the kernel"
        );
        client.write_all(b"abc").await.unwrap();
        let mut buf = [0; 3];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"abc");
        assert_eq!(Arc::strong_count(&count), 1, "kept too long");
        // The stream goes, and the kernel has it still.
        assert!(
            poll_once(pin!(server.read_owned(tracked())))
                .await
                .is_pending()
        );
        drop(server);
        assert_eq!(
            Arc::strong_count(&count),
            1 + kept,
            "freed under the kernel"
        );
        rig::until(|| Arc::strong_count(&count) == 1).await;
        // As with a write.
        let (mut client, mut server) = pair().await;
        let big = Tracked(long(), Arc::clone(&count));
        assert!(poll_once(pin!(client.write_owned(big))).await.is_pending());
        assert_eq!(Arc::strong_count(&count), 2);
        let (ended, found) = join(client.shutdown(), read_to_end(&mut server)).await;
        ended.unwrap();
        assert!(found == long());
        assert_eq!(Arc::strong_count(&count), 1, "kept too long");
    });
}

// WITNESS: buf.stable
#[test]
fn bytes_stay_where_they_are_when_their_owner_moves() {
    fn check<B: IoBuf>(buf: B, bytes: &[u8]) {
        let (start, len) = (buf.as_ptr(), buf.len());
        assert_eq!((len, buf.is_empty()), (bytes.len(), bytes.is_empty()));
        let moved = Box::new([Some(buf)]);
        let moved = moved[0].as_ref().unwrap();
        assert_eq!((moved.as_ptr(), moved.len()), (start, len));
    }
    check(b"abc".to_vec(), b"abc");
    check(Box::<[u8]>::from(*b"abc"), b"abc");
    check(Arc::<[u8]>::from(*b"abc"), b"abc");
    check("abc".to_owned(), b"abc");
    check("abc", b"abc");
    check(b"abc".as_slice(), b"abc");
    check(Vec::new(), b"");
    fn pooled<D: Drive>() {
        D::run(async {
            let (mut client, mut server) = pair().await;
            client.write_all(b"abc").await.unwrap();
            check(server.recv_pooled().await.unwrap(), b"abc");
        });
    }
    pooled::<OnRing>();
    pooled::<OnPoll>();
    pooled::<InBackground>();
}
