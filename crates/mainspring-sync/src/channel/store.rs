//! Where a channel keeps its messages.

use super::blocks::Blocks;
use super::ring::{Pop, Push, Ring};
use super::words::{Freed, Reserve, Told, Turn, Words};
use std::fmt;

/// The most messages for which a ring is used, which is allocated as a whole.
pub(crate) const RING_MOST: usize = 4_096;

/// One of the storages. All have the same methods; see [`Ring`] for what they do.
#[expect(
    clippy::large_enum_variant,
    reason = "a ring lies in the channel's own allocation; a small channel has no room for blocks"
)]
pub(crate) enum Store<T> {
    Ring(Ring<T>),
    Blocks(Box<Blocks<T>>),
}

impl<T> Store<T> {
    /// A storage for at most that many messages.
    #[track_caller]
    pub(crate) fn bounded(capacity: usize) -> Self {
        if capacity <= RING_MOST {
            Self::Ring(Ring::new(capacity))
        } else {
            Self::Blocks(Box::new(Blocks::new(Some(capacity))))
        }
    }

    /// A storage for any number of messages.
    pub(crate) fn unbounded() -> Self {
        Self::Blocks(Box::new(Blocks::new(None)))
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        match self {
            Self::Ring(ring) => ring.words(),
            Self::Blocks(blocks) => blocks.words(),
        }
    }

    #[inline(always)]
    pub(crate) fn push(&self, value: T, turn: Turn) -> Push<T> {
        match self {
            Self::Ring(ring) => ring.push(value, turn),
            Self::Blocks(blocks) => blocks.push(value, turn),
        }
    }

    pub(crate) fn reserve(&self, turn: Turn) -> Reserve {
        match self {
            Self::Ring(ring) => ring.reserve(turn),
            Self::Blocks(blocks) => blocks.reserve(turn),
        }
    }

    pub(crate) fn overdraw(&self) -> Reserve {
        self.words().overdraw()
    }

    pub(crate) fn is_covered(&self) -> bool {
        match self {
            Self::Ring(ring) => ring.is_covered(),
            Self::Blocks(blocks) => blocks.is_covered(),
        }
    }

    pub(crate) fn redeem(&self, value: T) -> Result<Told, T> {
        match self {
            Self::Ring(ring) => ring.redeem(value),
            Self::Blocks(blocks) => blocks.redeem(value),
        }
    }

    pub(crate) fn release(&self) -> Freed {
        self.words().release()
    }

    #[inline(always)]
    pub(crate) fn pop(&self) -> Pop<T> {
        match self {
            Self::Ring(ring) => ring.pop(),
            Self::Blocks(blocks) => blocks.pop(),
        }
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring(ring) => ring.fmt(f),
            Self::Blocks(blocks) => blocks.fmt(f),
        }
    }
}
