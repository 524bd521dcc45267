//! With readiness: what is left of a send whose future was dropped.
//!
//! The system has no operation that goes on by itself, so whoever writes, flushes or shuts down
//! next sends the rest first.
//!
//! # Invariants
//!
//! - **unsent.fd** — the descriptor that a rest belongs to outlives it.
//! - **unsent.first** — nothing is written before what was handed over by value earlier.
//! - **unsent.cut** — bytes that were handed over and are thrown away with the stream are no clean
//!   end: the other side gets a reset.
//! - **unsent.told** — its error is told once, to whoever comes next in that direction.

use super::stream_core::send;
use crate::backend::poll::{Half, Io};
use crate::buf::IoBuf;
use mainspring_core::sync::Mutex;
use mainspring_core::wait::WaitKind;
use socket2::SockRef;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::slice;
use std::task::{Context, Poll};
use std::time::Duration;

/// The rests of buffers, in order.
pub(super) struct Unsent {
    rests: Mutex<VecDeque<Rest>>,
    number: Number,
}

/// How the system calls the socket.
#[cfg(unix)]
type Number = std::os::fd::RawFd;
#[cfg(windows)]
type Number = std::os::windows::io::RawSocket;

struct Rest {
    buf: Box<dyn Bytes>,
    sent: usize,
}

/// Memory whose type is forgotten.
trait Bytes: Send {
    fn bytes(&self) -> &[u8];
}

impl<B: IoBuf> Bytes for B {
    fn bytes(&self) -> &[u8] {
        bytes_of(self)
    }
}

/// The bytes of a buffer.
pub(super) fn bytes_of<B: IoBuf>(buf: &B) -> &[u8] {
    // SAFETY: [buf.stable] the bytes are initialised, and borrowed with the buffer.
    unsafe { slice::from_raw_parts(buf.as_ptr(), buf.len()) }
}

impl Unsent {
    /// Of the socket with this number, which outlives it.
    pub(super) fn new(number: Number) -> Self {
        Self {
            rests: Mutex::new(VecDeque::new()),
            number,
        }
    }

    /// Keeps the rest of a buffer.
    pub(super) fn keep<B: IoBuf>(&self, buf: B, sent: usize) {
        let rest = Rest {
            buf: Box::new(buf),
            sent,
        };
        self.rests.lock().push_back(rest);
    }

    /// Sends the rests, and waits until that is done.
    pub(super) fn poll(
        &self,
        cx: &mut Context<'_>,
        io: &Io<mio::net::TcpStream>,
    ) -> Poll<io::Result<()>> {
        loop {
            let rest = self.rests.lock().pop_front();
            let Some(mut rest) = rest else {
                return Poll::Ready(Ok(()));
            };
            let result = io.poll_io(cx, Half::Write, WaitKind::Write, |socket| rest.send(socket));
            match result {
                Poll::Ready(Ok(())) => {}
                // CLAIM: [unsent.told] on an error the rest goes.
                Poll::Ready(error) => return Poll::Ready(error),
                Poll::Pending => {
                    self.rests.lock().push_front(rest);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Sends what there is room for. `WouldBlock` if that is not all.
    pub(super) fn try_send(&self, io: &Io<mio::net::TcpStream>) -> io::Result<()> {
        loop {
            let rest = self.rests.lock().pop_front();
            let Some(mut rest) = rest else { return Ok(()) };
            if let Err(error) = io.try_io(Half::Write, |socket| rest.send(socket)) {
                if error.kind() == io::ErrorKind::WouldBlock {
                    self.rests.lock().push_front(rest);
                }
                return Err(error);
            }
        }
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        if !self.rests.lock().is_empty() {
            // CLAIM: [unsent.cut] if the system refuses, there is nothing better to do.
            let _ = SockRef::from(&borrow(self.number)).set_linger(Some(Duration::ZERO));
        }
    }
}

#[cfg(unix)]
fn borrow<'s>(number: Number) -> std::os::fd::BorrowedFd<'s> {
    // SAFETY: [unsent.fd] it is open as long as there are rests.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(number) }
}

#[cfg(windows)]
fn borrow<'s>(number: Number) -> std::os::windows::io::BorrowedSocket<'s> {
    // SAFETY: [unsent.fd] it is open as long as there are rests.
    unsafe { std::os::windows::io::BorrowedSocket::borrow_raw(number) }
}

impl Rest {
    fn send(&mut self, socket: &mio::net::TcpStream) -> io::Result<()> {
        while self.sent < self.buf.bytes().len() {
            // CLAIM: [unsent.first] a call that runs dry is made again later.
            match send(socket, &self.buf.bytes()[self.sent..])? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                sent => self.sent += sent,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsent").finish_non_exhaustive()
    }
}
