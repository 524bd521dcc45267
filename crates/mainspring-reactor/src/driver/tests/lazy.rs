//! With readiness: where a socket is registered whose task moves.

use super::worker::{Boxed, Worker};
use super::{Count, is_gone, pair};
use crate::backend::Backend;
use crate::driver::{Hub, Reactor};
use crate::net::{TcpListener, TcpStream};
use mainspring_core::driver::Until;
use std::future::Future;
use std::io::{self, Write};
use std::net;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Waker};

fn workers<const N: usize>() -> [Worker; N] {
    std::array::from_fn(|_| Worker::new(|| Reactor::shared(Backend::Poll)).unwrap())
}

/// How many sockets each poll has.
fn registered<const N: usize>(workers: &[Worker; N]) -> [usize; N] {
    workers.each_ref().map(|worker| match worker.hub() {
        Hub::Poll(hub) => hub.registered(),
        other => panic!("{other:?}"),
    })
}

fn counted() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (Arc::clone(&count), Waker::from(count))
}

fn read(mut stream: TcpStream) -> Boxed<(TcpStream, io::Result<usize>)> {
    Box::pin(async move {
        let result = stream.read(&mut [0; 8]).await;
        (stream, result)
    })
}

fn ready<T>(polled: Poll<(TcpStream, io::Result<T>)>) -> (TcpStream, T) {
    match polled {
        Poll::Ready((stream, result)) => (stream, result.unwrap()),
        Poll::Pending => panic!("it waits"),
    }
}

// WITNESS: poll-io.watched, poll-io.explicit
#[test]
fn socket_is_woken_by_the_poll_of_the_thread_where_it_first_waited() {
    let workers = workers::<3>();
    let [a, b, c] = &workers;
    let (stream, mut other) = a.run(pair);
    let (count, waker) = counted();
    // What is there needs no poll.
    other.write_all(b"x").unwrap();
    let (stream, _) = ready(b.poll(&mut read(stream), &waker));
    assert_eq!(registered(&workers), [0, 0, 0]);
    let mut future = read(stream);
    assert!(b.poll(&mut future, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 1, 0]);
    other.write_all(b"x").unwrap();
    a.turn(Until::Now);
    assert_eq!(count.0.load(SeqCst), 0);
    b.until_woken(&count, 1);
    let (stream, _) = ready(b.poll(&mut future, &waker));
    // It stays there, wherever its task goes.
    let mut future = read(stream);
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 1, 0]);
    other.write_all(b"x").unwrap();
    b.until_woken(&count, 2);
    let (stream, _) = ready(c.poll(&mut future, &waker));
    drop(stream);
    assert_eq!(registered(&workers), [0, 0, 0]);
}

// WITNESS: poll-io.watched
#[test]
fn readable_registers_and_a_loop_of_it_and_try_read_does_not_spin() {
    let workers = workers::<2>();
    let [a, b] = &workers;
    let (mut stream, mut other) = a.run(pair);
    let (count, waker) = counted();
    // Without a wait each call asks the system.
    assert!(stream.try_read(&mut [0; 8]).is_err());
    other.write_all(b"x").unwrap();
    assert_eq!(stream.try_read(&mut [0; 8]).unwrap(), 1);
    assert!(stream.try_read(&mut [0; 8]).is_err());
    assert_eq!(registered(&workers), [0, 0]);
    let mut future: Boxed<(TcpStream, io::Result<usize>)> = Box::pin(async move {
        for rounds in 1.. {
            stream.readable().await.unwrap();
            if let Ok(1) = stream.try_read(&mut [0; 8]) {
                return (stream, Ok(rounds));
            }
        }
        unreachable!()
    });
    assert!(b.poll(&mut future, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 1]);
    other.write_all(b"y").unwrap();
    b.until_woken(&count, 1);
    let (_, rounds) = ready(b.poll(&mut future, &waker));
    // What the call before it has found out is still known.
    assert_eq!(rounds, 1);
}

// WITNESS: poll-io.watched, poll-io.end, hub.closed, readiness.loose
#[test]
fn socket_whose_poll_goes_is_registered_with_another_or_says_so() {
    let workers = workers::<3>();
    let [a, b, c] = &workers;
    let (stream, mut other) = a.run(pair);
    let (count, waker) = counted();
    let mut future = read(stream);
    assert!(b.poll(&mut future, &waker).is_pending());
    b.end();
    assert_eq!(count.0.load(SeqCst), 1);
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 0, 1]);
    other.write_all(b"x").unwrap();
    c.until_woken(&count, 2);
    let (stream, _) = ready(c.poll(&mut future, &waker));
    let mut future = read(stream);
    assert!(c.poll(&mut future, &waker).is_pending());
    c.end();
    assert_eq!(count.0.load(SeqCst), 3);
    // On a thread whose poll has gone: the maker's. And on one that has none.
    assert!(b.poll(&mut future, &waker).is_pending());
    assert_eq!(registered(&workers), [1, 0, 0]);
    a.end();
    other.write_all(b"x").unwrap();
    let (stream, _) = ready(b.poll(&mut future, &waker));
    let Poll::Ready((stream, Err(error))) = b.poll(&mut read(stream), &waker) else {
        panic!("it waits for nobody");
    };
    assert!(is_gone(&error), "{error}");
    // A poll that comes later takes it.
    let late = Worker::new(|| Reactor::with_backend(Backend::Poll)).unwrap();
    let mut future = read(stream);
    assert!(late.poll(&mut future, &waker).is_pending());
    other.write_all(b"x").unwrap();
    let before = count.0.load(SeqCst);
    late.until_woken(&count, before + 1);
    drop(ready(late.poll(&mut future, &waker)));
}

// WITNESS: poll-io.watched, accept.chain
#[test]
fn listener_is_served_where_somebody_first_waited_and_its_connections_where_they_are_read() {
    let workers = workers::<3>();
    let [a, b, c] = &workers;
    let listener = a.run(|| TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap());
    let address = listener.local_addr().unwrap();
    let listener = Arc::new(listener);
    let accept = || -> Boxed<TcpStream> {
        let listener = Arc::clone(&listener);
        Box::pin(async move { listener.accept().await.unwrap().0 })
    };
    let (count, waker) = counted();
    let (mut one, mut two) = (accept(), accept());
    assert!(b.poll(&mut one, &waker).is_pending());
    assert!(c.poll(&mut two, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 1, 0]);
    let mut client = net::TcpStream::connect(address).unwrap();
    b.until_woken(&count, 1);
    let Poll::Ready(stream) = b.poll(&mut one, &waker) else {
        panic!("it waits");
    };
    // Who accepts tells the next, who finds nothing.
    assert!(c.poll(&mut two, &waker).is_pending());
    let mut future = read(stream);
    assert!(c.poll(&mut future, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 1, 1]);
    client.write_all(b"x").unwrap();
    let before = count.0.load(SeqCst);
    c.until_woken(&count, before + 1);
    drop(ready(c.poll(&mut future, &waker)));
    // The poll goes while somebody waits for a connection.
    let before = count.0.load(SeqCst);
    b.end();
    assert!(count.0.load(SeqCst) > before, "nobody is told");
    assert!(c.poll(&mut two, &waker).is_pending());
    assert_eq!(registered(&workers), [0, 0, 1]);
    let _client = net::TcpStream::connect(address).unwrap();
    let before = count.0.load(SeqCst);
    c.until_woken(&count, before + 1);
    assert!(c.poll(&mut two, &waker).is_ready());
    // And with none left.
    let mut last = Box::pin(listener.accept());
    c.end();
    a.end();
    let polled = last.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(polled, Poll::Ready(Err(error)) if is_gone(&error)));
}
