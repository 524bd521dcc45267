//! What a connection does.

use crate::rig::{Drive, join, pair, poll_once};
use mainspring_reactor::net::TcpStream;
use std::io::{ErrorKind, IoSlice};
use std::pin::pin;
use std::time::Duration;

on_each! {
    half_close_is_an_end_and_the_other_direction_goes_on,
    reset_is_an_error_of_the_read_that_waits,
    reset_is_an_error_of_the_write_that_waits,
    calls_of_no_bytes_take_nothing,
    halves_in_two_threads_carry_both_directions,
    writer_to_a_half_closed_peer_sleeps,
    peek_leaves_the_bytes_and_try_read_says_would_block,
    end_in_the_middle_of_read_exact_says_how_much_came,
    vectored_write_and_options,
    reunited_halves_are_the_stream,
    traits_of_futures_io_read_and_write,
}

async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let (mut all, mut buf) = (Vec::new(), [0; 1000]);
    loop {
        match stream.read(&mut buf).await.unwrap() {
            0 => return all,
            read => all.extend_from_slice(&buf[..read]),
        }
    }
}

fn half_close_is_an_end_and_the_other_direction_goes_on<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"question").await.unwrap();
        client.flush().await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_to_end(&mut server).await, b"question");
        // The end stays the end.
        assert_eq!(server.read(&mut [0; 4]).await.unwrap(), 0);
        server.write_all(b"answer").await.unwrap();
        drop(server);
        assert_eq!(read_to_end(&mut client).await, b"answer");
    });
}

fn reset_is_an_error_of_the_read_that_waits<D: Drive>() {
    D::run(async {
        let (mut client, server) = pair().await;
        let mut buf = [0; 4];
        let mut read = pin!(client.read(&mut buf));
        assert!(poll_once(read.as_mut()).await.is_pending());
        server.set_linger(Some(Duration::ZERO)).unwrap();
        assert_eq!(server.linger().unwrap(), Some(Duration::ZERO));
        drop(server);
        assert_eq!(read.await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

fn reset_is_an_error_of_the_write_that_waits<D: Drive>() {
    D::run(async {
        let (mut client, server) = pair().await;
        let chunk = vec![7; 64 * 1024];
        let error = loop {
            let mut write = pin!(client.write(&chunk));
            match poll_once(write.as_mut()).await {
                std::task::Poll::Ready(result) => assert!(result.unwrap() > 0),
                std::task::Poll::Pending => {
                    server.set_linger(Some(Duration::ZERO)).unwrap();
                    drop(server);
                    break write.await.unwrap_err();
                }
            }
        };
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(kinds.contains(&error.kind()), "{error}");
    });
}

fn calls_of_no_bytes_take_nothing<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        assert_eq!(client.write(b"").await.unwrap(), 0);
        client.write_all(b"").await.unwrap();
        client.write_all(b"x").await.unwrap();
        server.readable().await.unwrap();
        assert_eq!(server.peek(&mut [0; 2]).await.unwrap(), 1);
        assert_eq!(server.read(&mut []).await.unwrap(), 0);
        server.read_exact(&mut []).await.unwrap();
        assert_eq!(server.read(&mut [0; 2]).await.unwrap(), 1);
    });
}

/// The byte at that place of a long message.
fn byte(place: usize) -> u8 {
    (place % 251) as u8
}

const LONG: usize = 1 << 20;

fn halves_in_two_threads_carry_both_directions<D: Drive>() {
    D::run(async {
        let (client, server) = pair().await;
        let (mut client_read, mut client_write) = client.into_split();
        let (mut server_read, mut server_write) = server.into_split();
        // Each half that writes is in a thread of its own, without any reactor.
        let writers = std::thread::spawn(move || {
            let message: Vec<u8> = (0..LONG).map(byte).collect();
            crate::rig::InBackground::run(async {
                let (one, other) = join(
                    client_write.write_all(&message),
                    server_write.write_all(&message),
                )
                .await;
                one.unwrap();
                other.unwrap();
            });
        });
        let mut to_server = vec![0; LONG];
        let mut to_client = vec![0; LONG];
        let (one, other) = join(
            server_read.read_exact(&mut to_server),
            client_read.read_exact(&mut to_client),
        )
        .await;
        one.unwrap();
        other.unwrap();
        assert!(
            to_server
                .iter()
                .enumerate()
                .all(|(place, b)| *b == byte(place))
        );
        assert!(to_client == to_server);
        writers.join().unwrap();
        // The halves that write were dropped: both directions end.
        assert_eq!(server_read.read(&mut [0; 1]).await.unwrap(), 0);
        assert_eq!(client_read.read(&mut [0; 1]).await.unwrap(), 0);
    });
}

fn writer_to_a_half_closed_peer_sleeps<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        server.shutdown().await.unwrap();
        let chunk = vec![7; 64 * 1024];
        let (mut read, mut write) = client.split();
        let mut written = 0;
        // Until the buffers are full; then the writer waits instead of being told again and again.
        loop {
            let mut one = pin!(write.write(&chunk));
            match poll_once(one.as_mut()).await {
                std::task::Poll::Ready(result) => written += result.unwrap(),
                std::task::Poll::Pending => break,
            }
        }
        assert_eq!(read.read(&mut [0; 4]).await.unwrap(), 0);
        for _ in 0..3 {
            assert_eq!(
                write.try_write(&chunk).unwrap_err().kind(),
                ErrorKind::WouldBlock
            );
        }
        let mut all = vec![0; written];
        let (more, ()) = join(write.write(&chunk), async {
            server.read_exact(&mut all).await.unwrap();
        })
        .await;
        assert!(more.unwrap() > 0);
    });
}

fn peek_leaves_the_bytes_and_try_read_says_would_block<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        assert_eq!(
            server.try_read(&mut [0; 4]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        let mut buf = [0; 4];
        {
            let mut peek = pin!(server.peek(&mut buf));
            assert!(poll_once(peek.as_mut()).await.is_pending());
            client.write_all(b"abcd").await.unwrap();
            assert!(peek.await.unwrap() > 0);
        }
        // A peek that ran dry leaves the socket armed, too.
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"abcd");
        client.writable().await.unwrap();
        assert_eq!(client.try_write(b"efgh").unwrap(), 4);
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buf).unwrap(), 4);
        assert_eq!(&buf, b"efgh");
    });
}

fn end_in_the_middle_of_read_exact_says_how_much_came<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"abc").await.unwrap();
        drop(client);
        let mut buf = [0; 8];
        let error = server.read_exact(&mut buf).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(error.to_string().contains("3 of 8 bytes"), "{error}");
        assert_eq!(&buf[..3], b"abc");
    });
}

fn vectored_write_and_options<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        let slices = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")];
        assert_eq!(client.write_vectored(&slices).await.unwrap(), 4);
        let mut buf = [0; 4];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"abcd");
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap());
        client.set_ttl(43).unwrap();
        assert_eq!(client.ttl().unwrap(), 43);
        assert!(client.take_error().unwrap().is_none());
        assert_eq!(client.peer_addr().unwrap(), server.local_addr().unwrap());
    });
}

fn reunited_halves_are_the_stream<D: Drive>() {
    D::run(async {
        let (client, server) = pair().await;
        let (client_read, client_write) = client.into_split();
        let (server_read, server_write) = server.into_split();
        let error = client_read.reunite(server_write).unwrap_err();
        assert!(!error.is_transient());
        let mut client = error.0.reunite(client_write).unwrap();
        let mut server = server_read.reunite(error.1).unwrap();
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0; 1]).await.unwrap();
    });
}

fn traits_of_futures_io_read_and_write<D: Drive>() {
    use futures_io::{AsyncRead, AsyncWrite};
    use std::future::poll_fn;
    use std::pin::Pin;
    D::run(async {
        let (mut client, mut server) = pair().await;
        let written = poll_fn(|cx| Pin::new(&mut client).poll_write(cx, b"abc")).await;
        assert_eq!(written.unwrap(), 3);
        poll_fn(|cx| Pin::new(&mut client).poll_flush(cx))
            .await
            .unwrap();
        poll_fn(|cx| Pin::new(&mut client).poll_close(cx))
            .await
            .unwrap();
        let mut buf = [0; 8];
        let read = poll_fn(|cx| Pin::new(&mut server).poll_read(cx, &mut buf)).await;
        assert_eq!(read.unwrap(), 3);
        let end = poll_fn(|cx| Pin::new(&mut server).poll_read(cx, &mut buf)).await;
        assert_eq!(end.unwrap(), 0);
    });
}
