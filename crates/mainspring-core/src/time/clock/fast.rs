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
//!   otherwise). It is behind by at most that and the disagreement up to which a rate is believed:
//!   15 µs.
//! - **clock.trusted** — the counter is read only where the kernel's clock source is the counter.

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
mod counter;

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
)))]
#[path = "fast/no_counter.rs"]
mod counter;

pub(super) mod rate;

use self::rate::{Care, Fast, Pair};
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
    let Some(mut pair) = pair() else {
        return SystemClock.now();
    };
    let mut care = Care::Quick;
    if fast.wants_exact(pair) {
        let exact = exact_pair();
        care = if exact.is_some() {
            Care::Exact
        } else {
            Care::Quick
        };
        pair = exact.unwrap_or(pair);
    }
    fast.anchor(pair, care)
}

/// The counter is read last: a thread that is interrupted in between gets an anchor that is behind,
/// never ahead.
fn pair() -> Option<Pair> {
    let now = SystemClock.now();
    let ticks = counter::read()?;
    Some(Pair { ticks, now })
}

/// A pair whose two readings nothing came between, if that can be had.
fn exact_pair() -> Option<Pair> {
    (0..3).find_map(|_| {
        let before = counter::read()?;
        pair().filter(|pair| pair.ticks.wrapping_sub(before) < SPREAD_TICKS_MAX)
    })
}

/// A pair of readings that took longer was interrupted: no good for a rate.
const SPREAD_TICKS_MAX: u64 = 20_000;
