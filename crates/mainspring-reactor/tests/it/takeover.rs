//! Sockets that come from the standard library and go back to it.

use crate::rig::{Drive, join, pair};
use mainspring_reactor::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::net;

on_each! {
    blocking_sockets_are_taken_over_and_given_back,
}

fn blocking_sockets_are_taken_over_and_given_back<D: Drive>() {
    D::run(async {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let client = net::TcpStream::connect(address).unwrap();
        let mut client = TcpStream::from_std(client).unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut buf = [0; 4];
        // Were it blocking, the read would keep the write from ever being made.
        let (read, written) = join(server.read_exact(&mut buf), client.write_all(b"abcd")).await;
        read.unwrap();
        written.unwrap();

        let mut server = server.into_std().await.unwrap().stream;
        let mut client = client.into_std().await.unwrap().stream;
        let writer = std::thread::spawn(move || client.write_all(b"efgh").unwrap());
        // Blocking again: it waits for the other thread.
        server.read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"efgh");
        writer.join().unwrap();

        let listener = listener.into_std().await.unwrap().listener;
        let listener = TcpListener::from_std(listener).unwrap();
        let _client = net::TcpStream::connect(address).unwrap();
        listener.accept().await.unwrap();
        drop(pair().await);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn background_thread_that_cannot_start_is_a_coded_error_and_is_tried_again() {
    use mainspring_reactor::ReactorError;
    let name = "takeover::background_thread_that_cannot_start_is_a_coded_error_and_is_tried_again";
    crate::rig::alone(name, || {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let spare = listener.try_clone().unwrap();
        let mut hogs = Vec::new();
        while let Ok(hog) = listener.try_clone() {
            hogs.push(hog);
        }
        let error = TcpListener::from_std(spare).unwrap_err();
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let Some(ReactorError::Background(cause)) = inner else {
            panic!("{error}");
        };
        assert_eq!(error.kind(), cause.kind());
        assert!(error.to_string().contains("MS0004"), "{error}");
        drop(hogs);
        TcpListener::from_std(listener).unwrap();
    });
}
