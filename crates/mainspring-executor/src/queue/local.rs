//! A worker's own queue, first in first out, from which others steal: the door to
//! `crossbeam-deque`.
//!
//! The algorithm is the deque of Chase and Lev (2005) in the C11 form of Lê, Pop, Cohen and Zappa
//! Nardelli (2013), taken from the front by everybody. loom cannot look into it: models get a
//! stand-in with the weakest contract that crossbeam publishes, see `stand_in.rs` and
//! docs/verification.md.
//!
//! # Invariants
//!
//! - **deque.once** — what was pushed is taken once, by its owner or by one thief.
//! - **deque.half** — a thief takes at most half of what it finds, one of which it returns.

#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
mod crossbeam;
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
pub(crate) use self::crossbeam::{Local, Stealer};

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
mod stand_in;
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
pub(crate) use self::stand_in::{Local, Stealer};

/// What came of an attempt to steal.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what was stolen has to be run"]
pub(crate) enum Stolen<T> {
    /// There was nothing.
    Nothing,
    /// Somebody else took it at the same time; there may be more.
    Retry,
    /// One to run; what else was stolen stands in the thief's queue.
    One(T),
}

#[cfg(test)]
mod tests;
