//! A ring that goes from under operations of sockets that live on elsewhere.

use super::is_gone;
use super::moves::{begun, is_over, read, ready, shared, stream, woken, workers};
use super::ring::counted;
use super::worker::{Boxed, Worker};
use crate::net::TcpStream;
use mainspring_core::driver::Until;
use std::io::{self, Read, Write};
use std::net;
use std::task::{Context, Poll, Waker};
use std::thread;

const LONG: usize = 6 << 20;

fn message() -> Vec<u8> {
    (0..LONG).map(|place| (place % 251) as u8).collect()
}

/// Writes all of the message, which the system has no room for.
fn write(mut stream: TcpStream) -> Boxed<(TcpStream, io::Result<usize>)> {
    Box::pin(async move {
        let (result, _buf) = stream.write_owned(message()).await;
        (stream, result)
    })
}

fn flush(mut stream: TcpStream) -> Boxed<(TcpStream, io::Result<()>)> {
    Box::pin(async move {
        let result = stream.flush().await;
        (stream, result)
    })
}

/// The stream of a write whose future is dropped by the second poll.
fn begin_to_write(mut stream: TcpStream) -> Boxed<(TcpStream, io::Result<()>)> {
    Box::pin(async move {
        {
            let mut writing = std::pin::pin!(stream.write_owned(message()));
            std::future::poll_fn(|cx| {
                assert!(std::future::Future::poll(writing.as_mut(), cx).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        (stream, Ok(()))
    })
}

/// Some of it arrives, as it was sent.
fn receive(mut other: &net::TcpStream, from: usize, count: usize) {
    let mut bytes = vec![0; count];
    other.read_exact(&mut bytes).unwrap();
    let expected = message();
    assert!(bytes == expected[from..from + count], "a seam");
}

/// Turns until the rest has come.
fn receive_rest(worker: &Worker, other: &net::TcpStream, from: usize) {
    let their = other.try_clone().unwrap();
    let reader = thread::spawn(move || receive(&their, from, LONG - from));
    while worker.ring().in_flight() > 0 {
        worker.turn(Until::Forever);
    }
    reader.join().unwrap();
}

// WITNESS: ring-stream.gone, carrier.here, uring-hub.answered
#[test]
fn read_whose_ring_goes_is_begun_again_where_it_is_polled() {
    let Some(workers) = workers::<3>(shared) else {
        return;
    };
    let [a, b, c] = &workers;
    let (stream, mut other) = stream(a);
    let (count, waker) = counted();
    let mut future = read(stream, 8);
    assert!(b.poll(&mut future, &waker).is_pending());
    b.end();
    assert_eq!((woken(&count), b.ring().in_flight()), (1, 0));
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(0, 0), (1, 0), (1, 1)]);
    other.write_all(b"abc").unwrap();
    c.until_woken(&count, 2);
    let (stream, bytes) = ready(c.poll(&mut future, &waker));
    assert_eq!(bytes, b"abc");
    // On a thread whose ring has gone, and on one that never had one: the last one's.
    let mut future = read(stream, 8);
    assert!(b.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(0, 0), (1, 0), (2, 1)]);
    c.end();
    assert_eq!(woken(&count), 3);
    // Then the maker's.
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert_eq!(begun(&workers), [(1, 1), (1, 0), (2, 0)]);
    a.end();
    assert_eq!(woken(&count), 4);
    // And with none left, what the system has, and then the end of it.
    other.write_all(b"def").unwrap();
    let (stream, bytes) = ready(b.poll(&mut future, &waker));
    assert_eq!(bytes, b"def");
    let Poll::Ready((stream, Err(error))) = c.poll(&mut read(stream, 8), &waker) else {
        panic!("it waits for nobody");
    };
    assert!(is_gone(&error), "{error}");
    // A ring that comes later serves it.
    let late = Worker::new(shared).unwrap();
    let mut future = read(stream, 8);
    assert!(late.poll(&mut future, &waker).is_pending());
    other.write_all(b"x").unwrap();
    late.until_woken(&count, 5);
    drop(ready(late.poll(&mut future, &waker)));
    assert_eq!(late.ring().in_flight(), 0);
}

// WITNESS: ring-stream.gone, provided.once, provided.memory
#[test]
fn what_a_ring_has_brought_is_read_after_its_end() {
    let Some(workers) = workers::<2>(super::moves::owned) else {
        return;
    };
    let [a, b] = &workers;
    let (stream, mut other) = stream(a);
    let (count, waker) = counted();
    let mut future = read(stream, 2);
    assert!(a.poll(&mut future, &waker).is_pending());
    other.write_all(b"abcd").unwrap();
    a.until_woken(&count, 1);
    a.end();
    let (stream, bytes) = ready(b.poll(&mut future, &waker));
    assert_eq!(bytes, b"ab");
    let (stream, bytes) = ready(b.poll(&mut read(stream, 8), &waker));
    assert_eq!(
        (bytes.as_slice(), a.ring().pool().returned()),
        (&b"cd"[..], 1)
    );
    let mut future = read(stream, 8);
    assert!(b.poll(&mut future, &waker).is_pending());
    drop(future);
    is_over(&workers[1..], other);
}

// WITNESS: write-half.left, write-half.whole, ring-stream.gone
#[test]
fn write_whose_ring_goes_in_the_middle_goes_on_where_it_is_polled() {
    let Some(workers) = workers::<3>(shared) else {
        return;
    };
    let [a, b, c] = &workers;
    let (stream, other) = stream(a);
    let (count, waker) = counted();
    let mut future = write(stream);
    assert!(b.poll(&mut future, &waker).is_pending());
    b.look();
    receive(&other, 0, 1000);
    assert_eq!(begun(&workers), [(0, 0), (1, 1), (0, 0)]);
    b.end();
    assert_eq!((woken(&count), b.ring().in_flight()), (1, 0));
    // Not of itself: the maker's ring has nothing of it.
    assert_eq!(a.ring().begun(), 0);
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(begun(&workers), [(0, 0), (1, 0), (1, 1)]);
    receive_rest(c, &other, 1000);
    let (stream, sent) = ready(a.poll(&mut future, &waker));
    assert_eq!(sent, LONG);
    drop(stream);
    is_over(&workers[..1], other);
}

// WITNESS: write-half.left, write-half.kept
#[test]
fn write_that_nobody_waits_for_goes_on_with_the_makers_ring() {
    let Some(workers) = workers::<2>(shared) else {
        return;
    };
    let [a, b] = &workers;
    let (stream, other) = stream(a);
    let (_, waker) = counted();
    let (stream, ()) = ready(b.poll(&mut begin_to_write(stream), &waker));
    b.look();
    receive(&other, 0, 1000);
    b.end();
    assert_eq!(begun(&workers), [(1, 1), (1, 0)]);
    receive_rest(a, &other, 1000);
    drop(stream);
}

// WITNESS: write-half.left, write-half.queued, write-half.told
#[test]
fn write_that_nobody_waits_for_is_taken_up_by_who_comes_next_or_has_failed() {
    for has_other_ring in [true, false] {
        let Some(workers) = workers::<2>(shared) else {
            return;
        };
        let [a, b] = &workers;
        let (stream, other) = stream(a);
        let (count, waker) = counted();
        let (stream, ()) = ready(a.poll(&mut begin_to_write(stream), &waker));
        a.look();
        receive(&other, 0, 1000);
        // Its own ring is the maker's.
        a.end();
        assert_eq!(begun(&workers), [(1, 0), (0, 0)]);
        let mut flushing = flush(stream);
        if has_other_ring {
            assert!(b.poll(&mut flushing, &waker).is_pending());
            assert_eq!(begun(&workers), [(1, 0), (1, 1)]);
            receive_rest(b, &other, 1000);
            assert!(woken(&count) > 0);
            drop(ready(b.poll(&mut flushing, &waker)));
        } else {
            b.end();
            let polled = flushing
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready((stream, Err(error))) = polled else {
                panic!("it waits for nobody");
            };
            assert!(is_gone(&error), "{error}");
            // Told once.
            drop(ready(b.poll(&mut flush(stream), &waker)));
        }
    }
}

/// Nobody will come to a direction that is to be ended: it fails instead of being left.
// WITNESS: write-half.left, ring-stream.cut
#[test]
fn write_that_is_left_is_cut_off_with_its_stream() {
    let Some(workers) = workers::<1>(shared) else {
        return;
    };
    let [a] = &workers;
    for ends in [false, true] {
        let a = if ends {
            &Worker::new(shared).unwrap()
        } else {
            a
        };
        let (stream, mut other) = stream(a);
        let (_, waker) = counted();
        let (stream, ()) = ready(a.poll(&mut begin_to_write(stream), &waker));
        a.look();
        if ends {
            let (read, write) = stream.into_split();
            drop(write);
            a.end();
            // The reader is there, and the other side is told all the same.
            other.read_to_end(&mut Vec::new()).unwrap();
            drop(read);
        } else {
            a.end();
            drop(stream);
            let end = other.read_to_end(&mut Vec::new());
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        }
    }
}
