//! From ticks to nanoseconds: the arithmetic of the fast clock, without a clock.

use crate::time::Nanos;
use crate::time::clock::ANCHOR_MAX;
use std::time::Duration;

/// One pair of readings.
#[derive(Clone, Copy, Debug)]
pub(in crate::time::clock) struct Pair {
    /// The counter, right after the reading of the system's clock.
    pub(in crate::time::clock) ticks: u64,
    pub(in crate::time::clock) now: Nanos,
}

/// How a pair was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::time::clock) enum Care {
    /// Nothing came between the two readings: good for a rate.
    Exact,
    /// The thread may have been interrupted between them.
    Quick,
}

/// One thread's fast clock.
#[derive(Clone, Copy, Debug)]
pub(in crate::time::clock) struct Fast {
    anchor: Pair,
    /// From the anchor on, for so many ticks, a reading needs no other clock. Zero: no rate yet.
    span_ticks: u64,
    /// Nanoseconds per tick, times 2^32.
    rate: u64,
    last: Nanos,
    /// Where the measurement of the rate began. Meaningless while `anchor.now` is zero.
    base: Pair,
}

/// A rate is believed while the next pair contradicts it by less than one part in this many, and
/// [`JITTER_NS`]: the kernel slews by at most one part in 2,000.
const TOLERANCE: u64 = 1_000;

/// What caches, hypervisors and short interrupts do to a pair that is good enough.
const JITTER_NS: u64 = 5_000;

/// A rate is measured anew over the time since its base when that is so old.
const BASE_MAX: Duration = Duration::from_secs(1);

const NOTHING: Pair = Pair {
    ticks: 0,
    now: Nanos::ZERO,
};

impl Fast {
    pub(in crate::time::clock) const fn new() -> Self {
        Self {
            anchor: NOTHING,
            span_ticks: 0,
            rate: 0,
            last: Nanos::ZERO,
            base: NOTHING,
        }
    }

    /// The time at `ticks`, unless the anchor is too old, in the future, or has no rate.
    #[inline]
    pub(in crate::time::clock) fn at(&mut self, ticks: u64) -> Option<Nanos> {
        let since = ticks.wrapping_sub(self.anchor.ticks);
        if since >= self.span_ticks {
            return None;
        }
        // `since` is 10 ms of ticks at most, the rate below 2^42: no overflow in 128 bits, and none
        // in the result.
        let elapsed_ns = (u128::from(since) * u128::from(self.rate)) >> 32;
        Some(self.clamp(Nanos(self.anchor.now.0 + elapsed_ns as u64)))
    }

    /// Whether `pair` would begin or end a measurement, for which it has to be exact.
    pub(in crate::time::clock) fn wants_exact(&self, pair: Pair) -> bool {
        self.is_unmeasured(pair) || self.is_due(pair)
    }

    /// Takes a new pair as the anchor and returns the time.
    pub(in crate::time::clock) fn anchor(&mut self, pair: Pair, care: Care) -> Nanos {
        if self.is_unmeasured(pair) {
            self.rate = 0;
            self.span_ticks = 0;
            self.base = if care == Care::Exact { pair } else { NOTHING };
        } else if care == Care::Exact && self.is_due(pair) {
            self.measure(pair);
        }
        self.anchor = pair;
        self.clamp(pair.now)
    }

    /// Whether there is no measurement under way, or `pair` contradicts it.
    fn is_unmeasured(&self, pair: Pair) -> bool {
        if self.base.now == Nanos::ZERO || pair.ticks < self.base.ticks || pair.now < self.base.now
        {
            return true;
        }
        if self.rate == 0 {
            return false;
        }
        let ticks = pair.ticks.wrapping_sub(self.anchor.ticks);
        let expected_ns = (u128::from(ticks) * u128::from(self.rate)) >> 32;
        let expected_ns = u64::try_from(expected_ns).unwrap_or(u64::MAX);
        let elapsed_ns = pair.now.0.saturating_sub(self.anchor.now.0);
        expected_ns.abs_diff(elapsed_ns) > (elapsed_ns / TOLERANCE).saturating_add(JITTER_NS)
    }

    fn is_due(&self, pair: Pair) -> bool {
        let due = if self.rate == 0 { ANCHOR_MAX } else { BASE_MAX };
        pair.now.since(self.base.now) >= due
    }

    fn measure(&mut self, pair: Pair) {
        let elapsed = pair.now.since(self.base.now);
        let ticks = pair.ticks - self.base.ticks;
        let rate = (elapsed.as_nanos() << 32).checked_div(u128::from(ticks));
        let Some(rate) = rate.and_then(|rate| u64::try_from(rate).ok()) else {
            return;
        };
        self.rate = rate;
        let span = (ANCHOR_MAX.as_nanos() << 32).checked_div(u128::from(rate));
        self.span_ticks = span.map_or(0, |span| u64::try_from(span).unwrap_or(0));
        if elapsed >= BASE_MAX {
            // As exact as it gets; a fresh base follows the kernel's slewing.
            self.base = pair;
        }
    }

    #[inline]
    fn clamp(&mut self, now: Nanos) -> Nanos {
        let now = now.max(self.last);
        debug_assert!(now >= self.last, "clock.monotonic: went back");
        debug_assert!(
            self.span_ticks == 0 || self.rate != 0,
            "clock.near: a span without a rate"
        );
        self.last = now;
        now
    }
}
