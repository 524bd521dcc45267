//! The calls in the direction of writing, on the caller's slices: a system call that does not wait,
//! and a poll in the ring when there is no room.

use super::{
    Completed, Gone, Kind, Locked, OnWrite, Stream, WriteHalf, call, gone, opcode, send,
    would_block,
};
use crate::backend::poll::Half;
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use socket2::Socket;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::task::{Context, Poll, ready};

/// Without waiting, and without a signal when the other side has gone.
pub(super) const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

impl Stream {
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_call(cx, WaitKind::Write, |socket| {
            socket.send_with_flags(buf, FLAGS)
        })
    }

    pub(crate) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_call(cx, WaitKind::Write, |socket| {
            socket.send_vectored_with_flags(bufs, FLAGS)
        })
    }

    pub(crate) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        let mut half = self.write();
        match half.look() {
            OnWrite::Failed(code) => Err(self.sent_error(code)),
            OnWrite::Wait => Err(io::ErrorKind::WouldBlock.into()),
            OnWrite::Idle => {
                drop(half);
                call(|| self.socket().send_with_flags(buf, FLAGS))
            }
        }
    }

    /// Waits until a write would not.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_call(cx, WaitKind::Write, |_| match self.is_there(Half::Write) {
            Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        })
    }

    /// Waits until everything that was handed over by value is with the system.
    pub(crate) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut half = self.write();
        if !half.is_sending() {
            // Most of the time. A write that was dropped may have left a poll for room in flight:
            // it has handed nothing over.
            return Poll::Ready(match half.look() {
                OnWrite::Failed(code) => Err(self.sent_error(code)),
                OnWrite::Idle | OnWrite::Wait => Ok(()),
            });
        }
        drop(half);
        self.poll_call(cx, WaitKind::Write, |_| Ok(()))
    }

    /// As `poll_flush`, and then ends the direction.
    pub(crate) fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush(cx))?;
        Poll::Ready(self.shut_down())
    }

    /// Ends the direction as soon as nothing is being sent.
    pub(crate) fn shut_down_later(&self) {
        if self.write().shut_down_later() {
            // Nobody is there to be told; the reader will see how the connection is.
            let _ = self.shut_down();
        }
    }

    fn shut_down(&self) -> io::Result<()> {
        match self.socket().shutdown(Shutdown::Write) {
            // The connection is over, this direction with it.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }

    /// Makes `attempt` as soon as nothing is in flight and it does not run dry.
    pub(crate) fn poll_call<R>(
        &self,
        cx: &mut Context<'_>,
        kind: WaitKind,
        mut attempt: impl FnMut(&Socket) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let unit = ready!(budget::poll_proceed(cx));
        let mut is_registered = false;
        loop {
            let found = self.write().look();
            let result = match found {
                OnWrite::Failed(code) => Err(self.sent_error(code)),
                // CLAIM: [write-half.one]
                OnWrite::Idle => call(|| attempt(self.socket())),
                OnWrite::Wait if is_registered => return self.pending_writer(kind),
                OnWrite::Wait => Err(io::ErrorKind::WouldBlock.into()),
            };
            match result {
                Err(error) if would_block(&error) => {}
                result => {
                    unit.spend();
                    return Poll::Ready(result);
                }
            }
            if !is_registered {
                // CLAIM: [ring-stream.waiter] then a last look, or the operation.
                self.shared.write.register(cx.waker());
                is_registered = true;
            }
            let half = self.write();
            if half.is_in_flight() {
                continue;
            }
            match self.begin_polling_out(half) {
                Ok(half) => drop(half),
                Err(Gone) => return Poll::Ready(Err(gone())),
            }
            return self.pending_writer(kind);
        }
    }

    pub(super) fn pending_writer<R>(&self, kind: WaitKind) -> Poll<R> {
        wait::note(kind, self.number());
        Poll::Pending
    }

    fn begin_polling_out<'h>(
        &self,
        mut half: Locked<'h, WriteHalf>,
    ) -> Result<Locked<'h, WriteHalf>, Gone> {
        let fd = self.fd();
        let entry = |_: &_| opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
        // SAFETY: [uring.memory] it points to nothing.
        unsafe { self.begin(&mut half.carrier, Kind::Write, entry) }?;
        // CLAIM: [ring-stream.begun] under the lock that the completion takes.
        half.begin_poll();
        Ok(half)
    }

    /// Begins what is left of a send whose ring has closed. If no ring takes it, it has failed, and
    /// so has what waits behind it.
    #[cold]
    pub(super) fn take_up<'h>(&'h self, mut half: Locked<'h, WriteHalf>) -> Locked<'h, WriteHalf> {
        let fd = self.fd();
        while let Some(rest) = half.left() {
            // SAFETY: [uring.memory, write-half.kept] as when it was begun for the first time.
            let begun = unsafe { self.begin(&mut half.carrier, Kind::Write, |_| send(fd, rest)) };
            half.taken_up();
            if begun.is_ok() {
                break;
            }
            half.stop();
            let owes = half.completed(Completed {
                data: 0,
                result: -libc::ECANCELED,
                flags: 0,
            });
            let follows = owes.rest.is_none() || half.leave();
            debug_assert!(follows, "write-half.left: nobody comes, and somebody has");
            drop(half);
            drop(owes);
            half = self.shared.write.lock();
        }
        half
    }
}
