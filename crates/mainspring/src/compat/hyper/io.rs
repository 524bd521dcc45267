//! A stream, as hyper asks for it.
//!
//! # Invariants
//!
//! - **hyper-io.filled** — hyper's buffer is advanced over bytes that were written into it, and
//!   over no others: those that tokio's buffer, which is the same memory, counts as filled.

use hyper::rt::{Read, ReadBufCursor, Write};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Gives a stream hyper's [`Read`] and [`Write`].
///
/// For every stream with tokio's traits: [`TcpStream`](crate::net::TcpStream), and what others wrap
/// around one, such as TLS. Only the traits are tokio's; no runtime of it is started or looked for.
///
/// # Complexity and allocation
///
/// Bytes go from the system into hyper's buffer: there is no other between, that one is not
/// cleared before, and nothing is allocated. Several slices are written in one call.
///
/// ```
/// use mainspring::compat::hyper::Io;
/// use mainspring::net::TcpStream;
///
/// async fn connect() -> std::io::Result<Io<TcpStream>> {
///     let stream = TcpStream::connect("localhost:8080").await?;
///     stream.set_nodelay(true)?;
///     Ok(Io::new(stream))
/// }
/// # let _ = connect;
/// ```
#[derive(Debug)]
pub struct Io<T> {
    stream: T,
}

impl<T> Io<T> {
    /// Wraps `stream`.
    pub fn new(stream: T) -> Self {
        Self { stream }
    }

    /// The stream.
    pub fn stream(&self) -> &T {
        &self.stream
    }

    /// The stream.
    pub fn stream_mut(&mut self) -> &mut T {
        &mut self.stream
    }

    /// Gives the stream back: after an upgrade, say.
    pub fn into_inner(self) -> T {
        self.stream
    }
}

impl<T: AsyncRead + Unpin> Read for Io<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = Pin::new(&mut self.get_mut().stream);
        // SAFETY: [hyper-io.filled] tokio's buffer lets nobody make bytes uninitialized.
        let room = unsafe { cursor.as_mut() };
        let start = room.as_ptr().cast::<u8>();
        let mut buf = ReadBuf::uninit(room);
        ready!(stream.poll_read(cx, &mut buf))?;
        let filled = buf.filled();
        // A stream is safe code, which may put another buffer in this one's place.
        assert!(
            filled.as_ptr() == start,
            "hyper-io.filled: the stream filled a buffer of its own"
        );
        let read = filled.len();
        // SAFETY: [hyper-io.filled] the first `read` bytes of the room are filled, and so written.
        unsafe { cursor.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> Write for Io<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests;
