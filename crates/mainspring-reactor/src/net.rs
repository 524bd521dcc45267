//! Sockets.
//!
//! | type | what it is |
//! |---|---|
//! | [`TcpListener`] | accepts connections; through `&self`, by any number of tasks |
//! | [`TcpStream`] | a connection, read and written through `&mut self` |
//! | [`ReadHalf`], [`WriteHalf`] | its two directions, borrowed |
//! | [`OwnedReadHalf`], [`OwnedWriteHalf`] | its two directions, for two tasks |
//! | [`TcpSocket`] | a socket to set options on, before it connects or listens |
//! | [`lookup_host`] | names to addresses, on the blocking pool |
//!
//! # Cancel safety
//!
//! The type of a call's future says it: what returns a named type is
//! [`CancelSafe`](mainspring_core::CancelSafe) and may be dropped at any time without losing a byte
//! or a connection. The others say in their documentation what is lost.
//!
//! # Invariants
//!
//! - **net.received** — memory counts as initialised only for bytes that the system says it has
//!   written there.
//! - **net.descriptor** — the descriptor that a socket lends is open for as long as the socket is
//!   borrowed: it is closed when its owner is dropped, and by nothing before.
//!
//! # Which reactor
//!
//! A socket is registered where it is made: with the reactor that is current on that thread, else
//! with the background thread's. It may be used from any thread afterwards.

#[macro_use]
mod methods;

mod accept_error;
mod addr;
#[cfg(unix)]
mod as_fd;
#[cfg(windows)]
mod as_socket;
mod half;
mod into_std;
mod ops;
mod owned_half;
mod owned_ops;
mod stream_core;
mod tcp_listener;
mod tcp_socket;
mod tcp_stream;
mod traits;
mod unsent;

#[cfg(feature = "tokio-io")]
mod tokio_io;

pub use self::addr::{ToAddrs, lookup_host};
pub use self::half::{ReadHalf, WriteHalf};
pub use self::into_std::{IntoStd, IntoStdListener};
pub use self::ops::{Flush, Peek, Read, Ready, RecvPooled, Shutdown, Write, WriteVectored};
pub use self::owned_half::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use self::owned_ops::{ReadOwned, WriteOwned};
pub use self::tcp_listener::{Accept, TcpListener};
pub use self::tcp_socket::TcpSocket;
pub use self::tcp_stream::TcpStream;
