//! What a stream's direction of reading owns: what has arrived, and the operation that brings more.
//!
//! Plain data; the lock around it, the waiter and the kernel are `stream`'s.
//!
//! ```text
//!              arm                       completed, and more will come
//!   IDLE ─────────────▶ IN FLIGHT ⟲ ─────────────────────────────────┐
//!    ▲                     │  ▲                                       │
//!    │ completed, the last │  └───────────────────────────────────────┘
//!    └─────────────────────┘
//! ```
//!
//! # Invariants
//!
//! - **read-half.one** — at most one operation is in flight, and none is begun while something that
//!   arrived has not been taken.
//! - **read-half.order** — bytes are handed out in the order in which they arrived, each once; the
//!   end and an error come after them. The end stays, an error is told once.
//! - **read-half.no-overtaking** — the caller makes a system call of its own only while nothing is
//!   in flight and nothing has arrived.
//! - **read-half.buffer** — the number of a provided buffer comes in with a completion that says
//!   F_BUFFER and with no other, and goes out once: to a reader, or back to the pool.
//! - **read-half.bounded** — a reader that does not read stops the operation: what it hoards is
//!   bounded by what was under way by then.

use super::ring::Completed;
use crate::buf::Storage;
use io_uring::cqueue;
use std::collections::VecDeque;

/// How many pieces may wait for a slow reader before the operation is stopped.
const PIECES_MAX: usize = 16;

/// What brings more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Receives, into provided buffers.
    Receive,
    /// A receive into a buffer of the caller's.
    Owned,
    /// A poll: the caller receives by itself.
    Poll,
}

/// Where a piece lies.
pub(crate) enum Body {
    /// In this buffer of the pool's.
    Provided(u16),
    /// In a buffer of a caller's that has lost interest.
    Owned(Box<dyn Storage>),
}

/// Bytes that have arrived.
pub(crate) struct Piece {
    pub(crate) body: Body,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnRead {
    /// Something has arrived: the first piece has it.
    Bytes,
    /// The other side writes no more.
    End,
    /// It failed, with this error of the system's.
    Failed(i32),
    /// Nothing yet; the operation in flight will bring it.
    Wait,
    /// Nothing yet, and nothing in flight.
    Idle,
}

/// What a completion asks for.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "a reader may wait, a buffer may have come back, the operation may have to be stopped"]
pub(crate) struct OnCompleted {
    /// The reader finds something new.
    pub(crate) wakes: bool,
    /// The kernel refers to the operation no more.
    pub(crate) is_last: bool,
    /// Ask the kernel to stop it.
    pub(crate) stops: bool,
    /// The buffer brought nothing: it goes back.
    pub(crate) unused: Option<u16>,
    /// The kernel found no buffer.
    pub(crate) starves: bool,
    /// The kernel does not wait for this socket: somebody has changed its mode.
    pub(crate) is_refused: bool,
}

/// What is in flight.
enum Op {
    None,
    Running { source: Source, is_stopping: bool },
}

/// A caller's buffer into which the kernel receives.
enum Owned {
    /// None, or its future holds it.
    Elsewhere,
    /// Its future was dropped.
    Adopted(Box<dyn Storage>),
    /// The receive has ended, and its future has not looked yet.
    Done(Result<usize, i32>),
}

/// The end of what arrives.
#[derive(Clone, Copy)]
enum End {
    NotYet,
    Ended,
    Failed(i32),
}

/// The direction of reading.
pub(crate) struct ReadHalf {
    first: Option<Piece>,
    more: VecDeque<Piece>,
    op: Op,
    owned: Owned,
    end: End,
    /// The kernel found no buffer the last time.
    is_starved: bool,
}

impl ReadHalf {
    pub(crate) fn new() -> Self {
        Self {
            first: None,
            more: VecDeque::new(),
            op: Op::None,
            owned: Owned::Elsewhere,
            end: End::NotYet,
            is_starved: false,
        }
    }

    /// What there is to read. Tells an error once.
    pub(crate) fn look(&mut self) -> OnRead {
        if self.first.is_some() {
            return OnRead::Bytes;
        }
        match (self.end, &self.op) {
            (End::Ended, _) => OnRead::End,
            (End::Failed(code), _) => {
                self.end = End::NotYet;
                OnRead::Failed(code)
            }
            (End::NotYet, Op::Running { .. }) => OnRead::Wait,
            (End::NotYet, Op::None) => OnRead::Idle,
        }
    }

    /// Whether a reader would not wait, for who only wants to know.
    pub(crate) fn is_ready(&self) -> bool {
        self.first.is_some() || !matches!(self.end, End::NotYet)
    }

    /// What has arrived, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.first.iter().chain(&self.more)
    }

    /// The first piece.
    pub(crate) fn first_mut(&mut self) -> Option<&mut Piece> {
        self.first.as_mut()
    }

    /// Takes the first piece out.
    pub(crate) fn pop(&mut self) -> Option<Piece> {
        let first = self.first.take();
        self.first = self.more.pop_front();
        first
    }

    pub(crate) fn is_starved(&self) -> bool {
        self.is_starved
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        matches!(self.op, Op::Running { .. })
    }

    /// Whether what is in flight would bring more than once, and has not been asked to stop.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(
            self.op,
            Op::Running {
                source: Source::Receive,
                is_stopping: false
            }
        )
    }

    /// An operation begins.
    pub(crate) fn begin(&mut self, source: Source) {
        debug_assert!(!self.is_in_flight(), "read-half.one: two operations");
        debug_assert!(!self.is_ready(), "read-half.one: begun too early");
        debug_assert!(
            !matches!(self.owned, Owned::Adopted(_)),
            "read-half.one: a buffer without its operation"
        );
        self.is_starved = false;
        // Of a receive whose future was forgotten: it says nothing about this one.
        self.owned = Owned::Elsewhere;
        self.op = Op::Running {
            source,
            is_stopping: false,
        };
    }

    /// The operation shall be stopped. Returns whether the kernel has to be asked.
    pub(crate) fn stop(&mut self) -> bool {
        match &mut self.op {
            Op::Running { is_stopping, .. } if !*is_stopping => {
                *is_stopping = true;
                true
            }
            _ => false,
        }
    }

    /// Takes what the kernel says of the operation in.
    pub(crate) fn completed(&mut self, completed: Completed) -> OnCompleted {
        let Op::Running { source, .. } = self.op else {
            debug_assert!(false, "read-half.one: a completion of nothing");
            return OnCompleted::default();
        };
        let mut owes = OnCompleted {
            is_last: !cqueue::more(completed.flags),
            ..OnCompleted::default()
        };
        owes.is_refused = completed.result == -libc::EAGAIN;
        match source {
            Source::Receive => self.received(completed, &mut owes),
            Source::Owned => self.received_owned(completed.result),
            Source::Poll => self.polled(completed.result),
        }
        if owes.is_last {
            self.op = Op::None;
        } else if self.more.len() + 1 >= PIECES_MAX {
            // CLAIM: [read-half.bounded]
            owes.stops = self.stop();
        }
        owes.wakes = owes.is_last || self.is_ready();
        owes
    }

    fn received(&mut self, completed: Completed, owes: &mut OnCompleted) {
        // CLAIM: [read-half.buffer] an error carries no buffer, and says so.
        let buffer = cqueue::buffer_select(completed.flags);
        match (usize::try_from(completed.result), buffer) {
            (Ok(0), buffer) => {
                owes.unused = buffer;
                self.end = End::Ended;
            }
            (Ok(count), Some(buffer)) => self.arrived(Piece {
                body: Body::Provided(buffer),
                start: 0,
                end: count,
            }),
            (Ok(_), None) => debug_assert!(false, "read-half.buffer: bytes without a buffer"),
            (Err(_), buffer) => {
                owes.unused = buffer;
                match -completed.result {
                    libc::ENOBUFS => {
                        owes.starves = true;
                        self.is_starved = true;
                    }
                    code => self.failed(code),
                }
            }
        }
    }

    fn received_owned(&mut self, result: i32) {
        let count = usize::try_from(result).map_err(|_| -result);
        match std::mem::replace(&mut self.owned, Owned::Elsewhere) {
            Owned::Adopted(storage) => self.adopt(storage, count),
            Owned::Elsewhere | Owned::Done(_) => self.owned = Owned::Done(count),
        }
    }

    fn polled(&mut self, result: i32) {
        if result < 0 {
            self.failed(-result);
        }
    }

    fn failed(&mut self, code: i32) {
        match code {
            // Stopped, by us or because the thread that began it has gone; interrupted; not now.
            // Nothing is lost: whoever reads begins it again.
            libc::ECANCELED | libc::EINTR | libc::EAGAIN => {}
            code => self.end = End::Failed(code),
        }
    }

    fn arrived(&mut self, piece: Piece) {
        if self.first.is_none() {
            self.first = Some(piece);
        } else {
            self.more.push_back(piece);
        }
    }

    /// By the future of a receive into a buffer of its own: how that ended, if it has.
    pub(crate) fn take_owned(&mut self) -> Option<Result<usize, i32>> {
        match std::mem::replace(&mut self.owned, Owned::Elsewhere) {
            Owned::Done(result) => Some(result),
            other => {
                self.owned = other;
                None
            }
        }
    }

    /// The future of a receive into a buffer of its own is dropped: its bytes are the socket's.
    /// Returns what has to be dropped, outside the lock.
    pub(crate) fn leave_owned(&mut self, storage: Box<dyn Storage>) {
        match std::mem::replace(&mut self.owned, Owned::Elsewhere) {
            Owned::Done(result) => self.adopt(storage, result),
            _ => self.owned = Owned::Adopted(storage),
        }
    }

    fn adopt(&mut self, storage: Box<dyn Storage>, result: Result<usize, i32>) {
        match result {
            // Kept, although empty: a user's value is not dropped under a lock.
            Ok(count) => {
                if count == 0 {
                    self.end = End::Ended;
                }
                self.arrived(Piece {
                    body: Body::Owned(storage),
                    start: 0,
                    end: count,
                });
            }
            Err(code) => {
                self.failed(code);
                self.arrived(Piece {
                    body: Body::Owned(storage),
                    start: 0,
                    end: 0,
                });
            }
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
