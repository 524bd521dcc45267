//! A connection that tells what it owes its client, and is closed so that the client gets it.

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

/// How far a connection is, for whoever polls it.
///
/// One task tells, and looks, on whichever thread it is.
#[derive(Default)]
pub(crate) struct Progress {
    /// A request has come, and its answer is being made.
    is_making: AtomicBool,
    /// Something is to be written, and the system has not taken it yet.
    is_writing: AtomicBool,
    /// Everything was written, and the client was told so.
    is_ending: AtomicBool,
    /// The client has sent something after that.
    has_heard: AtomicBool,
}

impl Progress {
    /// Whether an answer is being made or written.
    pub(crate) fn is_answering(&self) -> bool {
        self.is_making.load(Relaxed) || self.is_writing.load(Relaxed)
    }

    /// Whether our direction has ended, and the client's has not.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Relaxed)
    }

    /// Whether the client has sent something after our end, since this was asked last.
    pub(crate) fn has_heard(&self) -> bool {
        self.has_heard.swap(false, Relaxed)
    }

    /// Makes an answer.
    pub(crate) async fn answering<T>(&self, answer: impl Future<Output = T>) -> T {
        self.is_making.store(true, Relaxed);
        let answer = answer.await;
        self.is_making.store(false, Relaxed);
        answer
    }

    fn wrote<T>(&self, result: Poll<T>) -> Poll<T> {
        self.is_writing.store(result.is_pending(), Relaxed);
        result
    }
}

/// A stream whose writes are watched.
///
/// Its end is in two steps: it ends our direction, and then reads, to no purpose, until the client
/// has ended its own. To close a socket that has unread input resets the connection, and what the
/// client has not received by then is lost.
pub(crate) struct Watched<I> {
    stream: I,
    progress: Arc<Progress>,
}

impl<I> Watched<I> {
    pub(crate) fn new(stream: I, progress: Arc<Progress>) -> Self {
        Self { stream, progress }
    }
}

impl<I: Read + Unpin> Read for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, cursor)
    }
}

impl<I: Read + Write + Unpin> Write for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.progress.wrote(result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        self.progress.wrote(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.progress.is_ending.load(Relaxed) {
            let result = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.progress.wrote(result))?;
            self.progress.is_ending.store(true, Relaxed);
        }
        let mut room = [0; 4_096];
        loop {
            let mut buf = ReadBuf::new(&mut room);
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf.unfilled()))?;
            if buf.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.progress.has_heard.store(true, Relaxed);
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.progress.wrote(result)
    }
}
