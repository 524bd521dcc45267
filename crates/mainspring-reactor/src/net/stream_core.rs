//! What a stream and its halves share: a registered socket, and its calls.

use super::ops::{Flush, Peek, Read, Ready, Shutdown, Write, WriteVectored};
use crate::backend::Backend;
use crate::backend::poll::waiters::Waiters;
use crate::backend::poll::{Half, Io};
use mainspring_core::wait::WaitKind;
use mio::Interest;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::net;
use std::task::{Context, Poll};

#[derive(Debug)]
pub(super) struct StreamCore {
    source: Source,
}

/// Who serves the stream. Another backend is another variant.
#[derive(Debug)]
enum Source {
    Poll(Io<mio::net::TcpStream>),
}

impl StreamCore {
    pub(super) fn new(stream: mio::net::TcpStream) -> io::Result<Self> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let io = Io::new(stream, interest, Waiters::one())?;
        Ok(Self {
            source: Source::Poll(io),
        })
    }

    pub(super) fn backend(&self) -> Backend {
        match self.source {
            Source::Poll(_) => Backend::Poll,
        }
    }

    fn io(&self) -> &Io<mio::net::TcpStream> {
        let Source::Poll(io) = &self.source;
        io
    }

    pub(super) fn socket(&self) -> &mio::net::TcpStream {
        self.io().source()
    }

    pub(super) fn into_std(self) -> net::TcpStream {
        let Source::Poll(io) = self.source;
        io.into_source().into()
    }

    /// Waits for the end of the connect that the socket was created with.
    pub(super) fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io()
            .poll_io(cx, Half::Write, WaitKind::Connect, |socket| {
                if let Some(error) = socket.take_error()? {
                    return Err(error);
                }
                match socket.peer_addr() {
                    Ok(_) => Ok(()),
                    // Under way. Linux says so by this code, others by EINVAL.
                    Err(error) if is_unconnected(&error) => Err(io::ErrorKind::WouldBlock.into()),
                    Err(error) => Err(error),
                }
            })
    }

    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.io()
            .poll_io(cx, Half::Read, WaitKind::Read, |mut socket| {
                socket.read(buf)
            })
    }

    pub(super) fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.io()
            .poll_io(cx, Half::Read, WaitKind::Read, |socket| socket.peek(buf))
    }

    pub(super) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io()
            .poll_io(cx, Half::Write, WaitKind::Write, |mut socket| {
                socket.write(buf)
            })
    }

    pub(super) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io()
            .poll_io(cx, Half::Write, WaitKind::Write, |mut socket| {
                socket.write_vectored(bufs)
            })
    }

    pub(super) fn poll_ready(&self, cx: &mut Context<'_>, half: Half) -> Poll<io::Result<()>> {
        let kind = match half {
            Half::Read => WaitKind::Read,
            Half::Write => WaitKind::Write,
        };
        self.io().poll_ready(cx, half, kind)
    }

    pub(super) fn poll_flush(&self) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    pub(super) fn shutdown(&self) -> io::Result<()> {
        match self.socket().shutdown(net::Shutdown::Write) {
            // The connection is over, this direction with it.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }

    pub(super) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io().try_io(Half::Read, |mut socket| socket.read(buf))
    }

    pub(super) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io()
            .try_io(Half::Write, |mut socket| socket.write(buf))
    }

    pub(super) fn read<'a>(&'a self, buf: &'a mut [u8]) -> Read<'a> {
        Read { core: self, buf }
    }

    pub(super) fn peek<'a>(&'a self, buf: &'a mut [u8]) -> Peek<'a> {
        Peek { core: self, buf }
    }

    pub(super) fn write<'a>(&'a self, buf: &'a [u8]) -> Write<'a> {
        Write { core: self, buf }
    }

    pub(super) fn write_vectored<'a>(&'a self, bufs: &'a [IoSlice<'a>]) -> WriteVectored<'a> {
        WriteVectored { core: self, bufs }
    }

    pub(super) fn readable(&self) -> Ready<'_> {
        Ready {
            core: self,
            half: Half::Read,
        }
    }

    pub(super) fn writable(&self) -> Ready<'_> {
        Ready {
            core: self,
            half: Half::Write,
        }
    }

    pub(super) fn flush(&self) -> Flush<'_> {
        Flush { core: self }
    }

    pub(super) fn shutdown_later(&self) -> Shutdown<'_> {
        Shutdown { core: self }
    }

    pub(super) async fn read_exact(&self, buf: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.read(&mut buf[filled..]).await? {
                0 => {
                    let wanted = buf.len();
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        format!("the connection ended after {filled} of {wanted} bytes"),
                    ));
                }
                read => filled += read,
            }
        }
        Ok(())
    }

    pub(super) async fn write_all(&self, buf: &[u8]) -> io::Result<()> {
        let mut rest = buf;
        while !rest.is_empty() {
            match self.write(rest).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => rest = &rest[written..],
            }
        }
        Ok(())
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
