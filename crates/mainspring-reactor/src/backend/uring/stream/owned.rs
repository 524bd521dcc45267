//! The calls with buffers that go in and come back.
//!
//! # Invariants
//!
//! - **ring-owned.home** — while an operation uses a buffer, the buffer is in its future or, when
//!   that was dropped, in the socket: it is never freed, and its bytes never move.

use super::read::{Copy, Look, Taker};
use super::write::FLAGS;
use super::{Gone, Kind, OnWrite, Source, Span, Stream, call, gone, opcode, send, would_block};
use crate::buf::{Adopted, IoBuf, IoBufMut};
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use std::any::Any;
use std::io;
use std::mem::MaybeUninit;
use std::slice;
use std::task::{Context, Poll, ready};

/// How far a read into a caller's buffer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadOwnedState {
    /// Nothing of its own is in flight.
    #[default]
    Idle,
    /// Its receive is.
    Receiving,
}

/// How far a write out of a caller's buffer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WriteOwnedState {
    /// It has not been polled.
    #[default]
    Idle,
    /// It waits for its turn.
    Waiting,
    /// Its send is.
    Sending,
}

/// The room of a buffer.
fn room<B: IoBufMut>(buf: &mut B) -> &mut [MaybeUninit<u8>] {
    let (start, bytes) = (buf.spare_ptr(), buf.spare_len());
    // SAFETY: [buf.stable] the room is the buffer's, which is borrowed as long.
    unsafe { slice::from_raw_parts_mut(start.cast(), bytes) }
}

impl Stream {
    /// Reads into the room of `buf`, and counts it there.
    pub(crate) fn poll_read_owned<B: IoBufMut>(
        &self,
        cx: &mut Context<'_>,
        state: &mut ReadOwnedState,
        buf: &mut B,
    ) -> Poll<io::Result<usize>> {
        if buf.spare_len() == 0 {
            return Poll::Ready(Ok(0));
        }
        let unit = ready!(budget::poll_proceed(cx));
        let mut is_registered = false;
        loop {
            let was = *state;
            let result = match was {
                ReadOwnedState::Receiving => self.take_received(state),
                ReadOwnedState::Idle => self.find_owned(state, buf, is_registered),
            };
            match result {
                Some(Ok(count)) => {
                    // SAFETY: [ring-owned.home] the system, or the copy, has written as many.
                    unsafe { buf.filled(count) };
                    unit.spend();
                    return Poll::Ready(Ok(count));
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                // It has ended with nothing, and nobody would wake: again.
                None if was == ReadOwnedState::Receiving && *state != was => {}
                None if is_registered => {
                    wait::note(WaitKind::Read, self.number());
                    return Poll::Pending;
                }
                None => {
                    // CLAIM: [ring-stream.waiter]
                    self.shared.read.register(cx.waker());
                    is_registered = true;
                }
            }
        }
    }

    /// What is there already; else begins to receive, if the waiter is registered.
    fn find_owned<B: IoBufMut>(
        &self,
        state: &mut ReadOwnedState,
        buf: &mut B,
        is_registered: bool,
    ) -> Option<io::Result<usize>> {
        let mut half = match self.look_for(&mut Copy(room(buf))) {
            Look::Found(result) => return Some(result),
            Look::Wait(mut half) => {
                self.call_after(&mut half);
                return None;
            }
            Look::Idle(half) => half,
        };
        if !is_registered {
            return None;
        }
        let bytes = u32::try_from(buf.spare_len()).unwrap_or(u32::MAX);
        let (fd, start) = (self.fd(), buf.spare_ptr());
        let entry = |_: &_| opcode::Recv::new(fd, start, bytes).build();
        // SAFETY: [ring-owned.home, uring.memory] the room stays where it is: the future keeps the
        // buffer, and hands it to the socket if it is dropped before the end.
        match unsafe { self.begin(&mut half.carrier, Kind::Read, entry) } {
            Ok(()) => {
                half.begin(Source::Owned);
                *state = ReadOwnedState::Receiving;
                None
            }
            Err(Gone) => {
                drop(half);
                // CLAIM: [ring-stream.gone]
                Some(match Copy(room(buf)).receive(self) {
                    Err(error) if would_block(&error) => Err(gone()),
                    result => result,
                })
            }
        }
    }

    /// How the receive has ended, if it has.
    fn take_received(&self, state: &mut ReadOwnedState) -> Option<io::Result<usize>> {
        let mut half = self.read();
        let result = half.take_owned()?;
        *state = ReadOwnedState::Idle;
        match result {
            Ok(count) => Some(Ok(count)),
            Err(libc::ECANCELED | libc::EINTR | libc::EAGAIN) => {
                // Stopped by nobody of ours: once more. If the reactor has gone, that finds out.
                None
            }
            Err(code) => Some(Err(io::Error::from_raw_os_error(code))),
        }
    }

    /// The future of a read is dropped: what its receive brings is the socket's.
    pub(crate) fn leave_read<B: IoBufMut>(&self, state: ReadOwnedState, buf: B) {
        if state == ReadOwnedState::Receiving {
            // CLAIM: [ring-owned.home] allocated before the lock is taken.
            let adopted = Box::new(Adopted::new(buf));
            self.read().leave_owned(adopted);
        }
    }

    /// Writes all of `buf`.
    pub(crate) fn poll_write_owned<B: IoBuf>(
        &self,
        cx: &mut Context<'_>,
        state: &mut WriteOwnedState,
        buf: &B,
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if *state == WriteOwnedState::Idle {
            *state = WriteOwnedState::Waiting;
        }
        let unit = ready!(budget::poll_proceed(cx));
        // One that begins will wait: a look before the waiter is there would be one more.
        let mut is_registered = *state == WriteOwnedState::Waiting;
        if is_registered {
            // CLAIM: [ring-stream.waiter]
            self.shared.write.register(cx.waker());
        }
        loop {
            let mut half = self.write();
            if *state == WriteOwnedState::Sending {
                if let Some(result) = half.take_done() {
                    *state = WriteOwnedState::Idle;
                    drop(half);
                    unit.spend();
                    return Poll::Ready(result.map_err(|code| self.sent_error(code)));
                }
            } else {
                match half.look() {
                    OnWrite::Failed(code) => {
                        return Poll::Ready(Err(self.sent_error(code)));
                    }
                    OnWrite::Idle if is_registered => {
                        let span = Span {
                            start: buf.as_ptr(),
                            bytes: buf.len(),
                        };
                        let (fd, carrier) = (self.fd(), &mut half.carrier);
                        // SAFETY: [ring-owned.home, uring.memory] as for a read.
                        let begun = unsafe { self.begin(carrier, Kind::Write, |_| send(fd, span)) };
                        if begun.is_err() {
                            drop(half);
                            *state = WriteOwnedState::Idle;
                            return Poll::Ready(self.send_without_ring(buf));
                        }
                        half.begin_send(span);
                        *state = WriteOwnedState::Sending;
                    }
                    OnWrite::Idle | OnWrite::Wait => {}
                }
            }
            drop(half);
            if is_registered {
                return self.pending_writer(WaitKind::Write);
            }
            // CLAIM: [ring-stream.waiter]
            self.shared.write.register(cx.waker());
            is_registered = true;
        }
    }

    /// The reactor has gone: what the system has room for is written all the same.
    fn send_without_ring<B: IoBuf>(&self, buf: &B) -> io::Result<usize> {
        // SAFETY: [buf.stable] the bytes are initialised, and borrowed with the buffer.
        let bytes = unsafe { slice::from_raw_parts(buf.as_ptr(), buf.len()) };
        // CLAIM: [ring-stream.gone]
        match call(|| self.socket().send_with_flags(bytes, FLAGS)) {
            Err(error) if would_block(&error) => Err(gone()),
            result => result,
        }
    }

    /// What an error of a send means.
    pub(super) fn sent_error(&self, code: i32) -> io::Error {
        if code == libc::ECANCELED {
            // What is stopped otherwise, goes on.
            return gone();
        }
        io::Error::from_raw_os_error(code)
    }

    /// The future of a write is dropped: polled once, its send runs to its end.
    pub(crate) fn leave_write<B: IoBuf>(&self, state: WriteOwnedState, buf: B) {
        if state == WriteOwnedState::Idle {
            return;
        }
        let span = Span {
            start: buf.as_ptr(),
            bytes: buf.len(),
        };
        // CLAIM: [ring-owned.home] allocated before the lock is taken, dropped after it.
        let buf = Box::new(buf);
        let mut half = self.write();
        let unneeded = match state {
            WriteOwnedState::Waiting if half.is_in_flight() => {
                half.enqueue(span, buf);
                None
            }
            WriteOwnedState::Waiting => {
                let (fd, carrier) = (self.fd(), &mut half.carrier);
                // SAFETY: [ring-owned.home, uring.memory] the half keeps the buffer from here on.
                match unsafe { self.begin(carrier, Kind::Write, |_| send(fd, span)) } {
                    Ok(()) => {
                        half.begin_send(span);
                        half.detach(buf)
                    }
                    Err(Gone) => {
                        half.fail(libc::ECANCELED);
                        Some(buf as Box<dyn Any + Send>)
                    }
                }
            }
            _ => half.detach(buf),
        };
        drop(half);
        drop(unneeded);
    }
}
