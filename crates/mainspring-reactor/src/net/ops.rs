//! The futures of a stream's calls that lose nothing when they are dropped.

use super::stream_core::StreamCore;
use crate::backend::poll::Half;
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
    /// Hands over what was written; for TCP that has been done. See
    /// [`TcpStream::flush`](super::TcpStream::flush).
    Flush {} -> (),
    this, _cx => this.core.poll_flush()
}

operation! {
    /// Ends the direction of writing. See [`TcpStream::shutdown`](super::TcpStream::shutdown).
    Shutdown {} -> (),
    this, _cx => Poll::Ready(this.core.shutdown())
}
