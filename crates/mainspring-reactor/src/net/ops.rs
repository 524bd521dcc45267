//! The futures of a stream's calls that lose nothing when they are dropped.

use super::stream_core::StreamCore;
use crate::backend::poll::Half;
use crate::buf::PooledBuf;
use mainspring_core::CancelSafe;
use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// One future: its fields beside the stream, and its poll.
macro_rules! operation {
    (
        $(#[$doc:meta])*
        $name:ident { $($field:ident: $t:ty),* } -> $output:ty,
        $this:ident, $cx:ident => $poll:expr
    ) => {
        $(#[$doc])*
        ///
        /// # Cancel safety
        ///
        /// *Safe*: dropped before it is ready it has done nothing, and what arrives meanwhile is
        /// there for the next call.
        #[must_use = "futures do nothing unless polled"]
        pub struct $name<'a> {
            pub(super) core: &'a StreamCore,
            $(pub(super) $field: $t,)*
        }

        impl Future for $name<'_> {
            type Output = io::Result<$output>;

            fn poll(self: Pin<&mut Self>, $cx: &mut Context<'_>) -> Poll<Self::Output> {
                let $this = self.get_mut();
                $poll
            }
        }

        impl CancelSafe for $name<'_> {}

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("stream", self.core)
                    .finish_non_exhaustive()
            }
        }
    };
}

operation! {
    /// Reads what is there, once something is. See [`TcpStream::read`](super::TcpStream::read).
    Read { buf: &'a mut [u8] } -> usize,
    this, cx => this.core.poll_read(cx, this.buf)
}

operation! {
    /// Lends what is there, once something is. See
    /// [`TcpStream::recv_pooled`](super::TcpStream::recv_pooled).
    RecvPooled {} -> PooledBuf,
    this, cx => this.core.poll_recv_pooled(cx)
}

operation! {
    /// Looks at what is there, once something is. See
    /// [`TcpStream::peek`](super::TcpStream::peek).
    Peek { buf: &'a mut [u8] } -> usize,
    this, cx => this.core.poll_peek(cx, this.buf)
}

operation! {
    /// Writes what there is room for, once there is some. See
    /// [`TcpStream::write`](super::TcpStream::write).
    Write { buf: &'a [u8] } -> usize,
    this, cx => this.core.poll_write(cx, this.buf)
}

operation! {
    /// Writes what there is room for out of several slices. See
    /// [`TcpStream::write_vectored`](super::TcpStream::write_vectored).
    WriteVectored { bufs: &'a [IoSlice<'a>] } -> usize,
    this, cx => this.core.poll_write_vectored(cx, this.bufs)
}

operation! {
    /// Waits until a call in one direction may get somewhere. See
    /// [`TcpStream::readable`](super::TcpStream::readable).
    Ready { half: Half } -> (),
    this, cx => this.core.poll_ready(cx, this.half)
}

operation! {
    /// Waits until what was written is with the system. See
    /// [`TcpStream::flush`](super::TcpStream::flush).
    Flush {} -> (),
    this, cx => this.core.poll_flush(cx)
}

operation! {
    /// Ends the direction of writing. See [`TcpStream::shutdown`](super::TcpStream::shutdown).
    Shutdown {} -> (),
    this, cx => this.core.poll_shutdown(cx)
}

impl StreamCore {
    pub(super) fn read<'a>(&'a self, buf: &'a mut [u8]) -> Read<'a> {
        Read { core: self, buf }
    }

    pub(super) fn recv_pooled(&self) -> RecvPooled<'_> {
        RecvPooled { core: self }
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

    pub(super) fn shutdown(&self) -> Shutdown<'_> {
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
