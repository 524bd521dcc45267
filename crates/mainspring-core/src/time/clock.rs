//! Clocks, and which of them is current.
//!
//! | clock | what it reads | costs about | never goes back |
//! |---|---|---|---|
//! | [`SystemClock`] | the operating system's monotonic clock | 23 ns | as the system's |
//! | [`FastClock`] | the processor's counter, where the kernel trusts it too | 10 ns | per thread |
//! | [`TurnClock`] | when the worker's turn began | 1 ns | per thread |
//! | [`ManualClock`] | what was set | 1 ns | may be set back |
//!
//! All of them count from one origin, one second before the first reading of the process, so that
//! their readings can be compared and [`Nanos::ZERO`] is never the time.

mod fast;
mod manual;

pub use self::fast::FastClock;
pub use self::manual::ManualClock;

use super::{Nanos, domain};
use crate::context::{Entered, Slot};
use crate::poll;
use crate::sync::thread_local;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Something that tells the time.
///
/// # Contract
///
/// A clock may be read from any thread. Successive reads on one thread never go back, except those
/// of a clock that somebody sets back on purpose; a caller that compares readings of two threads,
/// or of two clocks, saturates instead of wrapping.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Nanos;
}

thread_local! {
    static CLOCK: Slot<dyn Clock> = const { Slot::new() };
}

/// The time now: by the clock that was entered on this thread if there is one, else by that of the
/// thread's [`Domain`](super::Domain) if it was ever stopped, else by [`FastClock`].
///
/// For decisions that threads share. Where a reading up to one turn old will do, [`coarse`] costs a
/// tenth.
#[inline]
#[must_use]
pub fn now() -> Nanos {
    CLOCK.with(|slot| slot.with(|clock| clock.map_or_else(read, Clock::now)))
}

/// The time when the turn under way on this thread began, or [`now`] where no worker of ours runs.
///
/// At most one turn old, and never ahead of [`now`] on the same thread.
#[inline]
#[must_use]
pub fn coarse() -> Nanos {
    let turn = poll::turn_now();
    if turn == Nanos::ZERO { now() } else { turn }
}

/// Reads the time as [`now`] does, but from the operating system, and ties this thread's fast clock
/// to that reading.
///
/// A driver calls it where a wait ends, once a turn: the time it returns is exact, and the fast
/// clock cannot drift for longer than a turn. Under an entered clock it only reads that one, and
/// where the clock of the thread's domain was stopped, that one is what it returns.
#[must_use]
pub fn anchor() -> Nanos {
    CLOCK.with(|slot| slot.with(|clock| clock.map_or_else(anchored, Clock::now)))
}

/// The real clock first, then whether it is the one that counts: see [`domain`].
#[inline]
fn read() -> Nanos {
    domain::now_over(fast::read())
}

fn anchored() -> Nanos {
    domain::now_over(fast::anchor())
}

/// Makes `clock` this thread's clock until the guard is dropped: virtual time.
///
/// Whoever enters a clock enters [`Timers`](super::Timers) that follow it, too: the fallback thread
/// fires by the operating system's clock and knows nothing of this one.
///
/// ```
/// use mainspring_core::time::{self, ManualClock, Nanos};
/// use std::{sync::Arc, time::Duration};
///
/// let clock = ManualClock::new(Nanos(5));
/// let entered = time::enter_clock(Arc::new(clock.clone()));
/// assert_eq!(time::now(), Nanos(5));
/// clock.advance(Duration::from_nanos(2));
/// assert_eq!(time::now(), Nanos(7));
/// # drop(entered);
/// ```
pub fn enter_clock(clock: Arc<dyn Clock>) -> Entered {
    Entered::new(&CLOCK, clock)
}

/// The operating system's monotonic clock.
///
/// ```
/// use mainspring_core::time::{Clock, SystemClock};
///
/// let earlier = SystemClock.now();
/// assert!(SystemClock.now() >= earlier);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Nanos {
        SCALE.read()
    }
}

/// The current worker's turn clock: [`coarse`] as a value.
///
/// ```
/// use mainspring_core::time::{Clock, Nanos, TurnClock, now};
///
/// mainspring_core::poll::begin_turn(Nanos(42)); // what a worker does once a turn
/// assert_eq!(TurnClock.now(), Nanos(42));
/// # mainspring_core::poll::begin_turn(Nanos::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnClock;

impl Clock for TurnClock {
    #[inline]
    fn now(&self) -> Nanos {
        coarse()
    }
}

/// What the origin reads as. Not zero, so that no reading is [`Nanos::ZERO`], and so that instants
/// taken shortly before the first reading keep their order.
const ORIGIN: Nanos = Nanos(1_000_000_000);

/// The process-wide scale.
static SCALE: Scale = Scale::new();

/// Moments counted from an origin, which the first use sets.
struct Scale(OnceLock<Instant>);

impl Scale {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    #[inline]
    fn origin(&self) -> Instant {
        *self.0.get_or_init(Instant::now)
    }

    /// Reads the operating system's clock; never before the origin.
    #[cfg(not(mainspring_shuttle))]
    #[inline]
    fn read(&self) -> Nanos {
        // In this order: an instant taken first would lie before an origin that it sets.
        let origin = self.origin();
        moment(origin, Instant::now())
    }

    /// Reads the clock of an execution, which goes by its steps.
    #[cfg(mainspring_shuttle)]
    fn read(&self) -> Nanos {
        ORIGIN.saturating_add(crate::sync::elapsed())
    }
}

#[inline]
fn moment(origin: Instant, instant: Instant) -> Nanos {
    match instant.checked_duration_since(origin) {
        Some(later) => ORIGIN.saturating_add(later),
        None => ORIGIN.saturating_sub(origin.saturating_duration_since(instant)),
    }
}

impl Nanos {
    /// The same moment on the process-wide scale. Instants that it cannot express become the
    /// nearest ones that it can.
    #[inline]
    #[must_use]
    pub fn from_instant(instant: Instant) -> Self {
        moment(SCALE.origin(), instant)
    }

    /// The same moment as an instant; `None` where the platform's instant cannot express it, which
    /// far deadlines such as [`Nanos::MAX`] may be.
    #[must_use]
    pub fn to_instant(self) -> Option<Instant> {
        if self >= ORIGIN {
            SCALE.origin().checked_add(self.since(ORIGIN))
        } else {
            SCALE.origin().checked_sub(ORIGIN.since(self))
        }
    }
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

/// How long a fast clock may go without looking at the operating system's.
const ANCHOR_MAX: Duration = Duration::from_millis(10);

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
