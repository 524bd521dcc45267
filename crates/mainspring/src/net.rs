//! Sockets: [`TcpListener`], [`TcpStream`], [`TcpSocket`], and names to addresses.
//!
//! A socket has the backend of the runtime that is running where it is made, for its whole life,
//! and may be used from any thread: what it waits for is served by the runtime that is running
//! there, of a [`Runtime`](crate::Runtime) by the worker whose thread it is. With readiness that is
//! where it first had to wait. While a [`LocalRuntime`](crate::LocalRuntime) is not running (inside
//! `block_on`, `tick` or `shutdown`), nobody serves what waits in it. Made where none runs, and
//! none was [entered](crate::LocalRuntime::enter), a socket is served by one background thread.
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
