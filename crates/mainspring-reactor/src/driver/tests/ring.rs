//! The driver over the ring, as its users have it.

use super::{Count, is_gone, pair};
use crate::backend::uring::tests::affordable;
use crate::backend::{Backend, RingRefusal};
use crate::driver::Reactor;
use crate::error::ReactorError;
use crate::net::{TcpListener, TcpStream};
use mainspring_core::driver::{Driver, Until};
use mainspring_core::time;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

type Make = fn(Backend) -> io::Result<Reactor>;
const EACH: [Make; 2] = [Reactor::with_backend, Reactor::shared];

/// `None`, said loudly, where the kernel has no ring.
fn ring(make: Make) -> Option<Reactor> {
    match make(Backend::Uring) {
        Ok(reactor) => {
            assert_eq!(reactor.backend(), Backend::Uring);
            assert_eq!(
                (reactor.refusal(), reactor.explanation().refusal()),
                (None, None)
            );
            Some(reactor)
        }
        Err(error) => {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
            assert!(matches!(inner, Some(ReactorError::NoRing(_))), "{error}");
            eprintln!("NOT RUN, for want of a ring: {error}");
            None
        }
    }
}

pub(super) fn counted() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (Arc::clone(&count), Waker::from(count))
}

fn woken(count: &Count) -> usize {
    count.0.load(SeqCst)
}

/// Polls once; the future has to wait.
fn waits<F: Future>(future: Pin<&mut F>, waker: &Waker) {
    assert!(future.poll(&mut Context::from_waker(waker)).is_pending());
}

fn ends<F: Future>(future: Pin<&mut F>, waker: &Waker) -> F::Output {
    match future.poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it goes on without its reactor"),
    }
}

/// Writes until that fails.
async fn write_on(stream: &mut TcpStream) -> io::Error {
    loop {
        if let Err(error) = stream.write(&[7; 1 << 16]).await {
            return error;
        }
    }
}

const LONG: usize = 8 << 20;

// WITNESS: uring-hub.answered, uring-hub.closed, ring-stream.gone, cell.lent
#[test]
fn dropped_reactor_wakes_who_waits_once_and_each_gets_one_error() {
    for reactor in EACH.into_iter().filter_map(ring) {
        check_end(reactor);
    }
}

fn check_end(mut reactor: Reactor) {
    let handle = reactor.handle();
    let _entered = handle.enter();
    let (mut reader, _reader_other) = pair();
    let (mut owned, _owned_other) = pair();
    let (mut sender, _sender_other) = pair();
    let (mut writer, _writer_other) = pair();
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let counts: [_; 5] = std::array::from_fn(|_| counted());
    let has_sent;
    {
        let mut buf = [0; 4];
        let mut read = pin!(reader.read(&mut buf));
        let mut read_owned = pin!(owned.read_owned(Vec::with_capacity(4)));
        let mut write_owned = pin!(sender.write_owned(vec![7; LONG]));
        let mut write = pin!(write_on(&mut writer));
        let mut accept = pin!(listener.accept());
        waits(read.as_mut(), &counts[0].1);
        waits(read_owned.as_mut(), &counts[1].1);
        waits(write_owned.as_mut(), &counts[2].1);
        waits(write.as_mut(), &counts[3].1);
        waits(accept.as_mut(), &counts[4].1);
        let _turn = reactor.park(Until::Now).unwrap();
        let _turn = reactor.park(Until::Now).unwrap();
        // The system may have found more room for the writer meanwhile.
        let told = || counts.each_ref().map(|(count, _)| woken(count));
        assert!(matches!(told(), [0, 0, 0, _, 0]), "{:?}", told());
        drop(reactor);
        assert!(matches!(told(), [1, 1, 1, (1..), 1]), "{:?}", told());
        let error = ends(read.as_mut(), &counts[0].1).unwrap_err();
        assert!(
            is_gone(&error) && error.to_string().contains("MS0005"),
            "{error}"
        );
        let (error, _buf) = ends(read_owned.as_mut(), &counts[1].1);
        assert!(is_gone(&error.unwrap_err()));
        // Some of it was sent before, and the rest is the next call's error; or none was, when the
        // system had no room at all.
        let (sent, buf) = ends(write_owned.as_mut(), &counts[2].1);
        assert_eq!(buf.len(), LONG);
        has_sent = sent.as_ref().is_ok_and(|sent| *sent < LONG);
        assert!(has_sent || is_gone(&sent.unwrap_err()));
        assert!(is_gone(&ends(write.as_mut(), &counts[3].1)));
        assert!(is_gone(&ends(accept.as_mut(), &counts[4].1).unwrap_err()));
    }
    let rest = ends(pin!(sender.flush()), Waker::noop());
    assert_eq!(
        rest.is_err_and(|error| is_gone(&error)),
        has_sent,
        "told once"
    );
    ends(pin!(sender.flush()), Waker::noop()).unwrap();
    // Nobody keeps a waker: the tasks can be freed.
    drop((reader, owned, sender, writer, listener));
    for (count, waker) in counts {
        drop(waker);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}

// WITNESS: ring-stream.gone, uring-hub.closed
#[test]
fn what_has_arrived_is_read_without_a_reactor_and_then_the_end_is_told() {
    for make in EACH {
        let Some(mut reactor) = ring(make) else {
            return;
        };
        let handle = reactor.handle();
        let _entered = handle.enter();
        let (mut early, mut early_other) = pair();
        waits(pin!(early.peek(&mut [0; 1])), Waker::noop());
        early_other.write_all(b"early").unwrap();
        let _turn = reactor.park(Until::Forever).unwrap();
        drop(reactor);
        // What has arrived, here or in the system, can still be read; also by value.
        let mut buf = [0; 5];
        assert_eq!(
            ends(pin!(early.read(&mut buf[..2])), Waker::noop()).unwrap(),
            2
        );
        assert_eq!(
            ends(pin!(early.read(&mut buf[2..])), Waker::noop()).unwrap(),
            3
        );
        assert_eq!(&buf, b"early");
        early_other.write_all(b"late").unwrap();
        let (late, buf) = ends(pin!(early.read_owned(Vec::with_capacity(8))), Waker::noop());
        assert_eq!((late.unwrap(), buf.as_slice()), (4, b"late".as_slice()));
        early_other.write_all(b"lent").unwrap();
        assert_eq!(
            *ends(pin!(early.recv_pooled()), Waker::noop()).unwrap(),
            *b"lent"
        );
        assert!(is_gone(
            &ends(pin!(early.readable()), Waker::noop()).unwrap_err()
        ));
        // Nobody keeps the connection.
        drop(early);
        assert_eq!(early_other.read(&mut [0; 1]).unwrap(), 0);
        // The handle outlives it and does nothing.
        handle.unpark();
        assert_eq!(handle.rescue(time::now(), 8), 0);
        let (refused, _other) = std_pair();
        assert!(is_gone(&TcpStream::from_std(refused).unwrap_err()));
    }
}

fn std_pair() -> (net::TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, other)
}

/// Streams of which each has a byte for its reader, who waits.
fn readers(count: usize, waker: &Waker) -> Vec<(TcpStream, net::TcpStream)> {
    let mut all: Vec<_> = (0..count).map(|_| pair()).collect();
    for (stream, other) in &mut all {
        waits(pin!(stream.read(&mut [0; 1])), waker);
        other.write_all(b"x").unwrap();
    }
    all
}

// WITNESS: uring.baton, uring-hub.answered
#[test]
fn rescue_does_the_owners_part_within_its_limit() {
    let Some(reactor) = ring(Reactor::shared) else {
        return;
    };
    let _entered = reactor.handle().enter();
    let (count, waker) = counted();
    // Pushed, and submitted by nobody.
    let mut all = readers(7, &waker);
    let handle = reactor.handle();
    let rescuer = thread::spawn(move || {
        assert_eq!(handle.rescue(time::now(), 0), 0);
        let mut rescued = 0;
        while rescued < 7 {
            let now = handle.rescue(time::now(), 3);
            assert!(now <= 3, "above its limit");
            rescued += now;
        }
        // Nothing is left, and nothing is told twice.
        assert_eq!(handle.rescue(time::now(), 8), 0);
    });
    rescuer.join().unwrap();
    assert_eq!(woken(&count), 7);
    for (stream, _) in &mut all {
        assert_eq!(stream.try_read(&mut [0; 4]).unwrap(), 1);
    }
}

// WITNESS: uring.owner
#[test]
fn rescue_leaves_a_ring_alone_that_one_thread_owns() {
    let Some(mut reactor) = ring(Reactor::with_backend) else {
        return;
    };
    let _entered = reactor.handle().enter();
    let (count, waker) = counted();
    let _all = readers(3, &waker);
    let handle = reactor.handle();
    let rescuer = thread::spawn(move || handle.rescue(time::now(), 8));
    assert_eq!(rescuer.join().unwrap(), 0);
    while woken(&count) < 3 {
        let _turn = reactor.park(Until::Forever).unwrap();
    }
}

/// Rescuers at work while the owner works: each byte once and in order.
// WITNESS: uring.baton, cell.kernel, read-half.order
#[test]
fn bytes_are_in_order_whoever_reaps() {
    const ROUNDS: u32 = 1_000;
    let Some(mut reactor) = ring(Reactor::shared) else {
        return;
    };
    let _entered = reactor.handle().enter();
    let (mut stream, mut other) = pair();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (handle, is_over) = (reactor.handle(), &is_over);
            scope.spawn(move || {
                while !is_over.load(SeqCst) {
                    handle.rescue(time::now(), 2);
                }
            });
        }
        scope.spawn(move || {
            for round in 0..ROUNDS {
                other.write_all(&round.to_ne_bytes()).unwrap();
            }
        });
        let waker = Waker::from(Arc::new(Unpark(reactor.handle())));
        let mut found = Vec::new();
        while found.len() < 4 * ROUNDS as usize {
            let mut buf = [0; 64];
            match pin!(stream.read(&mut buf)).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(read) => found.extend_from_slice(&buf[..read.unwrap()]),
                Poll::Pending => _ = reactor.park(Until::Forever).unwrap(),
            }
        }
        is_over.store(true, SeqCst);
        let rounds = found
            .chunks(4)
            .map(|four| u32::from_ne_bytes(four.try_into().unwrap()));
        assert!((0..ROUNDS).eq(rounds));
    });
}

struct Unpark(Arc<dyn mainspring_core::driver::DriverHandle>);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

// WITNESS: uring-hub.outside
#[test]
fn panicking_waker_keeps_no_other_from_being_woken_on_the_ring() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    let Some(mut reactor) = ring(Reactor::with_backend) else {
        return;
    };
    let _entered = reactor.handle().enter();
    let (count, waker) = counted();
    let mut all = readers(38, &waker);
    all.extend(readers(2, &Waker::from(Arc::new(Panics))));
    let mut told = 0;
    while told < 40 {
        told += reactor
            .park(Until::Forever)
            .expect("a waker's panic is not the driver's")
            .woken;
    }
    assert_eq!(woken(&count), 38);
    for (stream, _) in &mut all {
        assert_eq!(stream.try_read(&mut [0; 4]).unwrap(), 1);
    }
}

/// Many at once: more than one entry into the kernel takes.
// WITNESS: uring.kept
#[test]
fn all_sockets_of_one_turn_are_served() {
    let Some(mut reactor) = ring(Reactor::with_backend) else {
        return;
    };
    let _entered = reactor.handle().enter();
    let (count, waker) = counted();
    let mut all = readers(affordable(1_200), &waker);
    while woken(&count) < all.len() {
        let _turn = reactor.park(Until::Forever).unwrap();
    }
    for (stream, _) in &mut all {
        assert_eq!(stream.try_read(&mut [0; 4]).unwrap(), 1);
    }
    // The end of all of them, in one turn.
    let others: Vec<_> = all.into_iter().map(|(_, other)| other).collect();
    assert_eq!(reactor.sockets(), 0);
    let _turn = reactor.park(Until::Now).unwrap();
    drop(reactor);
    for mut other in others {
        assert_eq!(other.read(&mut [0; 1]).unwrap(), 0);
    }
}

#[test]
fn backend_that_is_asked_for_is_explained() {
    let poll = Reactor::with_backend(Backend::Poll).unwrap();
    assert_eq!(poll.backend(), Backend::Poll);
    assert_eq!(poll.explanation().refusal(), Some(RingRefusal::Unasked));
    assert_eq!(poll.pinned_buffers(), 0);
    let auto = Reactor::new().unwrap();
    let explained = Backend::explain();
    assert_eq!(auto.backend(), explained.used());
    assert_eq!(auto.refusal(), explained.refusal());
}
