//! With readiness: what is left of a send whose future was dropped.
//!
//! The system has no operation that goes on by itself, so whoever writes, flushes or shuts down
//! next sends the rest first.
//!
//! # Invariants
//!
//! - **unsent.first** — nothing is written before what was handed over by value earlier.
//! - **unsent.told** — its error is told once, to whoever comes next in that direction.

use crate::backend::poll::{Half, Io};
use crate::buf::IoBuf;
use mainspring_core::sync::Mutex;
use mainspring_core::wait::WaitKind;
use std::fmt;
use std::io::{self, Write};
use std::slice;
use std::task::{Context, Poll};

/// The rest of one buffer, or nothing.
pub(super) struct Unsent(Mutex<Option<Rest>>);

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
    pub(super) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Keeps the rest of a buffer. There is none: whoever wrote it has waited for the one before.
    pub(super) fn keep<B: IoBuf>(&self, buf: B, sent: usize) {
        let rest = Rest {
            buf: Box::new(buf),
            sent,
        };
        let before = self.0.lock().replace(rest);
        debug_assert!(before.is_none(), "unsent.first: two rests");
        drop(before);
    }

    /// Sends the rest, and waits until that is done.
    pub(super) fn poll(
        &self,
        cx: &mut Context<'_>,
        io: &Io<mio::net::TcpStream>,
    ) -> Poll<io::Result<()>> {
        let Some(mut rest) = self.0.lock().take() else {
            return Poll::Ready(Ok(()));
        };
        let result = io.poll_io(cx, Half::Write, WaitKind::Write, |socket| rest.send(socket));
        if result.is_pending() {
            *self.0.lock() = Some(rest);
        }
        // CLAIM: [unsent.told] on an error the rest goes.
        result
    }

    /// Sends what there is room for. `WouldBlock` if that is not all.
    pub(super) fn try_send(&self, io: &Io<mio::net::TcpStream>) -> io::Result<()> {
        let Some(mut rest) = self.0.lock().take() else {
            return Ok(());
        };
        let result = io.try_io(Half::Write, |socket| rest.send(socket));
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            *self.0.lock() = Some(rest);
        }
        result
    }

    /// Sends what there is room for, for nobody to be told.
    pub(super) fn send_now(&self, io: &Io<mio::net::TcpStream>) {
        let _ = self.try_send(io);
    }
}

impl Rest {
    fn send(&mut self, mut socket: &mio::net::TcpStream) -> io::Result<()> {
        while self.sent < self.buf.bytes().len() {
            // CLAIM: [unsent.first] a call that runs dry is made again later.
            match socket.write(&self.buf.bytes()[self.sent..])? {
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
