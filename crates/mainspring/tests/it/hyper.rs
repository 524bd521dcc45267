use super::stealing::stealing;
use super::{pair, runtimes};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::rt::Executor;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use mainspring::compat::hyper::{Io, Spawn, Timer};
use mainspring::net::TcpStream;
use mainspring::time::now;
use mainspring::{spawn, spawn_local};
use std::convert::Infallible;
use std::time::Duration;

async fn respond(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    assert_ne!(request.uri().path(), "/panic", "on purpose");
    // Longer than any buffer on the way.
    Ok(Response::new(request.uri().path().repeat(100_000)))
}

async fn serve(stream: TcpStream) -> hyper::Result<()> {
    server::Builder::new()
        .timer(Timer)
        .header_read_timeout(Duration::from_secs(10))
        .serve_connection(Io::new(stream), service_fn(respond))
        .await
}

/// The status of an answer, and how long its body is.
async fn fetch(
    sender: &mut client::SendRequest<String>,
    path: &str,
) -> hyper::Result<(StatusCode, usize)> {
    let request = Request::builder()
        .uri(path)
        .header("host", "localhost")
        .body(String::new());
    let response = sender.send_request(request.expect("a request")).await?;
    let status = response.status();
    let mut body = response.into_body();
    let mut length = 0;
    loop {
        let frame = std::future::poll_fn(|cx| {
            hyper::body::Body::poll_frame(std::pin::Pin::new(&mut body), cx)
        });
        match frame.await {
            Some(frame) => length += frame?.data_ref().map_or(0, |data| data.len()),
            None => return Ok((status, length)),
        }
    }
}

#[test]
fn client_and_server_talk_over_one_connection() {
    for runtime in runtimes() {
        let answers = runtime.block_on(async {
            let (near, far) = pair().await;
            let serving = spawn_local(serve(far));
            let (mut sender, connection) = client::handshake(Io::new(near)).await?;
            let connection = spawn_local(connection);
            let mut answers = Vec::new();
            for path in ["/a", "/bcd"] {
                answers.push(fetch(&mut sender, path).await?);
            }
            drop(sender);
            connection.await.expect("no panic")?;
            serving.await.expect("no panic")?;
            hyper::Result::Ok(answers)
        });
        let expected = [(StatusCode::OK, 200_000), (StatusCode::OK, 400_000)];
        assert_eq!(answers.expect("no error"), expected);
    }
}

#[test]
fn client_and_server_talk_on_several_threads() {
    for runtime in stealing() {
        let answers = runtime.block_on(async {
            // Nothing of it stays on this thread.
            spawn(async {
                let (near, far) = pair().await;
                let serving = spawn(serve(far));
                let (mut sender, connection) = client::handshake(Io::new(near)).await?;
                Spawn.execute(connection);
                let mut answers = Vec::new();
                for path in ["/a", "/bcd"] {
                    answers.push(fetch(&mut sender, path).await?);
                }
                drop(sender);
                serving.await.expect("no panic")?;
                hyper::Result::Ok(answers)
            })
            .await
        });
        let expected = [(StatusCode::OK, 200_000), (StatusCode::OK, 400_000)];
        assert_eq!(answers.expect("no panic").expect("no error"), expected);
    }
}

#[test]
fn handler_that_panics_ends_its_connection_and_no_other() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (near, far) = pair().await;
            let panicking = spawn_local(serve(far));
            let (mut sender, connection) = client::handshake(Io::new(near)).await.expect("a start");
            spawn_local(connection).detach();
            assert!(fetch(&mut sender, "/panic").await.is_err());
            assert!(panicking.await.is_err_and(|error| error.is_panic()));

            let (near, far) = pair().await;
            spawn_local(serve(far)).detach();
            let (mut sender, connection) = client::handshake(Io::new(near)).await.expect("a start");
            spawn_local(connection).detach();
            assert_eq!(
                fetch(&mut sender, "/").await.ok(),
                Some((StatusCode::OK, 100_000))
            );
        });
    }
}

#[mainspring::test(paused)]
async fn half_a_header_ends_with_its_timeout() {
    let (mut near, far) = pair().await;
    near.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n")
        .await
        .expect("room");
    let start = now();
    let ended = serve(far).await;
    assert!(ended.is_err_and(|error| error.is_timeout()));
    assert_eq!(now().since(start), Duration::from_secs(10));
    assert_eq!(near.read(&mut [0]).await.ok(), Some(0));
}
