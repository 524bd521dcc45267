//! The values of the two words.

use super::super::shape::{Position, Shape, Widths};
use super::verdict::{Refusal, Told, Turn};
use std::fmt;
use std::marker::PhantomData;

pub(super) const CLOSED: u64 = 1;
pub(super) const GONE: u64 = 1 << 1;
pub(super) const RECEIVERS_WAIT: u64 = 1 << 2;
pub(super) const SENDERS_WAIT: u64 = 1 << 3;
pub(super) const HELD_SHIFT: u32 = 4;
pub(super) const HELD_ONE: u64 = 1 << HELD_SHIFT;

/// A value of the tail word.
pub(crate) struct Tail<W: Widths> {
    pub(super) bits: u64,
    widths: PhantomData<fn() -> W>,
}

impl<W: Widths> Clone for Tail<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Widths> Copy for Tail<W> {}

impl<W: Widths> PartialEq for Tail<W> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<W: Widths> Tail<W> {
    pub(super) const HELD_MAX: u64 = (1 << W::HELD) - 1;
    pub(super) const POSITION_SHIFT: u32 = HELD_SHIFT + W::HELD;

    #[inline(always)]
    pub(super) fn of(bits: u64) -> Self {
        Self {
            bits,
            widths: PhantomData,
        }
    }

    /// Where the next message goes.
    #[inline(always)]
    pub(crate) fn position(self) -> Position {
        Position(self.bits >> Self::POSITION_SHIFT)
    }

    /// How many permits are out.
    #[inline(always)]
    pub(crate) fn held(self) -> u64 {
        (self.bits >> HELD_SHIFT) & Self::HELD_MAX
    }

    #[inline(always)]
    pub(crate) fn is_closed(self) -> bool {
        self.bits & CLOSED != 0
    }

    /// Why a push or a permit has to stop here, before anybody looks for room.
    #[inline(always)]
    pub(crate) fn refusal(self, turn: Turn) -> Option<Refusal> {
        if self.bits & (CLOSED | SENDERS_WAIT) == 0 {
            return None;
        }
        if self.is_closed() {
            return Some(Refusal::Closed);
        }
        (turn == Turn::Newcomer).then_some(Refusal::Queue)
    }

    /// Whether the channel is open, nobody holds a permit and no sender waits: there is nothing to
    /// be minded but the slot.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.bits & (CLOSED | SENDERS_WAIT | Self::HELD_MAX << HELD_SHIFT) == 0
    }

    /// The bits of this word with the next position.
    #[inline(always)]
    pub(super) fn stepped(self, shape: Shape<W>) -> u64 {
        shape.stepped(self.bits, Self::POSITION_SHIFT)
    }

    /// Whom a message concerns that was claimed by replacing this word, with `held` permits left.
    #[inline(always)]
    pub(super) fn told(self, held: u64) -> Told {
        if self.bits & RECEIVERS_WAIT == 0 {
            Told::Nobody
        } else if self.is_closed() && held == 0 {
            Told::Receivers
        } else {
            Told::Receiver
        }
    }
}

impl<W: Widths> fmt::Debug for Tail<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail")
            .field("position", &self.position().0)
            .field("held", &self.held())
            .field("closed", &self.is_closed())
            .field("gone", &(self.bits & GONE != 0))
            .field("receivers_wait", &(self.bits & RECEIVERS_WAIT != 0))
            .field("senders_wait", &(self.bits & SENDERS_WAIT != 0))
            .finish()
    }
}

/// A value of the head word.
pub(crate) struct Head<W: Widths> {
    pub(super) bits: u64,
    widths: PhantomData<fn() -> W>,
}

impl<W: Widths> Clone for Head<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Widths> Copy for Head<W> {}

impl<W: Widths> Head<W> {
    #[inline(always)]
    pub(super) fn of(bits: u64) -> Self {
        Self {
            bits,
            widths: PhantomData,
        }
    }

    /// Where the oldest message lies.
    #[inline(always)]
    pub(crate) fn position(self) -> Position {
        Position(self.bits >> Tail::<W>::POSITION_SHIFT)
    }
}
