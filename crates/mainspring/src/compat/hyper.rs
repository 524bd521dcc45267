//! hyper 1 on this runtime.
//!
//! | type | is hyper's | |
//! |---|---|---|
//! | [`Io`] | [`Read`](::hyper::rt::Read), [`Write`](::hyper::rt::Write) | around a stream |
//! | [`Timer`] | [`Timer`](::hyper::rt::Timer) | for timeouts: of headers, of keep-alive |
//! | [`Spawn`] | [`Executor`](::hyper::rt::Executor) | for HTTP/2, on the runtime's threads |
//! | [`SpawnLocal`] | [`Executor`](::hyper::rt::Executor) | for HTTP/2, on this thread |
//!
//! ```
//! use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
//! use mainspring::compat::hyper::{Io, Timer};
//! use mainspring::net::TcpStream;
//! use std::convert::Infallible;
//! use std::time::Duration;
//!
//! async fn hello(_request: Request<Incoming>) -> Result<Response<String>, Infallible> {
//!     Ok(Response::new("hello\n".to_owned()))
//! }
//!
//! async fn serve(stream: TcpStream) -> hyper::Result<()> {
//!     http1::Builder::new()
//!         .timer(Timer)
//!         .header_read_timeout(Duration::from_secs(10))
//!         .serve_connection(Io::new(stream), service_fn(hello))
//!         .await
//! }
//! # let _ = serve;
//! ```
//!
//! Give hyper its [`Timer`] whenever it is told a timeout: without one it panics.

mod executor;
mod io;
mod timer;

pub use self::executor::{Spawn, SpawnLocal};
pub use self::io::Io;
pub use self::timer::{Sleep, Timer};
