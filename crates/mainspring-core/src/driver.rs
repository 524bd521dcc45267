//! "Wait for the outside world until then": the one thing an executor knows about time and I/O.
//!
//! A [`Driver`] lives on one thread and is parked by the worker that owns it, once a turn. Drivers
//! stack: the timer's wraps any other and caps its wait by the next deadline; the reactor's is the
//! innermost that knows I/O. An executor owns one boxed stack per worker, built on the worker's
//! own thread, and never knows what is in it. Whatever other threads need of a driver is in its
//! [`DriverHandle`]. [`ThreadDriver`] is the one that only parks.
//!
//! # Invariants
//!
//! - **driver.clamp** — a wait is computed by [`Until::limit`] and nowhere else: an overdue
//!   deadline waits not at all, and only the absence of every deadline waits for ever.

mod thread;

pub use self::thread::ThreadDriver;

use crate::context::Entered;
use crate::time::Nanos;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long a driver may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Not at all: look at the outside world and come back.
    Now,
    /// Until this moment at the latest. A moment that has passed means [`Now`](Self::Now).
    At(Nanos),
    /// Until something happens or [`DriverHandle::unpark`] is called.
    Forever,
}

impl Until {
    /// The earlier of this and `deadline`: how a driver caps the wait of the one it wraps.
    #[must_use]
    pub fn cap(self, deadline: Option<Nanos>) -> Self {
        match (self, deadline) {
            (until, None) => until,
            (Self::Now, _) => Self::Now,
            (Self::Forever, Some(deadline)) => Self::At(deadline),
            (Self::At(until), Some(deadline)) => Self::At(until.min(deadline)),
        }
    }

    /// How long that is from now on: `None` without a limit, zero for a moment that has passed,
    /// however long ago. The clock is read only for [`At`](Self::At).
    ///
    /// A system call for which a negative or a wrapped wait means "for ever" gets its number from
    /// here.
    #[must_use]
    pub fn limit(self, now: impl FnOnce() -> Nanos) -> Option<Duration> {
        match self {
            Self::Now => Some(Duration::ZERO),
            Self::At(deadline) => {
                let now = now();
                let left = deadline.since(now);
                debug_assert_eq!(left.is_zero(), deadline <= now, "driver.clamp: wrapped");
                Some(left)
            }
            Self::Forever => None,
        }
    }
}

/// What one [`Driver::park`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "`now` is the turn's clock, `woken` says whether there is work"]
pub struct Turn {
    /// The time when the wait ended: the worker's coarse clock for the turn that follows.
    pub now: Nanos,
    /// How many wakers were called.
    pub woken: usize,
}

/// A source of events that a worker waits on.
///
/// # Contract
///
/// - `park` returns when something was woken, when `until` has come, or when the handle was
///   unparked; it may also return early for no reason. It never returns later than `until` by more
///   than the operating system is late.
/// - A call of [`DriverHandle::unpark`] that happens at any time after the last `park` returned
///   makes the next `park` return at once: the notification is remembered, once.
/// - Wakers are called on this thread, inside `park`, with none of the driver's locks held.
/// - A panic of a waker is contained: the panic hook has reported it, everybody else is woken, and
///   `park` (or [`DriverHandle::rescue`], or the driver's drop) goes on as if the waker had
///   returned.
/// - An error is a fault of the operating system. The worker reports it once and goes on; a driver
///   stays usable after returning one. A `park` that panics all the same is taken for one that
///   failed.
pub trait Driver: 'static {
    /// Waits, wakes whoever became ready, and says what time it is.
    ///
    /// # Errors
    ///
    /// What the operating system reported, with what was being done.
    fn park(&mut self, until: Until) -> io::Result<Turn>;

    /// Whether something is ready now, found without entering the kernel. Called once a poll, so
    /// it has to cost a few loads; a false `false` only delays until the end of the turn.
    fn peek(&self) -> bool;

    /// What other threads need of this driver.
    fn handle(&self) -> Arc<dyn DriverHandle>;
}

/// What any thread may ask of a driver.
pub trait DriverHandle: Send + Sync + 'static {
    /// Makes the driver's services current on this thread.
    fn enter(&self) -> Entered;

    /// Makes the current or the next `park` return. Costs a syscall only if the driver sleeps.
    fn unpark(&self);

    /// Serves on behalf of an owner that does not come back: wakes at most `limit` waiters whose
    /// event has happened or whose deadline has passed. Never blocks. Returns how many it woke.
    fn rescue(&self, now: Nanos, limit: usize) -> usize;

    /// A lower bound of the next deadline, if anything is armed.
    fn next(&self) -> Option<Nanos>;

    /// How many operations the operating system owns on behalf of this driver, with their memory:
    /// what goes on if its thread has to be left behind. Never blocks. `None` where that cannot be
    /// said, which is the answer unless told otherwise; zero is an answer, too.
    fn in_flight(&self) -> Option<usize> {
        None
    }
}
