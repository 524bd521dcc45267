//! A lock for a few dozen instructions, whose release costs a store.
//!
//! A lock that sleepers wait for is released by an exchange, to learn whether there are any; where
//! nobody contends that is half of its cost. Here nobody is told: who finds the lock held looks
//! again, at first at once, then after others had the processor, then after a sleep that is doubled
//! each time. A holder that lost its processor to us gets it back, whatever its priority.
//!
//! For sections that call nothing of a user's and wait for nothing. A section that may be long, or
//! is contended for most of the time, takes a [`Mutex`](super::Mutex).
//!
//! # Invariants
//!
//! - **brief.exclusive** — HELD is set by an exchange from FREE and taken back by whoever set it:
//!   between the two nobody else's exchange succeeds.
//! - **brief.rest** — who waits looks again after `LONGEST_REST` at the latest.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `brief.free` | the guard's drop | `Brief::try_hold` | what the section did |
//!
//! # Rejected
//!
//! A note that somebody sleeps, read after the store: to be sure of it needs a fence between the
//! two, which costs what the exchange did.

use crate::sync::atomic::{
    AtomicU8,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use crate::sync::{hint, thread};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

const FREE: u8 = 0;
const HELD: u8 = 1;

/// How often it is looked at before the processor is given away, and how often that is done before
/// the first sleep.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const PATIENCE: (u32, u32) = (100, 16);
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const PATIENCE: (u32, u32) = (0, 0);

const FIRST_REST: Duration = Duration::from_micros(20);
const LONGEST_REST: Duration = Duration::from_micros(200);

/// A value under a brief lock. It does not poison.
pub struct Brief<T> {
    word: AtomicU8,
    value: UnsafeCell<T>,
}

// SAFETY: [brief.exclusive] the value goes to one thread at a time.
unsafe impl<T: Send> Send for Brief<T> {}

// SAFETY: [brief.exclusive] as for `Send`.
unsafe impl<T: Send> Sync for Brief<T> {}

impl<T> fmt::Debug for Brief<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brief").finish_non_exhaustive()
    }
}

impl<T> UnwindSafe for Brief<T> {}
impl<T> RefUnwindSafe for Brief<T> {}

impl<T> Brief<T> {
    /// Wraps a value.
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    #[inline]
    pub const fn new(value: T) -> Self {
        Self {
            word: AtomicU8::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new(value: T) -> Self {
        Self {
            word: AtomicU8::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks, keeping the thread until the lock is free.
    #[inline]
    pub fn lock(&self) -> BriefGuard<'_, T> {
        if !self.try_hold() {
            self.hold_late();
        }
        BriefGuard::new(self)
    }

    /// Locks if the lock is free.
    #[inline]
    pub fn try_lock(&self) -> Option<BriefGuard<'_, T>> {
        self.try_hold().then(|| BriefGuard::new(self))
    }

    #[inline]
    fn try_hold(&self) -> bool {
        // ORDERING: [brief.free] Acquire, pairs with the guard's drop: the section before is seen
        // as a whole. Relaxed would let ours begin in the middle of it.
        let held = self.word.compare_exchange(FREE, HELD, Acquire, Relaxed);
        held.is_ok()
    }

    #[cold]
    fn hold_late(&self) {
        let (spins, yields) = PATIENCE;
        let mut turn = 0;
        let mut rest = FIRST_REST;
        // Looked at before it is exchanged: the holder keeps its cache line.
        while self.word.load(Relaxed) == HELD || !self.try_hold() {
            turn += 1;
            if turn <= spins {
                hint::spin_loop();
            } else if turn <= spins + yields {
                thread::yield_now();
            } else {
                // CLAIM: [brief.rest]
                thread::sleep(rest);
                rest = LONGEST_REST.min(2 * rest);
            }
        }
    }
}

/// Access to the value of a [`Brief`] while it is held.
pub struct BriefGuard<'a, T> {
    lock: &'a Brief<T>,
    /// As any lock's: it stays on its thread.
    one_thread: PhantomData<*const ()>,
}

// SAFETY: [brief.exclusive] a shared guard gives out shared references to the value.
unsafe impl<T: Sync> Sync for BriefGuard<'_, T> {}

impl<'a, T> BriefGuard<'a, T> {
    #[inline]
    fn new(lock: &'a Brief<T>) -> Self {
        Self {
            lock,
            one_thread: PhantomData,
        }
    }
}

impl<T> Deref for BriefGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: [brief.exclusive] we hold it, and nobody has it mutably while `self` is shared.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for BriefGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: [brief.exclusive] we hold it, and `self` is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for BriefGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // CLAIM: [brief.exclusive] a store is enough on a word that others exchange: it is HELD,
        // and none of theirs succeeds.
        // ORDERING: [brief.free] Release, pairs with `try_hold`, as said there.
        self.lock.word.store(FREE, Release);
    }
}

#[cfg(test)]
mod tests;
