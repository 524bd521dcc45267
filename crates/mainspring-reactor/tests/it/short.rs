//! A short count is no end: what hides behind it is found.

use crate::rig::{Drive, OnPoll, listener};
use mainspring_core::task::yield_now;
use std::io::{IoSlice, Read, Write};
use std::net;

on_each! {
    end_that_came_with_the_last_bytes_is_found,
    bytes_behind_an_urgent_one_are_found,
    more_slices_than_a_call_takes_are_written,
    short_reads_of_a_stream_that_goes_on_miss_nothing,
}

// WITNESS: hub.short
#[test]
fn short_counts_hide_nothing_where_they_save_a_call() {
    end_that_came_with_the_last_bytes_is_found::<OnPoll>();
    bytes_behind_an_urgent_one_are_found::<OnPoll>();
    more_slices_than_a_call_takes_are_written::<OnPoll>();
}

/// A connection whose other side is blocking: what it has done has arrived when it returns.
async fn pair() -> (mainspring_reactor::net::TcpStream, net::TcpStream) {
    let (listener, address) = listener();
    let other = net::TcpStream::connect(address).unwrap();
    other.set_nodelay(true).unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    drop(listener.into_std().await.unwrap());
    (stream, other)
}

fn end_that_came_with_the_last_bytes_is_found<D: Drive>() {
    D::run(async {
        for turns in 0..8 {
            let (mut stream, mut other) = pair().await;
            let mut buf = [0; 16];
            other.write_all(b"abc").unwrap();
            for _ in 0..turns / 2 {
                yield_now().await;
            }
            if turns % 2 == 0 {
                other.shutdown(net::Shutdown::Write).unwrap();
                yield_now().await;
            }
            assert_eq!(stream.read(&mut buf).await.unwrap(), 3);
            drop(other);
            assert_eq!(stream.read(&mut buf).await.unwrap(), 0);
            assert_eq!(stream.read(&mut buf).await.unwrap(), 0);
        }
    });
}

#[cfg(target_os = "linux")]
fn send_urgent(to: &net::TcpStream, byte: &[u8]) {
    let socket = socket2::SockRef::from(to);
    assert_eq!(socket.send_out_of_band(byte).unwrap(), byte.len());
}

#[cfg(not(target_os = "linux"))]
fn send_urgent(_to: &net::TcpStream, _byte: &[u8]) {}

fn bytes_behind_an_urgent_one_are_found<D: Drive>() {
    D::run(async {
        for turns in 0..6 {
            let (mut stream, mut other) = pair().await;
            other.write_all(b"ab").unwrap();
            for _ in 0..turns {
                yield_now().await;
            }
            send_urgent(&other, b"!");
            for _ in 0..turns / 2 {
                yield_now().await;
            }
            other.write_all(b"cd").unwrap();
            let mut received = Vec::new();
            let mut buf = [0; 16];
            while received.len() < 4 {
                let count = stream.read(&mut buf).await.unwrap();
                assert_ne!(count, 0, "{received:?}");
                received.extend_from_slice(&buf[..count]);
            }
            assert_eq!(received, b"abcd");
        }
    });
}

fn more_slices_than_a_call_takes_are_written<D: Drive>() {
    D::run(async {
        let (mut stream, mut other) = pair().await;
        let byte = [7_u8];
        let slices = vec![IoSlice::new(&byte); 5_000];
        let mut written = 0;
        while written < slices.len() {
            written += stream.write_vectored(&slices[written..]).await.unwrap();
        }
        // Closed when this is ready: the blocking read ends.
        stream.close().await.unwrap();
        let mut received = Vec::new();
        other.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), 5_000);
    });
}

fn short_reads_of_a_stream_that_goes_on_miss_nothing<D: Drive>() {
    D::run(async {
        let (mut stream, mut other) = pair().await;
        const BYTES: usize = 400_000;
        let writer = std::thread::spawn(move || {
            for piece in vec![5_u8; BYTES].chunks(997) {
                other.write_all(piece).unwrap();
            }
        });
        let mut buf = [0; 8_192];
        let mut received = 0;
        while received < BYTES {
            let count = stream.read(&mut buf).await.unwrap();
            assert_ne!(count, 0);
            received += count;
        }
        writer.join().unwrap();
        assert_eq!(received, BYTES);
    });
}
