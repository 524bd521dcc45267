//! Who frees a cell whose last act is a cleanup that outlives the drop that started it.
//!
//! Dropping a guard cannot await. What it can do is give its cleanup to somebody who polls it; that
//! somebody may run on another thread, or at once, inside the very drop. Then two parties hold the
//! cell, the *dropper* until its drop returns and the *cleanup* until its future has ended, and
//! either may be the last.
//!
//! # States
//!
//! ```text
//!        detach                leave
//!  LIVE ────────▶ DETACHED ────────────▶ ORPHANED ── finish ──▶ the cleanup frees
//!                    │
//!                    │ finish
//!                    ▼
//!                 CLEANED ── leave ──▶ the dropper frees
//! ```
//!
//! # Invariants
//!
//! - **cleanup.once** — one drop detaches; another one while the cleanup runs, or after it, does
//!   nothing.
//! - **cleanup.last-frees** — of `leave` and `finish` the second frees the cell, and the first does
//!   not touch it again.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `cleanup.leave` | `leave` | `finish` | the dropper's last use of the cell |
//! | `cleanup.finish` | `finish` | `leave` | the cleanup's last use of the cell |
//!
//! # Rejected
//!
//! A reference count of two: the same two read-modify-writes, but a second drop would then have to
//! be told apart by a flag beside it.

use crate::sync::atomic::{
    AtomicU8,
    Ordering::{AcqRel, Relaxed},
};
use crate::sync::cell::UnsafeCell;
use std::fmt;

const LIVE: u8 = 0;
const DETACHED: u8 = 1;
const ORPHANED: u8 = 2;
const CLEANED: u8 = 3;

/// What the caller of [`CleanupWord::detach`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the cleanup runs only if the caller starts it"]
pub enum OnDetach {
    /// Start the cleanup, then [`leave`](CleanupWord::leave).
    Start,
    /// The cleanup was started before: do nothing.
    AlreadyStarted,
}

/// What the caller of [`CleanupWord::leave`] owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "dropping the verdict leaks the cell"]
pub enum OnLeave {
    /// The cleanup goes on and frees the cell: do not touch it again.
    Orphaned,
    /// The cleanup ended while we were inside drop: free the cell.
    Free,
}

/// What the caller of [`CleanupWord::finish`] owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "dropping the verdict leaks the cell"]
pub enum OnFinish {
    /// The dropper is still inside drop and frees the cell: do not touch it again.
    Cleaned,
    /// The dropper has left: free the cell.
    Free,
}

/// The state of a cell that a cleanup may outlive.
///
/// Use it inside an allocation shared by a guard and the future that cleans up after it. The word
/// decides and does nothing else: its verdicts say who starts the cleanup and who frees. Each
/// operation is one read-modify-write; nothing is allocated, nobody is woken.
///
/// ```
/// use mainspring_core::handshake::cleanup::{CleanupWord, OnDetach, OnFinish, OnLeave};
///
/// let word = CleanupWord::new();
/// assert_eq!(word.detach(), OnDetach::Start);
/// assert_eq!(word.detach(), OnDetach::AlreadyStarted);
/// assert_eq!(word.finish(), OnFinish::Cleaned); // it ended inside the drop
/// assert_eq!(word.leave(), OnLeave::Free);
/// ```
pub struct CleanupWord {
    state: AtomicU8,
    /// No memory and no code: see [`Handshake`](super::Handshake)'s field of this name.
    body: UnsafeCell<()>,
}

// SAFETY: [cleanup.last-frees] `body` has no content; it is there for models to watch.
unsafe impl Sync for CleanupWord {}

impl CleanupWord {
    /// A word in LIVE: nobody has been dropped yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: AtomicU8::new(LIVE),
            body: UnsafeCell::new(()),
        }
    }

    /// A drop begins.
    ///
    /// With [`OnDetach::Start`] the cleanup may run, and end, from the moment it is handed over;
    /// the cell stays the caller's as well until it leaves.
    pub fn detach(&self) -> OnDetach {
        // Relaxed: whoever starts the cleanup hands it over with an edge of its own.
        match self
            .state
            .compare_exchange(LIVE, DETACHED, Relaxed, Relaxed)
        {
            Ok(_) => OnDetach::Start,
            Err(_) => OnDetach::AlreadyStarted,
        }
    }

    /// The drop that detached ends.
    pub fn leave(&self) -> OnLeave {
        self.body.with(|_| ());
        // ORDERING: [cleanup.leave] Release, pairs with `finish`: the free there comes after our
        // last use.
        // ORDERING: [cleanup.finish] Acquire, pairs with `finish`: our free comes after its.
        let before = self.state.swap(ORPHANED, AcqRel);
        if before == CLEANED {
            self.body.with_mut(|_| ());
            return OnLeave::Free;
        }
        debug_assert_eq!(before, DETACHED, "cleanup.once: left without a detach");
        OnLeave::Orphaned
    }

    /// The cleanup has ended, or was dropped unrun.
    pub fn finish(&self) -> OnFinish {
        self.body.with(|_| ());
        // ORDERING: [cleanup.finish] Release, pairs with `leave`: the free there comes after our
        // last use.
        // ORDERING: [cleanup.leave] Acquire, pairs with `leave`: our free comes after its.
        let before = self.state.swap(CLEANED, AcqRel);
        if before == ORPHANED {
            self.body.with_mut(|_| ());
            return OnFinish::Free;
        }
        debug_assert_eq!(
            before, DETACHED,
            "cleanup.once: finished twice, or never started"
        );
        OnFinish::Cleaned
    }

    /// Whether a drop has begun.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self.state.load(Relaxed) != LIVE
    }
}

impl Default for CleanupWord {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CleanupWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.load(Relaxed) {
            LIVE => "LIVE",
            DETACHED => "DETACHED",
            ORPHANED => "ORPHANED",
            _ => "CLEANED",
        };
        f.debug_struct("CleanupWord")
            .field("state", &state)
            .finish()
    }
}

#[cfg(test)]
mod tests;
