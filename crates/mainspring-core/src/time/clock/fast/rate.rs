//! From ticks to nanoseconds: the arithmetic of the fast clock, without a clock.

use crate::time::Nanos;
use crate::time::clock::ANCHOR_MAX;
use std::time::Duration;

/// One pair of readings.
#[derive(Clone, Copy, Debug)]
pub(in crate::time::clock) struct Anchored {
    /// The counter, right after the reading of the system's clock.
    pub(in crate::time::clock) ticks: u64,
    /// How long that reading took.
    pub(in crate::time::clock) spread_ticks: u64,
    pub(in crate::time::clock) now: Nanos,
}

/// One thread's fast clock.
#[derive(Clone, Copy, Debug)]
pub(in crate::time::clock) struct Fast {
    anchor: Anchored,
    /// From the anchor on, for so many ticks, a reading needs no other clock. Zero: no rate yet.
    span_ticks: u64,
    /// Nanoseconds per tick, times 2^32.
    rate: u64,
    last: Nanos,
    /// Where the measurement of the rate began. Meaningless while `anchor.now` is zero.
    base: Anchored,
}

/// A rate is believed if the next pair contradicts it by less than one part in this many: the
/// kernel slews by at most one in 2,000.
const TOLERANCE: u64 = 1_000;

/// A reading that took so many ticks was interrupted: no good for a rate.
const SPREAD_TICKS_MAX: u64 = 20_000;

/// A rate is measured anew over the time since its base when that is so old.
const BASE_MAX: Duration = Duration::from_secs(1);

const NOTHING: Anchored = Anchored {
    ticks: 0,
    spread_ticks: 0,
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

    /// Takes a new pair as the anchor and returns the time.
    pub(in crate::time::clock) fn anchor(&mut self, pair: Anchored) -> Nanos {
        if self.base.now == Nanos::ZERO || self.is_contradicted(pair) {
            self.rate = 0;
            self.span_ticks = 0;
            self.base = pair;
        } else {
            self.measure(pair);
        }
        self.anchor = pair;
        self.clamp(pair.now)
    }

    fn is_contradicted(&self, pair: Anchored) -> bool {
        if pair.ticks < self.base.ticks || pair.now < self.base.now {
            return true;
        }
        if self.rate == 0 {
            return false;
        }
        let ticks = pair.ticks.wrapping_sub(self.anchor.ticks);
        let expected_ns = (u128::from(ticks) * u128::from(self.rate)) >> 32;
        let expected_ns = u64::try_from(expected_ns).unwrap_or(u64::MAX);
        let elapsed_ns = pair.now.0.saturating_sub(self.anchor.now.0);
        // A tick is no longer than a nanosecond where it matters: a generous bound of the jitter.
        let jitter_ns = (pair.spread_ticks + self.anchor.spread_ticks).saturating_add(1_000);
        expected_ns.abs_diff(elapsed_ns) > (elapsed_ns / TOLERANCE).saturating_add(jitter_ns)
    }

    fn measure(&mut self, pair: Anchored) {
        let elapsed = pair.now.since(self.base.now);
        let due = if self.rate == 0 { ANCHOR_MAX } else { BASE_MAX };
        if elapsed < due {
            return;
        }
        if pair.spread_ticks.max(self.base.spread_ticks) > SPREAD_TICKS_MAX {
            self.base = pair;
            return;
        }
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
