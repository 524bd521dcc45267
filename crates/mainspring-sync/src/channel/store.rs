//! Where a channel keeps its messages.

use super::ring::{Pop, Push, Reserve, Ring};
use super::words::{Freed, Told, Turn, Words};
use std::fmt;

/// One of the storages. All have the same methods; see [`Ring`] for what they do.
pub(crate) enum Store<T> {
    Ring(Ring<T>),
}

impl<T> Store<T> {
    /// A storage for at most that many messages.
    pub(crate) fn bounded(capacity: usize) -> Self {
        Self::Ring(Ring::new(capacity))
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        match self {
            Self::Ring(ring) => ring.words(),
        }
    }

    #[inline(always)]
    pub(crate) fn push(&self, value: T, turn: Turn) -> Push<T> {
        match self {
            Self::Ring(ring) => ring.push(value, turn),
        }
    }

    pub(crate) fn reserve(&self, turn: Turn) -> Reserve {
        match self {
            Self::Ring(ring) => ring.reserve(turn),
        }
    }

    pub(crate) fn overdraw(&self) -> Reserve {
        match self {
            Self::Ring(ring) => ring.overdraw(),
        }
    }

    pub(crate) fn is_covered(&self) -> bool {
        match self {
            Self::Ring(ring) => ring.is_covered(),
        }
    }

    pub(crate) fn redeem(&self, value: T) -> Result<Told, T> {
        match self {
            Self::Ring(ring) => ring.redeem(value),
        }
    }

    pub(crate) fn release(&self) -> Freed {
        match self {
            Self::Ring(ring) => ring.release(),
        }
    }

    #[inline(always)]
    pub(crate) fn pop(&self) -> Pop<T> {
        match self {
            Self::Ring(ring) => ring.pop(),
        }
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring(ring) => ring.fmt(f),
        }
    }
}
