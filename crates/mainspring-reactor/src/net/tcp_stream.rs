//! A TCP connection.

use super::addr::{ToAddrs, lookup_host};
use super::half::{ReadHalf, WriteHalf};
use super::into_std::IntoStd;
use super::ops::{Flush, Peek, Read, Ready, RecvPooled, Shutdown, Write, WriteVectored};
use super::owned_half::{self, OwnedReadHalf, OwnedWriteHalf};
use super::owned_ops::{ReadOwned, WriteOwned};
use super::stream_core::{Mode, StreamCore};
use super::tcp_socket::TcpSocket;
use crate::backend::Backend;
use crate::buf::{IoBuf, IoBufMut};
use crate::error::while_doing;
use mainspring_core::time::{self, Sleep};
use socket2::Socket;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::net::{self, SocketAddr};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// A TCP connection.
///
/// Its calls take `&mut self`, so that there is one reader and one writer:
/// [`split`](Self::split) lends the two directions to one task, [`into_split`](Self::into_split)
/// gives them to two.
///
/// Dropping it closes the connection; [`shutdown`](Self::shutdown) first tells the other side that
/// all was sent. On the ring the other side learns of a drop when the runtime next turns:
/// [`close`](Self::close) waits for that. If bytes of a dropped
/// [`write_owned`](Self::write_owned) have not been sent by then, the connection is reset: cut off
/// is no clean end.
///
/// # Trade-offs
///
/// One allocation for each socket, of less than 400 bytes. On the ring a read costs no system call
/// of its own: what arrives is copied out of the runtime's memory, and everything that a turn asks
/// for goes to the kernel at once. A write is one system call. With readiness a call that finds
/// bytes or room makes one system call; one that has to wait makes two, and one of the reactor's
/// wakes it.
///
/// ```
/// use mainspring_reactor::net::TcpStream;
///
/// async fn greet() -> std::io::Result<()> {
///     let mut stream = TcpStream::connect("localhost:7").await?;
///     stream.write_all(b"hello").await?;
///     let mut answer = [0; 5];
///     stream.read_exact(&mut answer).await?;
///     stream.shutdown().await
/// }
/// ```
#[derive(Debug)]
pub struct TcpStream {
    core: StreamCore,
}

impl TcpStream {
    /// Connects to the first address of `address` that answers.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: the attempt is given up, and its socket closed. It may be started again.
    ///
    /// # Errors
    ///
    /// Those of the last address that was tried, with the address;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is none.
    pub async fn connect(address: impl ToAddrs) -> io::Result<Self> {
        let mut last = None;
        for address in lookup_host(address).await? {
            match Self::connect_to(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "no address to connect to")
        }))
    }

    /// As [`connect`](Self::connect), for `limit` at most, all addresses and the look-up together.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: the attempt is given up, and its socket closed. It may be started again.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](io::ErrorKind::TimedOut) after `limit`; else as [`connect`](Self::connect).
    pub async fn connect_timeout(address: impl ToAddrs, limit: Duration) -> io::Result<Self> {
        let mut attempt = pin!(Self::connect(address));
        let mut end: std::pin::Pin<&mut Sleep> = pin!(time::sleep(limit));
        poll_fn(|cx| {
            if let Poll::Ready(result) = attempt.as_mut().poll(cx) {
                return Poll::Ready(result);
            }
            end.as_mut().poll(cx).map(|()| {
                Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no connection within {limit:?}"),
                ))
            })
        })
        .await
    }

    async fn connect_to(address: SocketAddr) -> io::Result<Self> {
        // The socket is the attempt's: dropping it closes.
        let socket = TcpSocket::for_address(address)
            .map_err(|error| while_doing(format_args!("connect to {address}"), error))?;
        socket.connect_and_leave(address).await
    }

    /// Waits for the end of a connect that has begun.
    pub(super) async fn finish_connect(socket: Socket) -> io::Result<Self> {
        let stream = Self::new(socket, Mode::Connecting)?;
        poll_fn(|cx| stream.core.poll_connected(cx)).await?;
        stream.core.connected()?;
        Ok(stream)
    }

    pub(super) fn new(socket: Socket, mode: Mode) -> io::Result<Self> {
        Ok(Self {
            core: StreamCore::new(socket, mode)?,
        })
    }

    pub(super) fn from_core(core: StreamCore) -> Self {
        Self { core }
    }

    /// Takes over a connection of the standard library's, in whichever mode it is.
    ///
    /// # Errors
    ///
    /// What the system says to changing its mode, or the reactor to the registration.
    pub fn from_std(stream: net::TcpStream) -> io::Result<Self> {
        Self::new(stream.into(), Mode::Unknown)
    }

    /// Gives the connection back to the standard library, in blocking mode, with the bytes that had
    /// arrived. Waits until nothing of it is under way in the system, which is a moment; what was
    /// handed over by [`write_owned`](Self::write_owned) is waited for.
    ///
    /// # Cancel safety
    ///
    /// *Not restartable*: the connection is closed, and what had arrived is dropped.
    ///
    /// # Errors
    ///
    /// What the system says, and the error of a [`write_owned`](Self::write_owned) whose future was
    /// dropped.
    pub async fn into_std(self) -> io::Result<IntoStd> {
        let parts = self.core.into_parts().await?;
        let stream = net::TcpStream::from(parts.socket);
        stream.set_nonblocking(false)?;
        Ok(IntoStd {
            stream,
            unread: parts.unread,
            error: parts.failed,
        })
    }

    /// Closes the connection, and waits until the system has done so. What was handed over by
    /// [`write_owned`](Self::write_owned) is waited for; what has arrived is dropped.
    ///
    /// # Cancel safety
    ///
    /// *Not restartable*: the connection is closed all the same, a moment later.
    ///
    /// # Errors
    ///
    /// That of a [`write_owned`](Self::write_owned) whose future was dropped. It is closed all the
    /// same.
    pub async fn close(self) -> io::Result<()> {
        self.core.into_parts().await.map(drop)
    }

    pub(super) fn core(&self) -> &StreamCore {
        &self.core
    }

    pub(super) fn core_mut(&mut self) -> &StreamCore {
        &self.core
    }

    read_methods!();
    write_methods!();
    addr_methods!();

    /// The two directions, borrowed: for one task that reads and writes at the same time.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf::new(&self.core), WriteHalf::new(&self.core))
    }

    /// The two directions, for two tasks. One allocation.
    #[must_use = "a dropped half of writing ends its direction"]
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        owned_half::split(self.core)
    }

    /// Whether small writes are sent at once.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.core.socket().tcp_nodelay()
    }

    /// Has small writes sent at once, instead of being gathered for some time.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.core.socket().set_tcp_nodelay(nodelay)
    }

    /// Whether the system asks now and then whether the other side is still there.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn keepalive(&self) -> io::Result<bool> {
        self.core.socket().keepalive()
    }

    /// Has the system ask now and then, while nothing is sent, whether the other side is still
    /// there. A read fails when it is not. How often, the system says: two hours later for the
    /// first time, usually.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        self.core.socket().set_keepalive(keepalive)
    }

    /// How many hops a packet may take.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.core.socket().ttl_v4()
    }

    /// Sets how many hops a packet may take.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.core.socket().set_ttl_v4(ttl)
    }

    /// How long the system goes on sending after a close; `None` for its own default.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.core.socket().linger()
    }

    /// Sets for how long the system goes on sending after a close. Zero: the close resets the
    /// connection. Anything longer may block the thread that drops the stream.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.core.socket().set_linger(linger)
    }

    /// Takes the error that the system holds for the socket, if there is one.
    ///
    /// # Errors
    ///
    /// What the system says to the question.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.core.socket().take_error()
    }
}
