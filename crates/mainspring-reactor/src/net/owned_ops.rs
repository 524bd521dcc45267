//! The futures of a stream's calls with buffers that go in and come back.

use super::stream_core::{Source, StreamCore, receive, send};
use super::unsent::bytes_of;
use crate::backend::poll::Half;
use crate::backend::uring::{ReadOwnedState, WriteOwnedState};
use crate::buf::{IoBuf, IoBufMut};
use mainspring_core::CancelSafe;
use mainspring_core::wait::WaitKind;
use std::fmt;
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::slice;
use std::task::{Context, Poll, ready};

const TAKEN: &str = "MS0017: a future was polled after its end (docs/errors.md)";

/// Reads into a buffer that comes back. See
/// [`TcpStream::read_owned`](super::TcpStream::read_owned).
///
/// # Cancel safety
///
/// *Safe* for the bytes: dropped before it is ready it gives the buffer up, and what arrives in it
/// is there for the next read. Forgotten instead of dropped (`mem::forget`), after a poll, it loses
/// on the ring what has arrived in it, or does: the buffer is forgotten with it.
#[must_use = "futures do nothing unless polled"]
pub struct ReadOwned<'a, B: IoBufMut> {
    core: &'a StreamCore,
    buf: Option<B>,
    state: ReadOwnedState,
}

impl<'a, B: IoBufMut> ReadOwned<'a, B> {
    pub(super) fn new(core: &'a StreamCore, buf: B) -> Self {
        Self {
            core,
            buf: Some(buf),
            state: ReadOwnedState::default(),
        }
    }
}

impl<B: IoBufMut> CancelSafe for ReadOwned<'_, B> {}

impl<B: IoBufMut> Future for ReadOwned<'_, B> {
    type Output = (io::Result<usize>, B);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let buf = this.buf.as_mut().expect(TAKEN);
        let result = ready!(match this.core.source() {
            Source::Poll { io, .. } if buf.spare_len() > 0 => {
                io.poll_io(cx, Half::Read, WaitKind::Read, |socket| {
                    let (start, bytes) =
                        (buf.spare_ptr().cast::<MaybeUninit<u8>>(), buf.spare_len());
                    // SAFETY: [buf.stable] the room is the buffer's, which is borrowed as long.
                    let room = unsafe { slice::from_raw_parts_mut(start, bytes) };
                    let count = receive(socket, room, 0)?;
                    // SAFETY: [net.received] the system has written as many bytes.
                    unsafe { buf.filled(count) };
                    Ok(count)
                })
            }
            Source::Poll { .. } => Poll::Ready(Ok(0)),
            Source::Ring(stream) => stream.poll_read_owned(cx, &mut this.state, buf),
        });
        Poll::Ready((result, this.buf.take().expect(TAKEN)))
    }
}

impl<B: IoBufMut> Drop for ReadOwned<'_, B> {
    fn drop(&mut self) {
        if let (Some(buf), Source::Ring(stream)) = (self.buf.take(), self.core.source()) {
            stream.leave_read(self.state, buf);
        }
    }
}

/// Writes all of a buffer that comes back. See
/// [`TcpStream::write_owned`](super::TcpStream::write_owned).
///
/// # Cancel safety
///
/// *Not restartable*: from its first poll on it is on its way, behind earlier ones that were
/// dropped, and dropping it changes nothing of that.
#[must_use = "futures do nothing unless polled"]
pub struct WriteOwned<'a, B: IoBuf> {
    core: &'a StreamCore,
    buf: Option<B>,
    state: WriteOwnedState,
    /// With readiness: it has been polled.
    is_polled: bool,
    /// With readiness: it has its turn, and this much has been written.
    written: Option<usize>,
}

impl<'a, B: IoBuf> WriteOwned<'a, B> {
    pub(super) fn new(core: &'a StreamCore, buf: B) -> Self {
        Self {
            core,
            buf: Some(buf),
            state: WriteOwnedState::default(),
            is_polled: false,
            written: None,
        }
    }

    /// With readiness: writes until all is written.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Source::Poll { io, unsent } = self.core.source() else {
            return Poll::Ready(Ok(0));
        };
        let buf = self.buf.as_ref().expect(TAKEN);
        self.is_polled = true;
        if self.written.is_none() {
            ready!(unsent.poll(cx, io))?;
        }
        let written = self.written.get_or_insert(0);
        loop {
            let rest = &bytes_of(buf)[*written..];
            if rest.is_empty() {
                return Poll::Ready(Ok(*written));
            }
            let result = ready!(io.poll_io(cx, Half::Write, WaitKind::Write, |socket| {
                send(socket, rest)
            }));
            match result {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(more) => *written += more,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<B: IoBuf> Future for WriteOwned<'_, B> {
    type Output = (io::Result<usize>, B);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let result = ready!(match this.core.source() {
            Source::Poll { .. } => this.poll_written(cx),
            Source::Ring(stream) => {
                let buf = this.buf.as_ref().expect(TAKEN);
                stream.poll_write_owned(cx, &mut this.state, buf)
            }
        });
        Poll::Ready((result, this.buf.take().expect(TAKEN)))
    }
}

impl<B: IoBuf> Drop for WriteOwned<'_, B> {
    fn drop(&mut self) {
        let Some(buf) = self.buf.take() else { return };
        match self.core.source() {
            Source::Ring(stream) => stream.leave_write(self.state, buf),
            Source::Poll { unsent, .. } if self.is_polled => {
                unsent.keep(buf, self.written.unwrap_or(0));
            }
            Source::Poll { .. } => {}
        }
    }
}

impl<B: IoBufMut> fmt::Debug for ReadOwned<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOwned")
            .field("stream", self.core)
            .finish_non_exhaustive()
    }
}

impl<B: IoBuf> fmt::Debug for WriteOwned<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOwned")
            .field("stream", self.core)
            .finish_non_exhaustive()
    }
}
