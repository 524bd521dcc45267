//! mainspring: three ways to write the same server, on the ring and on readiness.

use std::convert::Infallible;
use std::rc::Rc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use mainspring::compat::hyper::Io;
use mainspring_executor::{LocalExecutor, Pool, spawn_local};
use mainspring_reactor::net::{TcpListener, TcpStream};
use mainspring_reactor::{Backend, Reactor};
use mainspring_timer::TimerDriver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::net::{HELLO, Job, Kind, announce};

/// Buffers that are lent, and given to the write: nothing is copied but by the kernel.
pub fn pooled(listener: std::net::TcpListener, job: Job) {
    serve(listener, job, Backend::Uring, connection_pooled);
}

/// As `pooled`, on a ring that several workers could serve: single receives, no deferred work.
pub fn shared(listener: std::net::TcpListener, job: Job) {
    let reactor = Reactor::shared(Backend::Uring).expect("a reactor");
    serve_on(reactor, listener, job, connection_pooled);
}

/// What everybody writes.
pub fn plain(listener: std::net::TcpListener, job: Job) {
    serve(listener, job, Backend::Uring, connection_plain);
}

/// The traits of tokio's.
pub fn traits(listener: std::net::TcpListener, job: Job) {
    serve(listener, job, Backend::Uring, connection_traits);
}

/// What everybody writes, over epoll.
pub fn plain_poll(listener: std::net::TcpListener, job: Job) {
    serve(listener, job, Backend::Poll, connection_plain);
}

/// hyper through the facade's adapter.
pub fn hyper(listener: std::net::TcpListener, job: Job) {
    serve(listener, job, Backend::Uring, connection_hyper);
}

/// hyper through the facade's adapter, over epoll.
pub fn hyper_poll(listener: std::net::TcpListener, job: Job) {
    serve(listener, job, Backend::Poll, connection_hyper);
}

/// Two workers that take tasks from each other, a ring each.
pub fn two_workers(listener: std::net::TcpListener, job: Job) {
    serve_two(listener, job, Backend::Uring);
}

/// Two workers that take tasks from each other, readiness.
pub fn two_workers_poll(listener: std::net::TcpListener, job: Job) {
    serve_two(listener, job, Backend::Poll);
}

fn serve_two(listener: std::net::TcpListener, job: Job, backend: Backend) {
    announce(listener.local_addr().expect("an address"));
    let pool = Pool::builder()
        .workers(2)
        .driver(move |_| Ok(Box::new(TimerDriver::new(Reactor::shared(backend)?))));
    let pool = pool.build().expect("a pool");
    // As in the others, the accepts are the main future's.
    pool.block_on(async move {
        let listener = TcpListener::from_std(listener).expect("a listener");
        assert_eq!(listener.backend(), backend);
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            mainspring_executor::spawn(connection_plain(stream, job)).detach();
        }
    });
}

fn serve<F, C>(listener: std::net::TcpListener, job: Job, backend: Backend, connection: C)
where
    F: Future<Output = ()> + 'static,
    C: Fn(TcpStream, Job) -> F + 'static,
{
    let reactor = Reactor::with_backend(backend).expect("a reactor");
    serve_on(reactor, listener, job, connection);
}

fn serve_on<F, C>(reactor: Reactor, listener: std::net::TcpListener, job: Job, connection: C)
where
    F: Future<Output = ()> + 'static,
    C: Fn(TcpStream, Job) -> F + 'static,
{
    announce(listener.local_addr().expect("an address"));
    let backend = reactor.backend();
    let driver = Box::new(TimerDriver::new(reactor));
    let connection = Rc::new(connection);
    LocalExecutor::with_driver(driver).block_on(async move {
        let listener = TcpListener::from_std(listener).expect("a listener");
        assert_eq!(listener.backend(), backend);
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            drop(spawn_local(connection(stream, job)));
        }
    });
}

async fn connection_pooled(mut stream: TcpStream, job: Job) {
    loop {
        let Ok(received) = stream.recv_pooled().await else {
            return;
        };
        if received.is_empty() {
            return;
        }
        let sent = match job.kind {
            Kind::Echo => stream.write_owned(received).await.0,
            Kind::Http | Kind::Hyper => {
                assert!(received.ends_with(b"\r\n\r\n"), "half a request");
                drop(received);
                stream.write_owned(HELLO).await.0
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn connection_plain(mut stream: TcpStream, job: Job) {
    let mut buffer = vec![0; job.buffer_bytes];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let answer = job.kind.answer(&buffer[..count]);
        if stream.write_all(answer).await.is_err() {
            return;
        }
    }
}

async fn connection_traits(mut stream: TcpStream, job: Job) {
    let mut buffer = vec![0; job.buffer_bytes];
    while let Ok(count @ 1..) = AsyncReadExt::read(&mut stream, &mut buffer).await {
        let answer = job.kind.answer(&buffer[..count]);
        if AsyncWriteExt::write_all(&mut stream, answer).await.is_err() {
            return;
        }
    }
}

async fn connection_hyper(stream: TcpStream, _job: Job) {
    let service = service_fn(async |_request| {
        let mut response = hyper::Response::new(Full::new(Bytes::from_static(b"Hello, world!")));
        response.headers_mut().insert(
            hyper::header::CONTENT_TYPE,
            hyper::header::HeaderValue::from_static("text/plain"),
        );
        Ok::<_, Infallible>(response)
    });
    let connection = http1::Builder::new().serve_connection(Io::new(stream), service);
    // The generator resets its connections at the end.
    let _ = connection.await;
}
