//! Sockets: [`TcpListener`], [`TcpStream`], [`TcpSocket`], and names to addresses.
//!
//! On a thread that runs a [`LocalRuntime`](crate::LocalRuntime) a socket belongs to that runtime
//! from the call that makes it on. While that runtime is not running (inside `block_on`, `tick` or
//! `shutdown`), nobody serves the socket, and a wait on it from elsewhere does not end. Of a
//! [`Runtime`](crate::Runtime), it belongs to the worker on whose thread the call is made, or to
//! the thread that is in `block_on` there, and may be used from any. Made where none runs, and none
//! was [entered](crate::LocalRuntime::enter), it is served by one background thread.
//!
//! A call whose future has a named type may be dropped at any time without losing a byte or a
//! connection; the others say in their documentation what is lost.
//!
//! ```
//! use mainspring::net::{TcpListener, TcpStream};
//!
//! # fn main() -> std::io::Result<()> {
//! mainspring::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
//!     let address = listener.local_addr()?;
//!     let client = mainspring::spawn_local(async move {
//!         let mut stream = TcpStream::connect(address).await?;
//!         stream.write_all(b"hello").await
//!     });
//!     let (mut stream, _peer) = listener.accept().await?;
//!     let mut greeting = [0; 5];
//!     stream.read_exact(&mut greeting).await?;
//!     assert_eq!(&greeting, b"hello");
//!     client.await.expect("no panic")
//! })
//! # }
//! ```

#[doc(inline)]
pub use mainspring_reactor::net::{
    Accept, Flush, IntoStd, IntoStdListener, OwnedReadHalf, OwnedWriteHalf, Peek, Read, ReadHalf,
    ReadOwned, Ready, RecvPooled, ReuniteError, Shutdown, TcpListener, TcpSocket, TcpStream,
    ToAddrs, Write, WriteHalf, WriteOwned, WriteVectored, lookup_host,
};
