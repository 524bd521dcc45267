//! What a stream's direction of writing owns: the operation in flight, and what became of those
//! that nobody waits for.
//!
//! Plain data; the lock around it, the waiter and the kernel are `stream`'s.
//!
//! # Invariants
//!
//! - **write-half.one** — at most one operation is in flight; the caller makes a system call of its
//!   own only while none is.
//! - **write-half.whole** — a send ends when all of its bytes are with the kernel, or with an
//!   error; what a short count leaves is sent before anything else.
//! - **write-half.kept** — the buffer of a send whose future was dropped is kept until the send has
//!   ended.
//! - **write-half.queued** — sends whose futures were dropped before their turn follow in order,
//!   and before anything that is written later: while some wait, one is in flight.
//! - **write-half.left** — a send whose ring has closed is with nobody, and goes on from where it
//!   ended before anything else happens in this direction; it has failed only if no ring takes it,
//!   or if nobody will come.
//! - **write-half.told** — the error of a send that nobody waits for is told once, to whoever
//!   writes, flushes or shuts down next.

use super::ring::Completed;
use std::any::Any;
use std::collections::VecDeque;

/// Memory that a send reads out of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: *const u8,
    pub(crate) bytes: usize,
}

// SAFETY: [write-half.kept] an address, which is read by the kernel alone.
unsafe impl Send for Span {}

/// What a writer finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnWrite {
    /// Nothing is in flight.
    Idle,
    /// Something is.
    Wait,
    /// A send that nobody waited for has failed, with this error of the system's.
    Failed(i32),
}

/// What a completion asks for.
#[must_use = "a writer may wait, the rest may have to be sent, a buffer may have to be dropped"]
pub(crate) struct OnSent {
    /// The writer finds something new.
    pub(crate) wakes: bool,
    /// The kernel refers to the operation no more.
    pub(crate) is_last: bool,
    /// Send this, with the reference of the operation that has ended.
    pub(crate) rest: Option<Span>,
    /// To be dropped outside the lock.
    pub(crate) garbage: Option<Box<dyn Any + Send>>,
    /// End the direction of writing now.
    pub(crate) shuts_down: bool,
    /// The kernel does not wait for this socket: somebody has changed its mode.
    pub(crate) is_refused: bool,
}

/// A send whose turn has not come.
struct Queued {
    span: Span,
    buf: Box<dyn Any + Send>,
}

/// What is in flight.
enum Op {
    None,
    /// A poll for room, or for the end of a connect.
    Poll,
    Send {
        /// What is not sent yet.
        rest: Span,
        sent: usize,
        /// Its future was dropped.
        is_detached: bool,
    },
}

/// The direction of writing.
pub(crate) struct WriteHalf {
    op: Op,
    /// Asked to stop.
    is_stopping: bool,
    /// The ring of the send has closed, and nobody has begun the rest.
    is_left: bool,
    /// How the send ended whose future has not looked yet.
    done: Option<Result<usize, i32>>,
    /// The buffer of a send whose future was dropped.
    kept: Option<Box<dyn Any + Send>>,
    /// Sends that nobody waits for, in front of whom something is in flight.
    queue: VecDeque<Queued>,
    failed: Option<i32>,
    /// End the direction when the send has ended.
    shuts_down: bool,
}

impl WriteHalf {
    pub(crate) fn new() -> Self {
        Self {
            op: Op::None,
            is_stopping: false,
            is_left: false,
            done: None,
            kept: None,
            queue: VecDeque::new(),
            failed: None,
            shuts_down: false,
        }
    }

    /// Whether something can be written. Tells an error once.
    pub(crate) fn look(&mut self) -> OnWrite {
        match (&self.op, self.failed.take()) {
            (Op::None, Some(code)) => OnWrite::Failed(code),
            (Op::None, None) => OnWrite::Idle,
            (_, failed) => {
                self.failed = failed;
                OnWrite::Wait
            }
        }
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        !matches!(self.op, Op::None)
    }

    /// Whether bytes are on their way.
    pub(crate) fn is_sending(&self) -> bool {
        matches!(self.op, Op::Send { .. }) || !self.queue.is_empty()
    }

    /// Whether the future of the send in flight is there.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(
            self.op,
            Op::Send {
                is_detached: false,
                ..
            }
        )
    }

    /// The ring of a send has closed. Returns whether the rest waits for who comes next.
    #[must_use = "otherwise it has failed"]
    pub(crate) fn leave(&mut self) -> bool {
        debug_assert!(self.is_sending(), "write-half.left: nothing is left over");
        self.is_left = !self.shuts_down;
        self.is_left
    }

    /// Whether a send is left, its ring having closed.
    #[inline]
    pub(crate) fn is_left(&self) -> bool {
        self.is_left
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> Option<Span> {
        match self.op {
            Op::Send { rest, .. } if self.is_left => Some(rest),
            _ => None,
        }
    }

    /// What was left is in flight again, or is given up.
    pub(crate) fn taken_up(&mut self) {
        self.is_left = false;
    }

    /// A send whose future was dropped waits for what is in flight.
    pub(crate) fn enqueue(&mut self, span: Span, buf: Box<dyn Any + Send>) {
        debug_assert!(
            self.is_in_flight(),
            "write-half.queued: nobody would begin it"
        );
        self.queue.push_back(Queued { span, buf });
    }

    /// The stream goes: nothing more is begun. Returns whether the kernel has to be asked to stop
    /// what is in flight, and what has to be dropped outside the lock.
    pub(crate) fn close(&mut self) -> (bool, Vec<Box<dyn Any + Send>>) {
        let unsent = self.queue.drain(..).map(|queued| queued.buf).collect();
        (self.stop(), unsent)
    }

    /// A send could not be begun, for a reason that whoever comes next is told.
    pub(crate) fn fail(&mut self, code: i32) {
        self.failed.get_or_insert(code);
    }

    /// A poll begins.
    pub(crate) fn begin_poll(&mut self) {
        debug_assert!(!self.is_in_flight(), "write-half.one: two operations");
        self.op = Op::Poll;
    }

    /// A send begins.
    pub(crate) fn begin_send(&mut self, span: Span) {
        debug_assert!(!self.is_in_flight(), "write-half.one: two operations");
        // Of a send whose future was forgotten: it says nothing about this one.
        if let Some(Err(code)) = self.done.take() {
            self.failed.get_or_insert(code);
        }
        self.op = Op::Send {
            rest: span,
            sent: 0,
            is_detached: false,
        };
    }

    /// The operation shall be stopped. Returns whether the kernel has to be asked.
    pub(crate) fn stop(&mut self) -> bool {
        let asks = self.is_in_flight() && !self.is_left && !self.is_stopping;
        self.is_stopping |= asks;
        asks
    }

    /// End the direction as soon as nothing is being sent. Returns whether that is now.
    pub(crate) fn shut_down_later(&mut self) -> bool {
        self.shuts_down = self.is_sending();
        !self.shuts_down
    }

    /// Takes what the kernel says of the operation in.
    pub(crate) fn completed(&mut self, completed: Completed) -> OnSent {
        let mut owes = OnSent {
            wakes: true,
            is_last: true,
            rest: None,
            garbage: None,
            shuts_down: false,
            is_refused: completed.result == -libc::EAGAIN,
        };
        let result = usize::try_from(completed.result).map_err(|_| -completed.result);
        match &mut self.op {
            Op::None => debug_assert!(false, "write-half.one: a completion of nothing"),
            // Whatever it says: the next call finds out.
            Op::Poll => {}
            Op::Send { rest, sent, .. } => {
                if let Some(more) = go_on(rest, sent, result, self.is_stopping) {
                    // CLAIM: [write-half.whole]
                    owes.rest = Some(more);
                    owes.wakes = false;
                    owes.is_last = false;
                    return owes;
                }
                self.ended(result.err(), &mut owes);
            }
        }
        self.op = Op::None;
        self.is_stopping = false;
        if let Some(Queued { span, buf }) = self.queue.pop_front() {
            // CLAIM: [write-half.queued]
            self.begin_send(span);
            let unneeded = self.detach(buf);
            debug_assert!(unneeded.is_none(), "write-half.kept: it has begun");
            owes.rest = Some(span);
            owes.is_last = false;
        }
        owes
    }

    fn ended(&mut self, error: Option<i32>, owes: &mut OnSent) {
        let Op::Send {
            sent, is_detached, ..
        } = self.op
        else {
            return;
        };
        // What has been sent, has: the error is the next one's.
        let result = match error {
            Some(code) if sent == 0 => Err(code),
            _ => Ok(sent),
        };
        if is_detached {
            owes.garbage = self.kept.take();
            self.failed = error.or(self.failed);
        } else {
            self.done = Some(result);
            self.failed = error.filter(|_| sent > 0).or(self.failed);
        }
        owes.shuts_down = self.queue.is_empty() && std::mem::take(&mut self.shuts_down);
    }

    /// By the future of a send: how that ended, if it has.
    pub(crate) fn take_done(&mut self) -> Option<Result<usize, i32>> {
        self.done.take()
    }

    /// The future of a send is dropped. Returns the buffer if nobody needs it any more.
    pub(crate) fn detach(&mut self, buf: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        if let Some(done) = self.done.take() {
            // CLAIM: [write-half.told]
            if let Err(code) = done {
                self.failed = Some(code);
            }
            return Some(buf);
        }
        match &mut self.op {
            Op::Send { is_detached, .. } => {
                // CLAIM: [write-half.kept]
                *is_detached = true;
                self.kept = Some(buf);
                None
            }
            Op::None | Op::Poll => Some(buf),
        }
    }
}

/// What is left to send after `result`, if the send goes on.
fn go_on(
    rest: &mut Span,
    sent: &mut usize,
    result: Result<usize, i32>,
    is_stopping: bool,
) -> Option<Span> {
    match result {
        Ok(count) => {
            let count = count.min(rest.bytes);
            *sent += count;
            // SAFETY: [write-half.kept] at most the end of the memory.
            rest.start = unsafe { rest.start.add(count) };
            rest.bytes -= count;
            // Nothing at all: it would not end.
            (rest.bytes > 0 && count > 0 && !is_stopping).then_some(*rest)
        }
        // Interrupted, or stopped by nobody of ours: the thread that began it has gone.
        Err(libc::EINTR | libc::EAGAIN | libc::ECANCELED) => (!is_stopping).then_some(*rest),
        Err(_) => None,
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
