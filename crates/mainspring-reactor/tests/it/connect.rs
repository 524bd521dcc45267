//! How a connection begins.

use crate::rig::{self, Drive, InBackground, OnPoll, OnRing, join, listener};
use mainspring_reactor::net::{TcpSocket, TcpStream, lookup_host};
use std::fs::File;
use std::io::ErrorKind;
use std::iter;
use std::net;
use std::time::Duration;

on_each! {
    refused_connect_says_where,
    connect_to_a_full_queue_times_out,
    names_are_looked_up_and_addresses_tried_in_turn,
}

/// An address at which nobody listens.
fn deserted() -> net::SocketAddr {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn refused_connect_says_where<D: Drive>() {
    D::run(async {
        let address = deserted();
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        let socket = TcpSocket::new_v4().unwrap();
        let error = socket.connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let none: &[net::SocketAddr] = &[];
        let error = TcpStream::connect(none).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

fn connect_to_a_full_queue_times_out<D: Drive>() {
    D::run(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut queued = Vec::new();
        let limit = Duration::from_millis(100);
        let error = loop {
            assert!(queued.len() < 64, "the queue has no end");
            match TcpStream::connect_timeout(address, limit).await {
                Ok(stream) => queued.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // Those that got in are there.
        for _ in &queued {
            listener.accept().await.unwrap();
        }
    });
}

fn names_are_looked_up_and_addresses_tried_in_turn<D: Drive>() {
    D::run(async {
        let (listener, address) = listener();
        let found = lookup_host(("localhost", address.port())).await.unwrap();
        assert!(found.iter().all(|found| found.port() == address.port()));
        assert_eq!(lookup_host(address.to_string()).await.unwrap(), [address]);
        let error = lookup_host("no port").await.unwrap_err();
        assert!(error.to_string().contains("no port"), "{error}");
        let addresses = vec![deserted(), address];
        let (client, server) = join(TcpStream::connect(addresses), listener.accept()).await;
        assert_eq!(client.unwrap().peer_addr().unwrap(), address);
        server.unwrap();
    });
}

/// A process in which no descriptor is left, for as long as what is returned lives.
fn exhaust() -> Vec<File> {
    iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

fn connect_without_a_descriptor<D: Drive>() {
    D::run(async {
        let (listener, address) = listener();
        let all = exhaust();
        let error = TcpStream::connect(address).await.unwrap_err();
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        drop(all);
        let (client, server) = join(TcpStream::connect(address), listener.accept()).await;
        client.unwrap();
        server.unwrap();
    });
}

#[test]
fn connect_without_a_descriptor_says_where_on_ring() {
    rig::alone(
        "connect::connect_without_a_descriptor_says_where_on_ring",
        connect_without_a_descriptor::<OnRing>,
    );
}

#[test]
fn connect_without_a_descriptor_says_where_on_poll() {
    rig::alone(
        "connect::connect_without_a_descriptor_says_where_on_poll",
        connect_without_a_descriptor::<OnPoll>,
    );
}

#[test]
fn connect_without_a_descriptor_says_where_in_background() {
    rig::alone(
        "connect::connect_without_a_descriptor_says_where_in_background",
        connect_without_a_descriptor::<InBackground>,
    );
}
