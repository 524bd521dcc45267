//! Where a deadline belongs: ticks, levels and slots as arithmetic.
//!
//! A tick is 2^16 ns. Six levels of 256 slots cover the 48 bits of a tick's number, so together
//! they tile the whole 64-bit clock: there is no overflow list and no far future to clamp.
//!
//! | level | bits of the clock | one slot | the whole level |
//! |---|---|---|---|
//! | 0 | 16..24 | 65.5 µs | 16.8 ms |
//! | 1 | 24..32 | 16.8 ms | 4.29 s |
//! | 2 | 32..40 | 4.29 s | 18.3 min |
//! | 3 | 40..48 | 18.3 min | 3.26 days |
//! | 4 | 48..56 | 3.26 days | 2.28 years |
//! | 5 | 56..64 | 2.28 years | 584 years |
//!
//! (The classic layout, slots of 1 ms, then of 256 ms, then of 65 s, is the same idea at a
//! sixteenth of the precision.)
//!
//! The level of a deadline is the highest byte in which its tick differs from the wheel's: all
//! bytes above are equal, so the slot number at that level is greater than the wheel's own byte
//! and no level ever wraps. The idea of reading the level off the differing bits is that of
//! hierarchical wheels with power-of-two levels (Varghese and Lauck, 1987, scheme 7).

use mainspring_core::time::Nanos;

/// The length of a tick in nanoseconds: the granularity of a [`Wheel`](crate::Wheel).
pub const TICK_NS: u64 = 1 << TICK_BITS;

/// How many levels there are.
pub(crate) const LEVELS: usize = 6;

/// How many slots a level has.
pub(crate) const SLOTS: usize = 1 << SLOT_BITS;

const TICK_BITS: u32 = 16;
const SLOT_BITS: u32 = 8;

const _: () = assert!(
    TICK_BITS + LEVELS as u32 * SLOT_BITS == u64::BITS,
    "levels tile the clock"
);

/// The number of a tick: 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(pub(crate) u64);

impl Tick {
    /// The last tick. It is reached only when the clock saturates: a deadline inside it has no
    /// later tick to be rounded up to.
    const LAST: Self = Self((1 << (u64::BITS - TICK_BITS)) - 1);

    /// The tick at which `deadline` is due: rounded up, saturating.
    #[inline]
    pub(crate) fn due(deadline: Nanos) -> Self {
        let started = deadline.0 >> TICK_BITS;
        let within = deadline.0 & (TICK_NS - 1);
        Self((started + u64::from(within != 0)).min(Self::LAST.0))
    }

    /// The latest tick that has come at `now`.
    #[inline]
    pub(crate) fn reached(now: Nanos) -> Self {
        if now == Nanos::MAX {
            return Self::LAST;
        }
        Self((now.0 >> TICK_BITS).min(Self::LAST.0 - 1))
    }

    /// The first moment at which this tick is [`reached`](Self::reached).
    #[inline]
    pub(crate) fn comes(self) -> Nanos {
        if self == Self::LAST {
            return Nanos::MAX;
        }
        Nanos(self.0 << TICK_BITS)
    }

    /// The tick before; the first one's is itself.
    #[inline]
    pub(crate) fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// One slot of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) level: u8,
    pub(crate) slot: u8,
}

impl Spot {
    /// Where an entry due at `tick` belongs while the wheel stands at `cursor`, which is earlier.
    #[inline]
    pub(crate) fn of(cursor: Tick, tick: Tick) -> Self {
        debug_assert!(
            cursor < tick,
            "wheel.above-cursor: {tick:?} has come at {cursor:?}"
        );
        let highest = u64::BITS - 1 - (cursor.0 ^ tick.0).leading_zeros();
        let level = highest / SLOT_BITS;
        Self {
            level: level as u8,
            slot: (tick.0 >> (level * SLOT_BITS)) as u8,
        }
    }

    /// The first tick of this slot while the wheel stands at `cursor`.
    #[inline]
    pub(crate) fn start(self, cursor: Tick) -> Tick {
        let shift = u32::from(self.level) * SLOT_BITS;
        let above = cursor.0 >> shift >> SLOT_BITS << SLOT_BITS;
        Tick((above | u64::from(self.slot)) << shift)
    }
}

#[cfg(test)]
mod tests;
