use super::{WORKERS, on, stealing};
use crate::{fallback_threads, listen};
use mainspring::net::{TcpListener, TcpStream};
use mainspring::{Backend, spawn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

/// A listener and a connection's two ends, each made on another worker.
async fn scattered() -> (TcpListener, TcpStream, TcpStream) {
    let (listener, address) = on(0, || async { listen() }).await;
    let listener = Arc::new(listener);
    let accepting = Arc::clone(&listener);
    let accepting = mainspring::spawn_pinned(1, move || async move {
        accepting.accept().await.map(|(stream, _peer)| stream)
    });
    let client = on(2, move || TcpStream::connect(address)).await;
    let server = accepting.await.expect("no panic");
    let listener = Arc::into_inner(listener).expect("nobody else has it");
    (
        listener,
        client.expect("a connection"),
        server.expect("its other end"),
    )
}

#[test]
fn sockets_are_served_by_the_backend_that_was_asked_for_wherever_they_are_used() {
    for runtime in stealing() {
        runtime.block_on(async {
            let (listener, client, server) = scattered().await;
            let backends = [listener.backend(), client.backend(), server.backend()];
            assert_eq!(backends, [runtime.backend(); 3]);
            // Each step on a worker that has not made the socket.
            let (mut client, mut server) = (client, server);
            for byte in 0..20_u8 {
                let (writer, reader) =
                    (usize::from(byte) % WORKERS, usize::from(byte / 2) % WORKERS);
                let reading = mainspring::spawn_pinned(reader, move || async move {
                    let mut buf = [0];
                    server.read_exact(&mut buf).await.map(|()| (server, buf[0]))
                });
                client = on(writer, move || async move {
                    client.write_all(&[byte]).await.map(|()| client)
                })
                .await
                .expect("an open connection");
                let (back, heard) = reading.await.expect("no panic").expect("a byte");
                assert_eq!(heard, byte);
                (client, server) = (back, client);
            }
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

/// More than the buffers of a connection hold.
const MANY_BYTES: usize = 1 << 20;

#[test]
fn halves_of_a_stream_are_used_on_two_workers_at_once() {
    for runtime in stealing() {
        let heard = runtime.block_on(async {
            let (_listener, client, mut server) = scattered().await;
            let (mut read, mut write) = client.into_split();
            let echo = spawn(async move {
                let mut buf = vec![0; 4096];
                loop {
                    match server.read(&mut buf).await? {
                        0 => return server.shutdown().await,
                        read => server.write_all(&buf[..read]).await?,
                    }
                }
            });
            let writing = mainspring::spawn_pinned(0, move || async move {
                let bytes: Vec<u8> = (0..MANY_BYTES).map(|n| (n / 3) as u8).collect();
                write.write_all(&bytes).await?;
                write.shutdown().await.map(|()| write)
            });
            let reading = mainspring::spawn_pinned(3, move || async move {
                let mut bytes = Vec::with_capacity(MANY_BYTES);
                let mut buf = vec![0; 4096];
                loop {
                    match read.read(&mut buf).await? {
                        0 => return io::Result::Ok((read, bytes)),
                        some => bytes.extend_from_slice(&buf[..some]),
                    }
                }
            });
            let _write = writing.await.expect("no panic").expect("sent");
            let (_read, bytes) = reading.await.expect("no panic").expect("received");
            echo.await.expect("no panic").expect("no error");
            bytes
        });
        assert_eq!(heard.len(), MANY_BYTES);
        assert!(
            heard
                .iter()
                .enumerate()
                .all(|(n, byte)| *byte == (n / 3) as u8)
        );
    }
}

/// Sends a message again and again and reads it back.
async fn converse(address: SocketAddr, client: u8) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    for round in 0..20_u8 {
        let message = [client, round, 7];
        stream.write_all(&message).await?;
        let mut echo = [0; 3];
        stream.read_exact(&mut echo).await?;
        assert_eq!(echo, message);
    }
    Ok(())
}

#[test]
fn every_worker_accepts_from_one_listener_and_keeps_what_it_accepts() {
    const CLIENTS: u8 = 64;
    for runtime in stealing() {
        runtime.block_on(async {
            let (listener, address) = listen();
            let listener = Arc::new(listener);
            let backend = listener.backend();
            let acceptors: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    let listener = Arc::clone(&listener);
                    mainspring::spawn_pinned(worker, move || async move {
                        while let Ok((mut stream, _peer)) = listener.accept().await {
                            assert_eq!(stream.backend(), backend);
                            let echo = async move {
                                let mut buf = [0; 64];
                                while let Ok(read @ 1..) = stream.read(&mut buf).await {
                                    stream.write_all(&buf[..read]).await.expect("it reads");
                                }
                            };
                            spawn(echo).detach();
                        }
                    })
                })
                .collect();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| spawn(converse(address, client)))
                .collect();
            for client in clients {
                client.await.expect("no panic").expect("no error");
            }
            for acceptor in acceptors {
                acceptor.abort();
                assert!(acceptor.await.is_err_and(|error| error.is_cancelled()));
            }
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn read_that_is_dropped_on_one_worker_loses_nothing_on_another() {
    for runtime in stealing() {
        runtime.block_on(async {
            let (_listener, mut client, server) = scattered().await;
            // Somebody begins to read, and is stopped in the middle of waiting.
            let (mut read, _write) = server.into_split();
            let mut read = on(0, move || async move {
                let mut buf = [0; 8];
                let mut reading = std::pin::pin!(read.read(&mut buf));
                std::future::poll_fn(|cx| {
                    assert!(reading.as_mut().poll(cx).is_pending());
                    std::task::Poll::Ready(())
                })
                .await;
                read
            })
            .await;
            on(1, move || async move {
                client.write_all(b"whole").await.map(|()| client)
            })
            .await
            .expect("an open connection");
            let mut buf = [0; 5];
            let heard = on(2, move || async move {
                read.read_exact(&mut buf).await.map(|()| buf)
            });
            assert_eq!(&heard.await.expect("five bytes"), b"whole");
        });
    }
}

#[test]
fn socket_of_a_thread_that_blocks_waits_while_that_thread_is_away() {
    for runtime in stealing() {
        let (client, server) = runtime.block_on(crate::pair());
        let (mut client, mut server) = (client, server);
        // The thread is back in here whenever the bytes come.
        let reading = runtime.spawn(async move {
            let mut buf = [0; 2];
            server.read_exact(&mut buf).await.map(|()| buf)
        });
        let sent = thread::scope(|scope| {
            let sending = scope.spawn(|| mainspring::block_on(client.write_all(b"ok")));
            let heard = runtime.block_on(reading).expect("no panic");
            assert_eq!(&heard.expect("two bytes"), b"ok");
            sending.join().expect("no panic")
        });
        sent.expect("an open connection");
    }
}

#[test]
fn explanation_is_that_of_the_workers() {
    for runtime in stealing() {
        let explanation = runtime.explanation();
        assert_eq!(explanation.used(), runtime.backend());
        assert_ne!(runtime.backend(), Backend::Auto);
        let said = explanation.to_string();
        assert!(said.contains(" serves the sockets"), "{said}");
    }
}
