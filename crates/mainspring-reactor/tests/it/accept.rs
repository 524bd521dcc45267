//! What a listener does.

use crate::rig::{self, Drive, InBackground, OnPoll, OnRing, join, listener, pair};
use mainspring_core::driver::{Driver, Until};
use mainspring_reactor::net::{Accept, TcpListener, TcpSocket};
use mainspring_reactor::{Backend, Reactor};
use std::future::Future;
use std::net;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Instant;

on_each! {
    storm_of_connections_is_accepted,
    options_before_listening_hold,
}

const CLIENTS: usize = 4;
const EACH: usize = 500;

async fn accept_some(listener: &TcpListener, count: usize) {
    for _ in 0..count {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 1]).await.unwrap();
    }
}

fn storm_of_connections_is_accepted<D: Drive>() {
    D::run(async {
        let (listener, address) = listener();
        let clients = [(); CLIENTS].map(|()| {
            thread::spawn(move || {
                for _ in 0..EACH {
                    let mut client = net::TcpStream::connect(address).unwrap();
                    std::io::Write::write_all(&mut client, b"x").unwrap();
                }
            })
        });
        // Several accept at once: each connection goes to one of them, and none of them starves.
        let half = CLIENTS * EACH / 2;
        join(
            accept_some(&listener, half),
            join(
                accept_some(&listener, half / 2),
                accept_some(&listener, half / 2),
            ),
        )
        .await;
        for client in clients {
            client.join().unwrap();
        }
    });
}

fn options_before_listening_hold<D: Drive>() {
    D::run(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuse_addr(true).unwrap();
        assert!(socket.reuse_addr().unwrap());
        socket.set_reuse_port(true).unwrap();
        assert!(socket.reuse_port().unwrap());
        socket.set_recv_buffer_size(64 * 1024).unwrap();
        assert!(socket.recv_buffer_size().unwrap() >= 64 * 1024);
        socket.set_send_buffer_size(64 * 1024).unwrap();
        assert!(socket.send_buffer_size().unwrap() >= 64 * 1024);
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        let listener = socket.listen(16).unwrap();
        assert_eq!(listener.local_addr().unwrap(), address);
        listener.set_ttl(17).unwrap();
        assert_eq!(listener.ttl().unwrap(), 17);
        let client = TcpSocket::new_v4().unwrap();
        let (client, server) = join(client.connect(address), listener.accept()).await;
        let (mut client, (mut server, _)) = (client.unwrap(), server.unwrap());
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0; 1]).await.unwrap();
    });
}

#[cfg(target_os = "linux")]
const WAITING: usize = 5;

/// Without a descriptor to spare, an accept waits, others are served, and it goes on when there is
/// one.
#[cfg(target_os = "linux")]
async fn accept_without_descriptors() {
    let (mut one, mut other) = pair().await;
    let (listener, address) = listener();
    let clients: Vec<_> = (0..WAITING)
        .map(|_| net::TcpStream::connect(address).unwrap())
        .collect();
    // No timer has run yet; its thread needs no descriptor, but let it not be started in the dark.
    mainspring_core::time::sleep(std::time::Duration::from_nanos(1)).await;
    let mut hogs = Vec::new();
    // The process was started with few to have.
    while let Ok(hog) = clients[0].try_clone() {
        hogs.push(hog);
    }
    let mut polls = 0;
    let began = Instant::now();
    let mut accept = pin!(listener.accept());
    std::future::poll_fn(|cx| {
        polls += 1;
        let polled = accept.as_mut().poll(cx);
        assert!(polled.is_pending(), "{polled:?}");
        if began.elapsed().as_millis() < 15 {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    // Pauses of 1, 2, 4 and 8 ms; on the ring each error is an event of its own, and so may each
    // call back be. A spin would have thousands.
    assert!(polls <= 40, "{polls} polls");
    one.write_all(b"x").await.unwrap();
    other.read_exact(&mut [0; 1]).await.unwrap();
    drop(hogs);
    accept.await.unwrap();
    for _ in 1..WAITING {
        listener.accept().await.unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn accept_without_descriptors_backs_off_on_ring() {
    rig::alone(
        "accept::accept_without_descriptors_backs_off_on_ring",
        || {
            OnRing::run(accept_without_descriptors());
        },
    );
}

#[cfg(target_os = "linux")]
#[test]
fn accept_without_descriptors_backs_off_on_poll() {
    rig::alone(
        "accept::accept_without_descriptors_backs_off_on_poll",
        || {
            OnPoll::run(accept_without_descriptors());
        },
    );
}

#[cfg(target_os = "linux")]
#[test]
fn accept_without_descriptors_backs_off_in_background() {
    rig::alone(
        "accept::accept_without_descriptors_backs_off_in_background",
        || {
            InBackground::run(accept_without_descriptors());
        },
    );
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// One event wakes one task, of however many; who accepts wakes the next, whose connection may
/// have come with the same event.
// WITNESS: accept.chain, accept.pinned
#[test]
fn one_event_wakes_one_task_and_each_the_next() {
    const TASKS: usize = 10;
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let (listener, address) = listener();
    let mut waiting: Vec<_> = (0..TASKS).map(|_| Box::pin(listener.accept())).collect();
    let counts: [Arc<Count>; TASKS] = Default::default();
    let poll = |number: usize, accept: Pin<&mut Accept<'_>>| {
        let waker = Waker::from(Arc::clone(&counts[number]));
        accept
            .poll(&mut Context::from_waker(&waker))
            .map(Result::unwrap)
    };
    for (number, accept) in waiting.iter_mut().enumerate() {
        assert!(poll(number, accept.as_mut()).is_pending());
    }
    let woken = || counts.each_ref().map(|count| count.0.load(SeqCst));
    let clients: Vec<_> = (0..3)
        .map(|_| net::TcpStream::connect(address).unwrap())
        .collect();
    assert_eq!(reactor.park(Until::Forever).unwrap().woken, 1);
    assert_eq!(woken(), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(poll(0, waiting[0].as_mut()).is_ready());
    assert_eq!(woken(), [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Told, and dropped instead of polled: the next one is told.
    drop(waiting.remove(1));
    assert_eq!(woken(), [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert!(poll(2, waiting[1].as_mut()).is_ready());
    assert!(poll(3, waiting[2].as_mut()).is_ready());
    // The chain ends with who finds nothing.
    assert_eq!(woken(), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
    assert!(poll(4, waiting[3].as_mut()).is_pending());
    assert_eq!(woken(), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
    drop(clients);
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker, on purpose");
    }
}

/// Who accepts tells the next, whose waker is none of its business.
// WITNESS: accept.chain
#[test]
fn waker_that_panics_does_not_cost_another_its_connection() {
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let (listener, address) = listener();
    let (mut first, mut second) = (pin!(listener.accept()), pin!(listener.accept()));
    let panics = Waker::from(Arc::new(Panics));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut cx).is_pending());
    let polled = second.as_mut().poll(&mut Context::from_waker(&panics));
    assert!(polled.is_pending());
    let clients = [(); 2].map(|()| net::TcpStream::connect(address).unwrap());
    assert_eq!(reactor.park(Until::Forever).unwrap().woken, 1);
    assert!(first.as_mut().poll(&mut cx).is_ready());
    assert!(second.as_mut().poll(&mut cx).is_ready());
    drop(clients);
}
