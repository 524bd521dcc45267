//! A listener on the ring.

use super::super::tests::{Owner, is_closed};
use super::super::{Listener, Profile};
use super::{CONNECTIONS_MAX, is_kept};
use crate::backend::uring::Completed;
use mainspring_core::driver::Until;
use socket2::Socket;
use std::io;
use std::net;
use std::sync::Arc;
use std::time::Duration;

/// More than may wait.
const MANY: usize = 3 * CONNECTIONS_MAX;
/// How many come at once.
const FEW: usize = 8;

fn listening(owner: &Owner) -> (Listener, net::SocketAddr) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let listener = Socket::from(listener);
    listener.listen(1024).unwrap();
    (Listener::new(listener, owner.hub()).unwrap(), address)
}

fn connect(address: net::SocketAddr, count: usize) -> Vec<net::TcpStream> {
    let connect = |_| {
        let client = net::TcpStream::connect(address).unwrap();
        let limit = Some(Duration::from_secs(20));
        client.set_read_timeout(limit).unwrap();
        client
    };
    (0..count).map(connect).collect()
}

/// Accepts the next one, in turns.
fn accept(owner: &Owner, listener: &Listener) -> Socket {
    loop {
        match listener.try_accept() {
            Ok(socket) => return socket,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
        owner.turn(Until::Forever);
    }
}

fn waiting(listener: &Listener) -> usize {
    listener.shared.state.lock().connections.len()
}

// WITNESS: ring-listener.owns, ring-listener.bounded, ring-listener.begun
#[test]
fn connections_that_nobody_accepts_wait_in_order_and_not_too_many_of_them() {
    for profile in [Profile::Owned, Profile::Shared] {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        let (listener, address) = listening(&owner);
        let first = connect(address, 1);
        drop(accept(&owner, &listener));
        // The operation goes on, and nobody accepts.
        let mut clients = Vec::new();
        while clients.len() < MANY {
            clients.extend(connect(address, FEW));
            owner.look();
        }
        let waiting = waiting(&listener);
        assert!(waiting >= CONNECTIONS_MAX, "{waiting}");
        // Each time the kernel brings all that are there.
        assert!(waiting < CONNECTIONS_MAX + FEW, "{waiting}");
        for client in &clients {
            let accepted = accept(&owner, &listener);
            let peer = accepted.peer_addr().unwrap().as_socket().unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
        }
        drop(first);
    }
}

// WITNESS: ring-listener.owns, cell.lent
#[test]
fn dropped_listener_closes_what_nobody_accepted() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (listener, address) = listening(&owner);
    drop(accept_one(&owner, &listener, address));
    let clients = connect(address, 5);
    owner.until(|| waiting(&listener) == clients.len());
    drop(listener);
    for client in &clients {
        owner.look();
        assert!(is_closed(client));
    }
    // The descriptor is closed, too.
    assert!(net::TcpStream::connect(address).is_err());
    assert_eq!(owner.len(), 0);
}

fn accept_one(owner: &Owner, listener: &Listener, address: net::SocketAddr) -> net::TcpStream {
    let client = connect(address, 1);
    drop(accept(owner, listener));
    client.into_iter().next().unwrap()
}

// WITNESS: ring-listener.owns, ring-listener.begun
#[test]
fn accept_that_is_stopped_at_any_point_loses_no_connection() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    for points in 0..16_u8 {
        let (listener, address) = listening(&owner);
        let stop = |point: u8| {
            if points & (1 << point) != 0 {
                listener.stop();
            }
        };
        for _ in 0..3 {
            assert!(listener.try_accept().is_err());
            stop(0);
            let client = connect(address, 1);
            stop(1);
            owner.turn(Until::Now);
            stop(2);
            let accepted = accept(&owner, &listener);
            let peer = accepted.peer_addr().unwrap().as_socket().unwrap();
            assert_eq!(peer, client[0].local_addr().unwrap());
            stop(3);
        }
    }
}

/// The last completion of an accept is delivered by one thread while another still holds an earlier
/// one: the listener is there for both.
// WITNESS: cell.batch
#[test]
fn earlier_completion_delivered_after_the_last_finds_its_listener() {
    let Some(owner) = Owner::new(Profile::Shared) else {
        return;
    };
    let (listener, address) = listening(&owner);
    assert!(listener.try_accept().is_err());
    owner.look();
    let clients = connect(address, 1);
    let mut early = Vec::new();
    while !early.iter().any(is_kept) {
        owner.hub().park(Until::Forever, &mut early).unwrap();
    }
    let freed = Arc::downgrade(&listener.shared);
    drop(listener);
    let mut late = Vec::new();
    while !late
        .iter()
        .any(|one: &Completed| one.result == -libc::ECANCELED)
    {
        owner.hub().park(Until::Forever, &mut late).unwrap();
    }
    // As a rescuer would, that has taken what came later.
    owner.hub().dispatch(&late);
    assert_eq!(
        freed.strong_count(),
        early.iter().filter(|one| is_kept(one)).count()
    );
    owner.hub().dispatch(&early);
    assert_eq!(freed.strong_count(), 0);
    drop(clients);
}
