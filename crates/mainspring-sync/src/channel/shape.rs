//! Positions in an endless row of messages, and the slots they fall on.
//!
//! A position is a lap and an index, packed into one number of [`Widths::POSITION`] bits: the index
//! in as many low bits as the slots of a lap need, the lap above. It wraps when the laps are used
//! up, whatever the number of slots. Where that number is a power of two, a position is a plain
//! count.
//!
//! # Invariants
//!
//! - **shape.wrap** — `stepped`, `add` and `distance` agree across the end of the laps as anywhere
//!   else: positions that are at most half of all laps apart have the right distance and sign.
//!
//! # Rejected
//!
//! Counts taken modulo the number of slots: at the wrap of the count the index jumps, unless the
//! slots are a power of two, and rounding up doubles the memory of a ring of large messages.

use std::marker::PhantomData;

/// How wide the fields of the index words are.
pub(crate) trait Widths: 'static {
    /// Bits of a position.
    const POSITION: u32;
    /// Bits of the number of held permits.
    const HELD: u32;
}

/// The shipped widths: 2^44 messages until positions repeat, 65,535 permits at a time.
#[derive(Debug)]
pub(crate) struct Wide;

impl Widths for Wide {
    const POSITION: u32 = 44;
    const HELD: u32 = 16;
}

/// A message's place in the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position(pub(crate) u64);

/// How positions fall on slots.
#[derive(Debug)]
pub(crate) struct Shape<W: Widths> {
    /// Slots of a lap.
    slots: u64,
    /// The bits of an index. Kept beside their number: no shift where messages pass.
    index_mask: u64,
    index_bits: u32,
    widths: PhantomData<fn() -> W>,
}

impl<W: Widths> Clone for Shape<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Widths> Copy for Shape<W> {}

impl<W: Widths> Shape<W> {
    const POSITIONS: u64 = (1 << W::POSITION) - 1;

    /// # Panics
    ///
    /// If there are no slots, or so many that fewer than four laps are left.
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots > 0, "a lap has at least one slot");
        let slots = slots as u64;
        let index_bits = slots.next_power_of_two().trailing_zeros();
        assert!(
            index_bits + 2 <= W::POSITION,
            "four laps at least, or a distance has no sign"
        );
        Self {
            slots,
            index_mask: (1 << index_bits) - 1,
            index_bits,
            widths: PhantomData,
        }
    }

    /// Which slot of its lap a position falls on.
    #[inline(always)]
    pub(crate) fn index(self, position: Position) -> usize {
        (position.0 & self.index_mask) as usize
    }

    /// The first position that falls on that slot.
    pub(crate) fn first(self, index: usize) -> Position {
        debug_assert!((index as u64) < self.slots, "shape.wrap: no such slot");
        Position(index as u64)
    }

    /// The word whose highest field, from bit `shift` on, is a position, with the next one there.
    ///
    /// An addition, and a look at whether it has left the slots of the lap: where their number is
    /// a power of two, the carry is the next lap.
    #[inline(always)]
    pub(crate) fn stepped(self, word: u64, shift: u32) -> u64 {
        let unused = u64::BITS - shift - W::POSITION;
        let next = word.wrapping_add(1 << shift) & (u64::MAX >> unused);
        if next >> shift & self.index_mask == self.slots {
            return self.in_next_lap(word, shift);
        }
        next
    }

    /// As [`stepped`](Self::stepped), from the last slot of a lap that has spare indices.
    #[cold]
    fn in_next_lap(self, word: u64, shift: u32) -> u64 {
        let rest = word & ((1 << shift) - 1);
        let next = ((word >> shift | self.index_mask) + 1) & Self::POSITIONS;
        rest | next << shift
    }

    /// The position on the same slot, one lap later.
    #[inline(always)]
    pub(crate) fn lapped(self, position: Position) -> Position {
        Position((position.0 + self.index_mask + 1) & Self::POSITIONS)
    }

    /// The position `steps` after this one.
    #[inline(always)]
    pub(crate) fn add(self, position: Position, steps: u64) -> Position {
        if steps == 0 {
            return position;
        }
        let index = self.index(position) as u64 + steps;
        let lap = (position.0 >> self.index_bits) + index / self.slots;
        Position(((lap << self.index_bits) + index % self.slots) & Self::POSITIONS)
    }

    /// How many steps lead from `from` to `to`; negative if `to` comes first.
    #[inline]
    pub(crate) fn distance(self, from: Position, to: Position) -> i64 {
        // CLAIM: [shape.wrap] the difference of the laps, with the sign of its highest bit.
        let spare = u64::BITS - (W::POSITION - self.index_bits);
        let laps = (to.0 >> self.index_bits).wrapping_sub(from.0 >> self.index_bits);
        let laps = ((laps << spare) as i64) >> spare;
        laps * self.slots as i64 + self.index(to) as i64 - self.index(from) as i64
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
