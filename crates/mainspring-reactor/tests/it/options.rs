//! Options of sockets, by methods and through the descriptor.

use crate::rig::{Drive, InBackground, OnPoll, OnRing, pair};
use mainspring_reactor::net::{TcpListener, TcpSocket};
use socket2::SockRef;
use std::os::fd::{AsFd, AsRawFd};

on_each! {
    options_are_kept_by_the_socket,
}

fn options_are_kept_by_the_socket<D: Drive>() {
    D::run(async {
        let (client, _server) = pair().await;
        for value in [true, false] {
            client.set_keepalive(value).unwrap();
            assert_eq!(client.keepalive().unwrap(), value);
        }
        let socket = TcpSocket::new_v4().unwrap();
        assert!(!socket.keepalive().unwrap());
        socket.set_keepalive(true).unwrap();
        assert!(socket.keepalive().unwrap());
    });
    // Where the system has no IPv6 there is nothing to ask.
    if let Ok(socket) = TcpSocket::new_v6() {
        for value in [true, false] {
            socket.set_only_v6(value).unwrap();
            assert_eq!(socket.only_v6().unwrap(), value);
        }
    }
}

// WITNESS: net.descriptor
#[test]
fn descriptors_are_lent_by_every_socket_and_half() {
    lend::<OnRing>();
    lend::<OnPoll>();
    lend::<InBackground>();
}

fn lend<D: Drive>() {
    D::run(async {
        let (mut client, _server) = pair().await;
        let address = client.local_addr().unwrap();
        let is_the_clients = |lent: &dyn AsFd| {
            let lent = SockRef::from(&lent.as_fd()).local_addr().unwrap();
            assert_eq!(lent.as_socket(), Some(address));
        };
        is_the_clients(&client);
        let (read, write) = client.split();
        is_the_clients(&read);
        is_the_clients(&write);
        assert_eq!(read.as_raw_fd(), write.as_raw_fd());
        let (read, write) = client.into_split();
        is_the_clients(&read);
        is_the_clients(&write);
        // Set through the one, seen through the other.
        SockRef::from(&read.as_fd()).set_tcp_nodelay(true).unwrap();
        let client = read.reunite(write).unwrap();
        assert!(client.nodelay().unwrap());

        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let lent = SockRef::from(&listener.as_fd()).local_addr().unwrap();
        assert_eq!(lent.as_socket(), listener.local_addr().ok());
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_keepalive(true).unwrap();
        assert!(socket.keepalive().unwrap());
    });
}
