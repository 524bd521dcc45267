//! The processor's counter as a clock.
//!
//! Where the kernel itself keeps time by the time stamp counter, the counter is invariant and in
//! step on every core: the kernel has checked both, and leaves it when it stops being true. There a
//! reading costs an instruction and a multiplication instead of a call.
//!
//! Every thread keeps its own anchor, a pair of readings of the counter and of the operating
//! system's clock, and its own rate. No thread waits for a calibration: until an anchor is 10 ms
//! old the thread reads the system's clock, and the first one that is gives the rate. From then on
//! a reading within 10 ms of the anchor is `anchor + ticks × rate`; any other sets a new anchor
//! first. That one rule also mends a suspended machine, a counter that was reset and a thread that
//! slept for an hour: none of them yields a reading by the old anchor. A rate that two anchors
//! contradict is thrown away and measured again.
//!
//! # Invariants
//!
//! - **clock.monotonic** — a thread's readings never go back: each is at least the last one.
//! - **clock.near** — a reading is computed from an anchor at most 10 ms old, whose counter was
//!   read after the system's clock. So it is ahead of that clock by at most 10 ms × the error of
//!   the rate (5 µs while the kernel slews by its maximum of 500 ppm, some ten nanoseconds
//!   otherwise), and behind it by that and the time between the anchor's two readings.
//! - **clock.trusted** — the counter is read only where the kernel's clock source is the counter.

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(all(mainspring_loom, feature = "loom"))
))]
mod counter;

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(all(mainspring_loom, feature = "loom"))
)))]
#[path = "fast/no_counter.rs"]
mod counter;

pub(super) mod rate;

use self::rate::{Anchored, Fast};
use super::{Clock, SystemClock};
use crate::time::Nanos;
use std::cell::Cell;

/// The processor's counter where the kernel keeps time by it too, else [`SystemClock`].
///
/// What [`now`](crate::time::now) reads unless another clock was entered. For each thread it never
/// goes back; readings of two threads differ by less than a microsecond as a rule, and by some
/// microseconds while the system's clock is being slewed.
///
/// ```
/// use mainspring_core::time::{Clock, FastClock};
///
/// let earlier = FastClock.now();
/// assert!(FastClock.now() >= earlier);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FastClock;

impl FastClock {
    /// Whether this process reads the processor's counter; `false` means the system's clock.
    #[must_use]
    pub fn is_fast() -> bool {
        counter::is_trusted()
    }
}

impl Clock for FastClock {
    #[inline]
    fn now(&self) -> Nanos {
        read()
    }
}

thread_local! {
    static FAST: Cell<Fast> = const { Cell::new(Fast::new()) };
}

#[inline]
pub(super) fn read() -> Nanos {
    let Some(ticks) = counter::read() else {
        return SystemClock.now();
    };
    FAST.with(|cell| {
        let mut fast = cell.get();
        let now = match fast.at(ticks) {
            Some(now) => now,
            None => by_system(&mut fast),
        };
        cell.set(fast);
        now
    })
}

/// Reads the system's clock and anchors this thread's fast one to it.
pub(super) fn anchor() -> Nanos {
    FAST.with(|cell| {
        let mut fast = cell.get();
        let now = by_system(&mut fast);
        cell.set(fast);
        now
    })
}

#[cold]
fn by_system(fast: &mut Fast) -> Nanos {
    let Some(before) = counter::read() else {
        return SystemClock.now();
    };
    let now = SystemClock.now();
    let after = counter::read().unwrap_or(before);
    fast.anchor(Anchored {
        ticks: after,
        spread_ticks: after.wrapping_sub(before),
        now,
    })
}
