//! What a dropped future loses: nothing.

use crate::rig::{self, Drive, InBackground, OnPoll, OnRing, join, listener, pair, poll_once};
use mainspring_core::CancelSafe;
use mainspring_reactor::net::TcpStream;
use std::net;
use std::pin::pin;

on_each! {
    dropped_reads_and_writes_lose_no_byte,
    dropped_accepts_lose_no_connection,
}

fn vouched<F: CancelSafe>(future: F) -> F {
    future
}

fn dropped_reads_and_writes_lose_no_byte<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        let mut buf = [0; 2];
        for round in 0..100_u8 {
            // Dropped before its first poll, after it, and after the bytes have come.
            drop(vouched(server.read(&mut buf)));
            assert!(
                poll_once(pin!(vouched(server.read(&mut buf))))
                    .await
                    .is_pending()
            );
            drop(vouched(client.write(&[round])));
            client.write_all(&[round]).await.unwrap();
            let _ = poll_once(pin!(server.peek(&mut buf)))
                .await
                .map(Result::unwrap);
            server.readable().await.unwrap();
            drop(vouched(server.read(&mut buf)));
            server.read_exact(&mut buf[..1]).await.unwrap();
            assert_eq!(buf[0], round);
        }
        drop(client);
        assert_eq!(server.read(&mut buf).await.unwrap(), 0);
    });
}

fn dropped_accepts_lose_no_connection<D: Drive>() {
    D::run(async {
        let (listener, address) = listener();
        for _ in 0..50 {
            let mut first = Box::pin(vouched(listener.accept()));
            let mut second = pin!(vouched(listener.accept()));
            assert!(poll_once(first.as_mut()).await.is_pending());
            assert!(poll_once(second.as_mut()).await.is_pending());
            // The first is told, sooner or later, and is dropped instead of being polled.
            let client = net::TcpStream::connect(address).unwrap();
            drop(first);
            let (_, peer) = second.await.unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
        }
    });
}

/// Connects, drops and accepts at every stage; whatever was opened is closed.
#[cfg(target_os = "linux")]
async fn balanced() {
    // What is started on first use, is.
    drop(pair().await);
    mainspring_core::time::sleep(std::time::Duration::from_nanos(1)).await;
    let before = rig::descriptors();
    for _ in 0..20 {
        let (listener, address) = listener();
        drop(TcpStream::connect(address));
        {
            let mut attempt = pin!(TcpStream::connect(address));
            let _ = poll_once(attempt.as_mut()).await.map(Result::unwrap);
        }
        let taken = mainspring_reactor::net::TcpListener::bind(address);
        assert_eq!(taken.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
        let refused = TcpStream::connect("127.0.0.1:1").await;
        assert!(refused.is_err());
        let (client, server) = join(TcpStream::connect(address), listener.accept()).await;
        let (read, write) = client.unwrap().into_split();
        drop((server, write));
        drop((read, listener));
    }
    rig::until(|| rig::descriptors() == before).await;
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_balanced_on_ring() {
    rig::alone("cancel::descriptors_are_balanced_on_ring", || {
        let before = rig::descriptors();
        OnRing::run(balanced());
        assert_eq!(rig::descriptors(), before);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_balanced_on_poll() {
    rig::alone("cancel::descriptors_are_balanced_on_poll", || {
        let before = rig::descriptors();
        OnPoll::run(balanced());
        assert_eq!(rig::descriptors(), before);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_balanced_in_background() {
    rig::alone("cancel::descriptors_are_balanced_in_background", || {
        InBackground::run(balanced());
    });
}
