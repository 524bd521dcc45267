//! What a stream and its halves share: a socket that a backend serves, and its calls.

use super::unsent::Unsent;
use crate::backend::Backend;
use crate::backend::poll::hub::STREAM;
use crate::backend::poll::waiters::Waiters;
use crate::backend::poll::{Half, Io};
use crate::backend::uring;
use crate::background;
use crate::buf::PooledBuf;
use crate::driver::Hub;
use mainspring_core::wait::WaitKind;
use socket2::{SockRef, Socket};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net;
use std::task::{Context, Poll, ready};

/// How calls are made where the caller makes them: never waiting, although somebody who shares the
/// descriptor has changed its mode, and without a signal when the other side has gone.
#[cfg(unix)]
const RECEIVE: i32 = libc::MSG_DONTWAIT;
#[cfg(unix)]
const PEEK: i32 = libc::MSG_PEEK;
#[cfg(any(target_os = "linux", target_os = "android"))]
const SEND: i32 = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
const SEND: i32 = libc::MSG_DONTWAIT;
#[cfg(not(unix))]
const RECEIVE: i32 = 0;
#[cfg(not(unix))]
const PEEK: i32 = 2;
#[cfg(not(unix))]
const SEND: i32 = 0;

/// Several slices that are no longer together are written as one.
const GATHERED_BYTES: usize = 1024;

/// How many slices one call writes on Linux at most.
const SLICES_MAX: usize = 1024;

/// Bytes that one receive brings at most, where the memory is lent.
const LENT_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct StreamCore {
    source: Source,
}

/// Who serves the stream.
#[derive(Debug)]
pub(super) enum Source {
    Poll {
        /// Before the socket: it is dropped first.
        unsent: Unsent,
        io: Io<mio::net::TcpStream>,
    },
    Ring(uring::Stream),
}

/// A stream that was taken apart.
pub(super) struct Parts {
    pub(super) socket: Socket,
    /// What had arrived.
    pub(super) unread: Vec<u8>,
    /// What a read would say after that.
    pub(super) failed: Option<io::Error>,
}

/// Whether a call on a socket that is taken over waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Blocking,
    NonBlocking,
    /// It does not wait, and shall not before [`StreamCore::connected`].
    Connecting,
    Unknown,
}

impl StreamCore {
    /// Takes a socket over, for the reactor that is current here.
    pub(super) fn new(socket: Socket, mode: Mode) -> io::Result<Self> {
        let source = match background::current()? {
            Hub::Poll(hub) => {
                if !matches!(mode, Mode::NonBlocking | Mode::Connecting) {
                    socket.set_nonblocking(true)?;
                }
                let stream = mio::net::TcpStream::from_std(socket.into());
                let io = Io::new(stream, STREAM, Waiters::one(), hub)?;
                Source::Poll {
                    unsent: Unsent::new(raw(io.source())),
                    io,
                }
            }
            Hub::Ring(hub) => {
                if !matches!(mode, Mode::Blocking | Mode::Connecting) {
                    socket.set_nonblocking(false)?;
                }
                Source::Ring(uring::Stream::new(socket, hub)?)
            }
        };
        Ok(Self { source })
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn backend(&self) -> Backend {
        match self.source {
            Source::Poll { .. } => Backend::Poll,
            Source::Ring(_) => Backend::Uring,
        }
    }

    pub(super) fn socket(&self) -> SockRef<'_> {
        match &self.source {
            Source::Poll { io, .. } => SockRef::from(io.source()),
            Source::Ring(stream) => SockRef::from(stream.socket()),
        }
    }

    /// Waits until nothing of the stream is under way, then takes it apart.
    pub(super) async fn into_parts(self) -> io::Result<Parts> {
        match self.source {
            Source::Poll { unsent, io } => {
                let sent = poll_fn(|cx| unsent.poll(cx, &io)).await;
                // Before the socket.
                drop(unsent);
                sent?;
                Ok(Parts {
                    socket: net::TcpStream::from(io.into_source()).into(),
                    unread: Vec::new(),
                    failed: None,
                })
            }
            Source::Ring(mut stream) => loop {
                poll_fn(|cx| stream.poll_settled(cx)).await;
                let (failed, unsent) = stream.take_failures();
                if let Some(error) = unsent {
                    return Err(error);
                }
                let unread = stream.take_unread();
                if let Some(socket) = stream.take_socket() {
                    return Ok(Parts {
                        socket,
                        unread,
                        failed,
                    });
                }
            },
        }
    }

    /// Waits for the end of the connect that the socket was created with.
    pub(super) fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.source {
            Source::Poll { io, .. } => io.poll_io(cx, Half::Write, WaitKind::Connect, |socket| {
                is_connected(&SockRef::from(socket))
            }),
            Source::Ring(stream) => stream.poll_call(cx, WaitKind::Connect, is_connected),
        }
    }

    /// The connect has ended. Until then another call of it must not wait, later the ring's must.
    pub(super) fn connected(&self) -> io::Result<()> {
        match &self.source {
            Source::Poll { .. } => Ok(()),
            Source::Ring(stream) => stream.socket().set_nonblocking(false),
        }
    }

    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_read_uninit(cx, uninit(buf))
    }

    /// As `poll_read`; as many bytes as it says are initialised.
    pub(super) fn poll_read_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        match &self.source {
            // At once, on both: there is nothing to wait for.
            _ if buf.is_empty() => Poll::Ready(Ok(0)),
            Source::Poll { io, .. } => {
                io.poll_bytes(cx, Half::Read, buf.len(), |socket| receive(socket, buf, 0))
            }
            Source::Ring(stream) => stream.poll_read(cx, buf),
        }
    }

    pub(super) fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match &self.source {
            _ if buf.is_empty() => Poll::Ready(Ok(0)),
            Source::Poll { io, .. } => io.poll_io(cx, Half::Read, WaitKind::Read, |socket| {
                let buf = uninit(buf);
                receive(socket, buf, PEEK)
            }),
            Source::Ring(stream) => stream.poll_peek(cx, uninit(buf)),
        }
    }

    pub(super) fn poll_recv_pooled(&self, cx: &mut Context<'_>) -> Poll<io::Result<PooledBuf>> {
        match &self.source {
            Source::Poll { io, .. } => io.poll_io(cx, Half::Read, WaitKind::Read, |socket| {
                // Only now: a connection that waits holds no buffer.
                let mut bytes = Vec::with_capacity(LENT_BYTES);
                let room = bytes.spare_capacity_mut();
                let count = receive(socket, room, 0)?;
                // SAFETY: [net.received] the system has written as many bytes.
                unsafe { bytes.set_len(count) };
                Ok(PooledBuf::heap(bytes, 0))
            }),
            Source::Ring(stream) => stream.poll_lend(cx),
        }
    }

    pub(super) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &self.source {
            Source::Poll { io, unsent } => {
                ready!(unsent.poll(cx, io))?;
                io.poll_bytes(cx, Half::Write, buf.len(), |socket| send(socket, buf))
            }
            Source::Ring(stream) => stream.poll_write(cx, buf),
        }
    }

    pub(super) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut gathered = [MaybeUninit::uninit(); GATHERED_BYTES];
        if let Some(bytes) = gather(bufs, &mut gathered) {
            // One slice is cheaper for the system than several, by more than the copy costs.
            return self.poll_write(cx, bytes);
        }
        // More than it takes, the system refuses as a whole, or leaves.
        let bufs = &bufs[..bufs.len().min(SLICES_MAX)];
        match &self.source {
            Source::Poll { io, unsent } => {
                ready!(unsent.poll(cx, io))?;
                let room = bufs.iter().map(|buf| buf.len()).sum();
                io.poll_bytes(cx, Half::Write, room, |socket| {
                    let socket_ref = SockRef::from(socket);
                    socket.try_io(|| socket_ref.send_vectored_with_flags(bufs, SEND))
                })
            }
            Source::Ring(stream) => stream.poll_write_vectored(cx, bufs),
        }
    }

    pub(super) fn poll_ready(&self, cx: &mut Context<'_>, half: Half) -> Poll<io::Result<()>> {
        match (&self.source, half) {
            (Source::Poll { io, .. }, Half::Read) => io.poll_ready(cx, half, WaitKind::Read),
            (Source::Poll { io, .. }, Half::Write) => io.poll_ready(cx, half, WaitKind::Write),
            (Source::Ring(stream), Half::Read) => stream.poll_readable(cx),
            (Source::Ring(stream), Half::Write) => stream.poll_writable(cx),
        }
    }

    pub(super) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.source {
            Source::Poll { io, unsent } => unsent.poll(cx, io),
            Source::Ring(stream) => stream.poll_flush(cx),
        }
    }

    pub(super) fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.source {
            Source::Poll { io, unsent } => {
                ready!(unsent.poll(cx, io))?;
                Poll::Ready(self.shut_down())
            }
            Source::Ring(stream) => stream.poll_shutdown(cx),
        }
    }

    /// Ends the direction of writing, as soon as nothing is being sent, for nobody to be told.
    pub(super) fn shut_down_later(&self) {
        match &self.source {
            // The reader will see how the connection is.
            Source::Poll { io, unsent } => {
                // What does not go now would come after the end.
                if unsent.try_send(io).is_ok() {
                    let _ = self.shut_down();
                }
            }
            Source::Ring(stream) => stream.shut_down_later(),
        }
    }

    fn shut_down(&self) -> io::Result<()> {
        match self.socket().shutdown(net::Shutdown::Write) {
            // The connection is over, this direction with it.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }

    pub(super) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.source {
            Source::Poll { io, .. } => io.try_bytes(Half::Read, buf.len(), |socket| {
                receive(socket, uninit(buf), 0)
            }),
            Source::Ring(stream) => stream.try_read(uninit(buf)),
        }
    }

    pub(super) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        match &self.source {
            Source::Poll { io, unsent } => {
                unsent.try_send(io)?;
                io.try_bytes(Half::Write, buf.len(), |socket| send(socket, buf))
            }
            Source::Ring(stream) => stream.try_write(buf),
        }
    }
}

/// With readiness: receives what there is.
pub(super) fn receive(
    socket: &mio::net::TcpStream,
    room: &mut [MaybeUninit<u8>],
    flags: i32,
) -> io::Result<usize> {
    socket.try_io(|| SockRef::from(socket).recv_with_flags(room, RECEIVE | flags))
}

/// With readiness: sends what there is room for.
pub(super) fn send(socket: &mio::net::TcpStream, bytes: &[u8]) -> io::Result<usize> {
    socket.try_io(|| SockRef::from(socket).send_with_flags(bytes, SEND))
}

/// Puts slices that are short together, if there are several and they fit.
fn gather<'g>(bufs: &[IoSlice<'_>], room: &'g mut [MaybeUninit<u8>]) -> Option<&'g [u8]> {
    let bytes = bufs.iter().map(|buf| buf.len()).sum::<usize>();
    if bufs.len() < 2 || bytes > room.len() {
        return None;
    }
    let mut filled = 0;
    for buf in bufs {
        let (from, end) = (buf.as_ptr().cast::<MaybeUninit<u8>>(), filled + buf.len());
        // SAFETY: [net.received] initialised bytes are bytes that may not be, and are only read.
        let from = unsafe { std::slice::from_raw_parts(from, buf.len()) };
        room[filled..end].copy_from_slice(from);
        filled = end;
    }
    // SAFETY: [net.received] as many bytes have been written.
    Some(unsafe { std::slice::from_raw_parts(room.as_ptr().cast(), filled) })
}

/// A slice of initialised bytes is one of bytes that may not be, as long as only bytes are written
/// to it: which is all that receiving does.
fn uninit(buf: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    let (start, bytes) = (buf.as_mut_ptr(), buf.len());
    // SAFETY: [net.received] the layout is the same, and nothing here writes an uninitialised byte.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes) }
}

#[cfg(unix)]
fn raw(socket: &mio::net::TcpStream) -> std::os::fd::RawFd {
    std::os::fd::AsRawFd::as_raw_fd(socket)
}

#[cfg(windows)]
fn raw(socket: &mio::net::TcpStream) -> std::os::windows::io::RawSocket {
    std::os::windows::io::AsRawSocket::as_raw_socket(socket)
}

/// Whether a connect has ended, and how.
fn is_connected(socket: &Socket) -> io::Result<()> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    match socket.peer_addr() {
        Ok(_) => Ok(()),
        // Under way. Linux says so by this code, others by EINVAL.
        Err(error) if is_unconnected(&error) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_unconnected(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotConnected
        || matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINVAL))
}

#[cfg(not(unix))]
fn is_unconnected(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotConnected
}
