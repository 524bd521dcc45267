//! Operations in flight while their task moves from one thread's ring to another's.

use super::ring::counted;
use super::worker::{Boxed, Worker};
use super::{Count, pair};
use crate::backend::Backend;
use crate::buf::PooledBuf;
use crate::driver::Reactor;
use crate::net::{IntoStd, TcpListener, TcpStream};
use mainspring_core::driver::Until;
use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::net;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Poll;
use std::thread;
use std::time::Duration;

pub(super) fn shared() -> io::Result<Reactor> {
    Reactor::shared(Backend::Uring)
}

pub(super) fn owned() -> io::Result<Reactor> {
    Reactor::with_backend(Backend::Uring)
}

/// As many workers. `None`, said loudly, where the kernel has no ring.
pub(super) fn workers<const N: usize>(make: fn() -> io::Result<Reactor>) -> Option<[Worker; N]> {
    let made: io::Result<Vec<_>> = (0..N).map(|_| Worker::new(make)).collect();
    match made {
        Ok(made) => made.try_into().ok(),
        Err(error) => {
            eprintln!("NOT RUN, for want of a ring: {error}");
            None
        }
    }
}

/// How many operations each has begun, and how many are in flight there.
pub(super) fn begun<const N: usize>(workers: &[Worker; N]) -> [(usize, usize); N] {
    workers
        .each_ref()
        .map(|worker| (worker.ring().begun(), worker.ring().in_flight()))
}

fn returned<const N: usize>(workers: &[Worker; N]) -> [usize; N] {
    workers
        .each_ref()
        .map(|worker| worker.ring().pool().returned())
}

pub(super) fn stream(worker: &Worker) -> (TcpStream, net::TcpStream) {
    let (stream, other) = worker.run(pair);
    let limit = Some(Duration::from_secs(20));
    other.set_read_timeout(limit).unwrap();
    other.set_nodelay(true).unwrap();
    (stream, other)
}

/// Reads once, some bytes at most.
pub(super) fn read(mut stream: TcpStream, most: usize) -> Boxed<(TcpStream, io::Result<Vec<u8>>)> {
    Box::pin(async move {
        let mut buf = vec![0; most];
        let result = stream.read(&mut buf).await;
        let result = result.map(|count| buf[..count].to_vec());
        (stream, result)
    })
}

pub(super) fn ready<T>(polled: Poll<(TcpStream, io::Result<T>)>) -> (TcpStream, T) {
    match polled {
        Poll::Ready((stream, result)) => (stream, result.unwrap()),
        Poll::Pending => panic!("it waits"),
    }
}

pub(super) fn woken(count: &Count) -> usize {
    count.0.load(SeqCst)
}

/// In-flight counts are back, buffers are in nobody's hands, descriptors are closed.
pub(super) fn is_over(workers: &[Worker], mut other: net::TcpStream) {
    for worker in workers {
        while worker.ring().in_flight() > 0 {
            worker.turn(Until::Forever);
        }
        assert_eq!((worker.ring().len(), worker.ring().pins()), (0, 0));
    }
    let end = other.read_to_end(&mut Vec::new());
    assert!(end.is_ok() || end.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset));
}

// WITNESS: carrier.here, carrier.one, provided.once
#[test]
fn each_operation_begins_in_the_ring_of_the_thread_that_polls() {
    let Some(workers) = workers::<3>(shared) else {
        return;
    };
    let [a, b, c] = &workers;
    let (stream, mut other) = stream(a);
    let (count, waker) = counted();
    let kept = Arc::strong_count(a.ring());
    let mut future = read(stream, 2);
    assert!(a.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(1, 1), (0, 0), (0, 0)]);
    assert_eq!(
        Arc::strong_count(a.ring()),
        kept,
        "at home no reference is counted"
    );
    // Looked at from elsewhere while in flight: no second one.
    assert!(b.poll(&mut future, &waker).is_pending());
    other.write_all(b"abcdef").unwrap();
    a.until_woken(&count, 1);
    assert_eq!(returned(&workers), [0, 0, 0]);
    let (stream, bytes) = ready(b.poll(&mut future, &waker));
    assert_eq!(bytes, b"ab");
    let (stream, bytes) = ready(c.poll(&mut read(stream, 8), &waker));
    assert_eq!(bytes, b"cdef");
    assert_eq!(returned(&workers), [1, 0, 0], "a buffer is its own pool's");
    let (mut stream, mut past) = (stream, [1, 0, 0]);
    for (place, worker) in [(1, b), (1, b), (2, c), (0, a)] {
        let mut future = read(stream, 8);
        assert!(worker.poll(&mut future, &waker).is_pending());
        past[place] += 1;
        let in_flight = std::array::from_fn(|at| (past[at], usize::from(at == place)));
        assert_eq!(begun(&workers), in_flight);
        let before = woken(&count);
        other.write_all(b"x").unwrap();
        worker.until_woken(&count, before + 1);
        stream = ready(worker.poll(&mut future, &waker)).0;
    }
    drop(stream);
    is_over(&workers, other);
}

/// Where one thread owns the ring a receive goes on and on, until its reader has moved.
// WITNESS: carrier.one, read-half.order
#[test]
fn receive_that_goes_on_follows_its_reader_and_what_it_has_brought_is_read_anywhere() {
    let Some(workers) = workers::<3>(owned) else {
        return;
    };
    let [a, b, c] = &workers;
    let (stream, mut other) = stream(a);
    let (count, waker) = counted();
    let mut future = read(stream, 2);
    assert!(a.poll(&mut future, &waker).is_pending());
    // Each a piece of its own.
    for piece in [&b"abc"[..], b"def", b"ghi"] {
        other.write_all(piece).unwrap();
        a.look();
    }
    assert_eq!(begun(&workers), [(1, 1), (0, 0), (0, 0)]);
    let (stream, bytes) = ready(b.poll(&mut future, &waker));
    assert_eq!(bytes, b"ab");
    let (stream, bytes) = ready(c.poll(&mut read(stream, 3), &waker));
    assert_eq!(bytes, b"cde");
    let mut lent: Boxed<(TcpStream, io::Result<PooledBuf>)> = Box::pin(async move {
        let mut stream = stream;
        let result = stream.recv_pooled().await;
        (stream, result)
    });
    let (stream, buf) = ready(b.poll(&mut lent, &waker));
    assert_eq!((&*buf, a.ring().pins()), (&b"f"[..], 1));
    let (stream, bytes) = ready(b.poll(&mut read(stream, 8), &waker));
    assert_eq!(
        (bytes.as_slice(), returned(&workers)),
        (&b"ghi"[..], [2, 0, 0])
    );
    // The guard gives back from any thread.
    c.run(move || drop(buf));
    assert_eq!((returned(&workers), a.ring().pins()), ([3, 0, 0], 0));
    // It is still in flight there. Who waits here has it stopped, once.
    let before = woken(&count);
    let mut future = read(stream, 8);
    assert!(c.poll(&mut future, &waker).is_pending());
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(1, 1), (0, 0), (0, 0)]);
    a.until_woken(&count, before + 1);
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(1, 0), (0, 0), (1, 1)]);
    other.write_all(b"x").unwrap();
    c.until_woken(&count, before + 2);
    drop(ready(c.poll(&mut future, &waker)));
    is_over(&workers, other);
}

/// Each ring receives in its own way: on and on, or once.
// WITNESS: carrier.here, carrier.one
#[test]
fn stream_goes_between_a_ring_of_one_thread_and_one_of_many() {
    let made = [owned as fn() -> _, shared].map(|make| workers::<1>(make).map(|[worker]| worker));
    let [Some(a), Some(b)] = made else {
        return;
    };
    let workers = [a, b];
    let (mut stream, mut other) = stream(&workers[0]);
    let (count, waker) = counted();
    let mut begins = [0, 0];
    for at in [0, 1, 1, 0, 0, 1] {
        let mut future = read(stream, 8);
        // Where it goes on and on, it is stopped first.
        while workers[at].poll(&mut future, &waker).is_pending()
            && workers[at].ring().in_flight() == 0
        {
            let before = woken(&count);
            workers[1 - at].until_woken(&count, before + 1);
        }
        let before = woken(&count);
        other.write_all(b"x").unwrap();
        workers[at].until_woken(&count, before + 1);
        stream = ready(workers[at].poll(&mut future, &waker)).0;
        begins[at] += 1;
    }
    let [(owned, _), (shared, _)] = begun(&workers);
    assert_eq!(shared, begins[1], "one for each");
    assert_eq!(owned, 2, "one for each time that it comes");
    drop(stream);
    is_over(&workers, other);
}

/// What comes while the old ring is being asked to stop, is not lost.
// WITNESS: carrier.one, read-half.order
#[test]
fn bytes_that_come_while_the_receive_is_called_after_its_reader_are_there() {
    let Some(workers) = workers::<2>(owned) else {
        return;
    };
    let [a, b] = &workers;
    for comes_first in [true, false] {
        let (stream, mut other) = stream(a);
        let (count, waker) = counted();
        let mut future = read(stream, 8);
        assert!(a.poll(&mut future, &waker).is_pending());
        a.look();
        if comes_first {
            other.write_all(b"abc").unwrap();
        }
        assert!(b.poll(&mut future, &waker).is_pending());
        if !comes_first {
            other.write_all(b"abc").unwrap();
        }
        let (mut a_turns, mut found) = (0, None);
        while found.is_none() {
            // Whichever ring has it.
            match b.poll(&mut future, &waker) {
                Poll::Ready((stream, bytes)) => found = Some((stream, bytes.unwrap())),
                Poll::Pending => {
                    a.turn(Until::Now);
                    b.turn(Until::Now);
                    a_turns += 1;
                    assert!(a_turns < 10_000, "it never comes");
                }
            }
        }
        let (stream, bytes) = found.unwrap();
        assert_eq!(bytes, b"abc");
        assert!(woken(&count) > 0);
        // Its receive may be in flight in either.
        b.run(move || drop(stream));
        is_over(&workers, other);
    }
}

// WITNESS: carrier.one, ring-owned.home, ring-stream.owns
#[test]
fn owned_read_moves_and_its_bytes_are_found_when_it_is_dropped_elsewhere() {
    let Some(workers) = workers::<3>(shared) else {
        return;
    };
    let [a, b, c] = &workers;
    let (count, waker) = counted();
    let (stream, mut other) = stream(a);
    let mut future: Boxed<(TcpStream, io::Result<Vec<u8>>)> = Box::pin(async move {
        let mut stream = stream;
        let (result, buf) = stream.read_owned(Vec::with_capacity(8)).await;
        (stream, result.map(|_| buf))
    });
    assert!(b.poll(&mut future, &waker).is_pending());
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(0, 0), (1, 1), (0, 0)]);
    other.write_all(b"abc").unwrap();
    b.until_woken(&count, 1);
    let (stream, bytes) = ready(c.poll(&mut future, &waker));
    assert_eq!(bytes, b"abc");
    // Polled here, dropped there, and its bytes read by a third.
    let mut future: Boxed<(TcpStream, io::Result<Vec<u8>>)> = Box::pin(async move {
        let mut stream = stream;
        {
            let mut polls = 0;
            let mut reading = pin!(stream.read_owned(Vec::with_capacity(8)));
            poll_fn(|cx| {
                polls += 1;
                if polls > 1 {
                    return Poll::Ready(());
                }
                assert!(reading.as_mut().poll(cx).is_pending());
                Poll::Pending
            })
            .await;
        }
        let mut buf = [0; 8];
        let result = stream.read(&mut buf).await;
        (stream, result.map(|count| buf[..count].to_vec()))
    });
    assert!(a.poll(&mut future, &waker).is_pending());
    assert!(b.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(1, 1), (1, 0), (0, 0)]);
    let before = woken(&count);
    other.write_all(b"def").unwrap();
    a.until_woken(&count, before + 1);
    let (stream, bytes) = ready(c.poll(&mut future, &waker));
    assert_eq!(bytes, b"def");
    drop(stream);
    is_over(&workers, other);
}

// WITNESS: carrier.here, ring-listener.begun, ring-listener.owns
#[test]
fn accept_stays_where_it_was_begun_and_outlives_that_ring() {
    let Some(workers) = workers::<3>(shared) else {
        return;
    };
    let [a, b, c] = &workers;
    let listener = a.run(|| TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap());
    let address = listener.local_addr().unwrap();
    let listener = Arc::new(listener);
    let accept = || -> Boxed<TcpStream> {
        let listener = Arc::clone(&listener);
        Box::pin(async move { listener.accept().await.unwrap().0 })
    };
    let counts = [counted(), counted()];
    let (mut on_b, mut on_c) = (accept(), accept());
    assert!(b.poll(&mut on_b, &counts[0].1).is_pending());
    assert!(c.poll(&mut on_c, &counts[1].1).is_pending());
    assert_eq!(begun(&workers), [(0, 0), (1, 1), (0, 0)]);
    let first = net::TcpStream::connect(address).unwrap();
    b.until_woken(&counts[0].0, 1);
    // The stream is the ring's of whoever took it.
    let Poll::Ready(stream) = c.poll(&mut on_b, &counts[0].1) else {
        panic!("it waits");
    };
    assert_eq!(c.ring().len(), 1);
    drop(stream);
    // One comes, and nobody takes it before its ring goes.
    let second = net::TcpStream::connect(address).unwrap();
    b.until_woken(&counts[1].0, 1);
    b.end();
    let Poll::Ready(stream) = c.poll(&mut on_c, &counts[1].1) else {
        panic!("it is lost");
    };
    assert_eq!(stream.peer_addr().unwrap(), second.local_addr().unwrap());
    drop(stream);
    // The next accept begins where it is polled, and that one goes while somebody waits.
    let mut waiting = accept();
    assert!(c.poll(&mut waiting, &counts[1].1).is_pending());
    assert_eq!(begun(&workers), [(0, 0), (1, 0), (1, 1)]);
    let before = woken(&counts[1].0);
    c.end();
    assert!(woken(&counts[1].0) > before, "nobody is told");
    let third = net::TcpStream::connect(address).unwrap();
    let before = woken(&counts[1].0);
    assert!(a.poll(&mut waiting, &counts[1].1).is_pending());
    assert_eq!(begun(&workers), [(1, 1), (1, 0), (1, 0)]);
    a.until_woken(&counts[1].0, before + 1);
    assert!(a.poll(&mut waiting, &counts[1].1).is_ready());
    drop((waiting, on_b, on_c, listener, first, second));
    a.run(|| ());
    while a.ring().in_flight() > 0 {
        a.turn(Until::Forever);
    }
    drop(third);
}

// WITNESS: ring-stream.closing, carrier.one, uring-hub.order
#[test]
fn stream_dropped_on_a_third_thread_is_stopped_in_the_ring_that_has_its_operation() {
    for make in [shared, owned] {
        let Some(workers) = workers::<3>(make) else {
            return;
        };
        let [a, b, c] = &workers;
        for drops_on_a_worker in [true, false] {
            let (stream, other) = stream(a);
            let (_, waker) = counted();
            let mut future = read(stream, 8);
            assert!(b.poll(&mut future, &waker).is_pending());
            assert_eq!(b.ring().in_flight(), 1);
            if drops_on_a_worker {
                c.run(move || drop(future));
            } else {
                thread::spawn(move || drop(future)).join().unwrap();
            }
            // Nothing of it goes to another ring.
            assert_eq!((a.ring().begun(), c.ring().begun()), (0, 0));
            is_over(&workers, other);
        }
    }
}

// WITNESS: carrier.one, ring-stream.begun
#[test]
fn stream_goes_back_to_the_standard_library_from_another_thread_than_its_rings() {
    let Some(workers) = workers::<2>(owned) else {
        return;
    };
    let [a, b] = &workers;
    let (stream, mut other) = stream(a);
    let (count, waker) = counted();
    let mut future = read(stream, 1);
    assert!(a.poll(&mut future, &waker).is_pending());
    other.write_all(b"abc").unwrap();
    a.until_woken(&count, 1);
    let (stream, _) = ready(b.poll(&mut future, &waker));
    assert_eq!(a.ring().in_flight(), 1);
    let mut leaving: Boxed<IntoStd> = Box::pin(async { stream.into_std().await.unwrap() });
    let before = woken(&count);
    assert!(b.poll(&mut leaving, &waker).is_pending());
    a.until_woken(&count, before + 1);
    let Poll::Ready(mut left) = b.poll(&mut leaving, &waker) else {
        panic!("it goes on waiting");
    };
    assert_eq!(left.unread, b"bc");
    other.write_all(b"d").unwrap();
    left.stream.read_exact(&mut [0; 1]).unwrap();
    drop(left);
    is_over(&workers, other);
}
