//! Many connections at once, and many one after the other: what they cost.

use crate::quarantine::live_bytes;
use crate::rig::{self, Drive, InBackground, OnPoll, OnRing, affordable, drive, join, poll_once};
use mainspring_core::driver::Driver;
use mainspring_reactor::net::{TcpListener, TcpStream};
use mainspring_reactor::{Backend, Reactor};
use std::io::Write;
use std::net::{self, Ipv4Addr, SocketAddr};
use std::pin::pin;

const IDLE: usize = 10_000;

/// What one connection may take that waits for a request: the socket, its place in the reactor, and
/// nothing for bytes that have not come.
const IDLE_BYTES_MAX: usize = 512;

/// Connections whose server waits for a request.
fn idle(mut reactor: Reactor) {
    rig::expect(reactor.backend());
    let _entered = reactor.handle().enter();
    let before = rig::descriptors();
    let count = affordable(IDLE);
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut all: Vec<(TcpStream, net::TcpStream)> = Vec::with_capacity(count);
    // What is allocated on first use, is.
    drive(&mut reactor, async {
        let client = net::TcpStream::connect(address).unwrap();
        let mut stream = TcpStream::from_std(listener.accept().unwrap().0).unwrap();
        assert!(poll_once(pin!(stream.read(&mut [0; 1]))).await.is_pending());
        rig::turns().await;
        drop(client);
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
    });
    let empty = live_bytes();
    drive(&mut reactor, async {
        for _ in 0..count {
            let client = net::TcpStream::connect(address).unwrap();
            let stream = TcpStream::from_std(listener.accept().unwrap().0).unwrap();
            all.push((stream, client));
            let stream = &mut all.last_mut().unwrap().0;
            assert!(
                poll_once(pin!(stream.read(&mut [0; 64])))
                    .await
                    .is_pending()
            );
            if all.len() % 256 == 0 {
                rig::turns().await;
            }
        }
        rig::turns().await;
    });
    assert_eq!(reactor.sockets(), count);
    assert_eq!(reactor.pinned_buffers(), 0);
    let each = (live_bytes() - empty) / count;
    println!("{count} idle connections: {each} bytes each");
    assert!(each <= IDLE_BYTES_MAX, "{each} bytes for each of {count}");
    // They are not forgotten.
    drive(&mut reactor, async {
        for (number, (stream, client)) in all.iter_mut().enumerate().step_by(997) {
            let message = number.to_ne_bytes();
            client.write_all(&message).unwrap();
            let mut buf = [0; size_of::<usize>()];
            stream.read_exact(&mut buf).await.unwrap();
            assert_eq!(buf, message);
        }
    });
    all.clear();
    all.shrink_to_fit();
    drop(listener);
    drive(&mut reactor, async {
        // Counting so many descriptors takes longer than closing them.
        for _ in 0..count / 64 {
            rig::turns().await;
        }
        rig::until(|| rig::descriptors() == before).await;
    });
    let left = live_bytes().saturating_sub(empty);
    assert!(left < 1 << 20, "{left} bytes are left");
}

// WITNESS: provided.once
#[test]
fn idle_connections_cost_little_on_ring() {
    rig::alone("many::idle_connections_cost_little_on_ring", || {
        idle(rig::ring())
    });
}

#[test]
fn idle_connections_cost_little_on_poll() {
    rig::alone("many::idle_connections_cost_little_on_poll", || {
        idle(Reactor::with_backend(Backend::Poll).unwrap());
    });
}

/// How many short ones, unless `MAINSPRING_REACTOR_CONNECTIONS` says otherwise.
const SHORT: usize = 20_000;

/// What all of them together may leave.
const LEFT_BYTES_MAX: usize = 256 << 10;

fn short<D: Drive>() {
    let count = match std::env::var("MAINSPRING_REACTOR_CONNECTIONS") {
        Ok(count) => count.parse().unwrap(),
        Err(_) => SHORT,
    };
    D::run(async {
        let listener = TcpListener::bind("0.0.0.0:0".parse().unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mut bytes, mut open) = (0, 0);
        for number in 0..count {
            // Over many addresses: a closed connection holds its pair of ports for a minute.
            let address = Ipv4Addr::new(127, 0, 1 + (number / 100 % 200) as u8, 1);
            let address = SocketAddr::from((address, port));
            let (client, server) = join(TcpStream::connect(address), listener.accept()).await;
            let (mut client, (mut server, _)) = (client.unwrap(), server.unwrap());
            client.write_all(&[number as u8]).await.unwrap();
            let mut buf = [0; 2];
            assert_eq!(server.read(&mut buf).await.unwrap(), 1);
            assert_eq!(buf[0], number as u8);
            // Either side closes first, with or without a read that waits.
            if number % 2 == 0 {
                assert!(poll_once(pin!(server.read(&mut buf))).await.is_pending());
                drop(server);
            } else {
                drop(client);
                assert_eq!(server.read(&mut buf).await.unwrap(), 0);
            }
            if number == count / 10 {
                (bytes, open) = (live_bytes(), rig::descriptors());
            }
        }
        rig::until(|| rig::descriptors() <= open + 2).await;
        let left = live_bytes().saturating_sub(bytes);
        println!("{count} short connections leave {left} bytes");
        assert!(
            left < LEFT_BYTES_MAX,
            "{left} bytes after {count} connections"
        );
    });
}

// WITNESS: cell.lent, ring-stream.closing
#[test]
fn short_connections_leave_nothing_on_ring() {
    rig::alone(
        "many::short_connections_leave_nothing_on_ring",
        short::<OnRing>,
    );
}

#[test]
fn short_connections_leave_nothing_on_poll() {
    rig::alone(
        "many::short_connections_leave_nothing_on_poll",
        short::<OnPoll>,
    );
}

#[test]
fn short_connections_leave_nothing_in_background() {
    rig::alone(
        "many::short_connections_leave_nothing_in_background",
        short::<InBackground>,
    );
}
