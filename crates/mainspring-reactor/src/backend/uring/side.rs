//! One direction of a stream between its reader or writer and the ring: what it owns, and who
//! waits.
//!
//! # Invariants
//!
//! - **side.waiter** — a waiter that is registered before the half is looked at for the last time,
//!   or before the operation is begun that will wake it, misses no completion.
//! - **side.outside** — the waker that a completion takes is called by who completed, with no lock
//!   held.
//!
//! # The lock
//!
//! It is taken eight times a request, and nobody else is there: brief. Nothing of a user's runs
//! under it, and it waits for nothing but, when an operation finds the submission queue full, for
//! the kernel to take that. Whoever meets that (a completion that another thread took) sleeps.
//!
//! # Rejected
//!
//! *The waker inside the lock*: cloning one may run foreign code, and comparing first costs a
//! second lock as well.

use super::carrier::Carrier;
use mainspring_core::AtomicWaker;
use mainspring_core::sync::{Brief, BriefGuard};
use std::ops::{Deref, DerefMut};
use std::task::Waker;

/// A half, and the ring that its operation is in: what changes together, under one lock.
pub(crate) struct Carried<H, R> {
    pub(crate) half: H,
    pub(crate) carrier: Carrier<R>,
}

/// A half, and who waits for it.
pub(crate) struct Side<H, R> {
    carried: Brief<Carried<H, R>>,
    waiter: AtomicWaker,
}

impl<H, R> Side<H, R> {
    pub(crate) fn new(half: H) -> Self {
        Self {
            carried: Brief::new(Carried {
                half,
                carrier: Carrier::new(),
            }),
            waiter: AtomicWaker::new(),
        }
    }

    pub(crate) fn lock(&self) -> BriefGuard<'_, Carried<H, R>> {
        self.carried.lock()
    }

    /// By the one reader or writer, before its last look.
    pub(crate) fn register(&self, waker: &Waker) {
        // CLAIM: [side.waiter] a completion that comes later finds it, one that came before is
        // seen.
        self.waiter.register(waker);
    }

    /// By the ring, after it has changed the half: who waits.
    #[must_use = "the waker is no longer registered: wake it, under no lock"]
    pub(crate) fn take_waiter(&self) -> Option<Waker> {
        // CLAIM: [side.outside]
        self.waiter.take()
    }
}

impl<H, R> Deref for Carried<H, R> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.half
    }
}

impl<H, R> DerefMut for Carried<H, R> {
    fn deref_mut(&mut self) -> &mut H {
        &mut self.half
    }
}

#[cfg(test)]
mod tests;
