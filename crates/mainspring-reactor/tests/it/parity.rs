//! What a reviewer found to differ between the backends, or from what is promised.

use crate::rig::{self, Drive, OnPoll, OnRing, listener, pair, poll_once, until};
use mainspring_core::task::yield_now;
use mainspring_reactor::net::{TcpSocket, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::net;
use std::pin::pin;
use std::time::Duration;

on_each! {
    peek_sees_more_when_more_arrives,
    empty_reads_are_answered_at_once,
    close_tells_the_error_of_a_dropped_write,
    second_connect_of_a_socket_is_an_error_and_a_drop_closes,
    reset_is_not_lost_with_into_std,
    thousands_of_connects_hold_a_descriptor_each,
}

async fn accepted() -> (TcpStream, net::TcpStream) {
    let (listener, address) = listener();
    let other = net::TcpStream::connect(address).unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    drop(listener.into_std().await.unwrap());
    (stream, other)
}

fn peek_sees_more_when_more_arrives<D: Drive>() {
    D::run(async {
        let (mut stream, mut other) = accepted().await;
        let mut sent = 0;
        let mut buf = vec![0; 32_768];
        for more in [3, 10, 5_000, 9_000] {
            other.write_all(&vec![7; more]).unwrap();
            sent += more;
            let mut turns = 0;
            while stream.peek(&mut buf).await.unwrap() < sent {
                turns += 1;
                assert!(turns < 10_000, "it never sees {sent} bytes");
                yield_now().await;
            }
        }
        let mut all = vec![0; sent];
        stream.read_exact(&mut all).await.unwrap();
    });
}

fn empty_reads_are_answered_at_once<D: Drive>() {
    D::run(async {
        let (mut stream, _other) = accepted().await;
        assert!(poll_once(pin!(stream.read(&mut []))).await.is_ready());
        assert!(poll_once(pin!(stream.peek(&mut []))).await.is_ready());
        assert!(poll_once(pin!(stream.write(&[]))).await.is_ready());
    });
}

fn close_tells_the_error_of_a_dropped_write<D: Drive>() {
    D::run(async {
        let (mut stream, other) = accepted().await;
        {
            let mut write = pin!(stream.write_owned(vec![1; 8 << 20]));
            assert!(poll_once(write.as_mut()).await.is_pending());
        }
        socket2::SockRef::from(&other)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(other);
        let error = stream.close().await.unwrap_err();
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(kinds.contains(&error.kind()), "{error}");
    });
}

fn second_connect_of_a_socket_is_an_error_and_a_drop_closes<D: Drive>() {
    D::run(async {
        let (listener, address) = listener();
        let socket = TcpSocket::new_v4().unwrap();
        let stream = socket.connect(address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let error = socket.connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        drop(stream);
        // The end comes although the socket's value is still here.
        assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0);
        drop(socket);
    });
}

fn reset_is_not_lost_with_into_std<D: Drive>() {
    D::run(async {
        let (mut stream, other) = accepted().await;
        assert!(poll_once(pin!(stream.read(&mut [0; 1]))).await.is_pending());
        socket2::SockRef::from(&other)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(other);
        for _ in 0..4 {
            yield_now().await;
        }
        let mut left = stream.into_std().await.unwrap();
        let error = match left.error.take() {
            Some(error) => error,
            None => left.stream.read(&mut [0; 1]).unwrap_err(),
        };
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

fn thousands_of_connects_hold_a_descriptor_each<D: Drive>() {
    D::run(async {
        let (_listener, address) = listener();
        let mut attempts: Vec<_> = (0..50)
            .map(|_| Box::pin(TcpStream::connect(address)))
            .collect();
        let mut streams = Vec::new();
        for attempt in &mut attempts {
            streams.push(attempt.as_mut().await.unwrap());
        }
        assert_eq!(streams.len(), 50);
    });
}

/// Bytes that were handed over and are thrown away are no clean end.
// WITNESS: ring-stream.cut, unsent.cut
#[test]
fn stream_dropped_with_bytes_unsent_is_reset() {
    fn check<D: Drive>() {
        D::run(async {
            let (mut stream, mut other) = accepted().await;
            {
                let mut write = pin!(stream.write_owned(vec![1; 16 << 20]));
                assert!(poll_once(write.as_mut()).await.is_pending());
            }
            yield_now().await;
            drop(stream);
            let reader = std::thread::spawn(move || {
                let mut received = Vec::new();
                other.read_to_end(&mut received).map(|_| received.len())
            });
            // The ring closes with a later turn.
            while !reader.is_finished() {
                yield_now().await;
            }
            let ended = reader.join().unwrap();
            assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
        });
    }
    check::<OnRing>();
    check::<OnPoll>();
}

/// `close` needs no descriptor more than there are.
#[cfg(target_os = "linux")]
#[test]
fn close_and_into_std_work_without_a_descriptor_to_spare() {
    let name = "parity::close_and_into_std_work_without_a_descriptor_to_spare";
    rig::alone(name, || {
        fn check<D: Drive>() {
            D::run(async {
                let (one, two) = pair().await;
                let (mut third, _fourth) = pair().await;
                let spare = net::TcpListener::bind("127.0.0.1:0").unwrap();
                assert!(poll_once(pin!(third.read(&mut [0; 1]))).await.is_pending());
                let mut hogs = Vec::new();
                while let Ok(hog) = spare.try_clone() {
                    hogs.push(hog);
                }
                one.close().await.unwrap();
                hogs.push(spare.try_clone().unwrap());
                drop(third.into_std().await.unwrap());
                drop((hogs, two));
            });
        }
        check::<OnRing>();
        check::<OnPoll>();
    });
}

/// On the ring a dropped socket is closed by the next turn, also one that only looks.
#[test]
fn turn_that_only_looks_sees_dropped_sockets_off() {
    use mainspring_core::driver::{Driver, Until};
    let mut reactor = rig::ring();
    rig::expect(reactor.backend());
    let _entered = reactor.handle().enter();
    let ((mut stream, mut other), _) = rig::drive(&mut reactor, accepted());
    rig::drive(&mut reactor, async {
        assert!(poll_once(pin!(stream.read(&mut [0; 1]))).await.is_pending());
        yield_now().await;
    });
    drop(stream);
    let _turn = reactor.park(Until::Now).unwrap();
    assert_eq!(other.read(&mut [0; 1]).unwrap(), 0);
    rig::drive(&mut reactor, until(|| true));
}
