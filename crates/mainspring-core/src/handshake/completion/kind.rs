//! What the two forms of a completion differ in: who frees, and whether the producer can wait.
//!
//! # Invariants
//!
//! - **completion.freed-once** — the lean form is freed by whoever the handshake says arrived
//!   second; the form with cancel, whose producer's waker is touched after the terminal move, by
//!   the last of its two holders.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `completion.holders` | `leave` | the last `leave` | every use of the shared allocation |

use crate::AtomicWaker;
use crate::sync::atomic::{AtomicUsize, Ordering::Release, acquire_last};
use crate::sync::cell::UnsafeCell;
use std::task::Waker;

/// The form of a pair: [`Plain`] or [`WithCancel`], and nothing else.
pub trait Kind: Sealed {}

impl Kind for Plain {}

impl Kind for WithCancel {}

/// What the two forms of a pair differ in.
pub trait Sealed {
    /// Takes the producer's waker out.
    ///
    /// # Safety
    ///
    /// The caller's side has not left. A form without such a waker does not look at `this`,
    /// which may dangle.
    unsafe fn take_producer(this: *const Self) -> Option<Waker>;

    /// One side leaves.
    ///
    /// # Safety
    ///
    /// The caller's side leaves for the first time, with what the handshake told it. A form
    /// that does not count its holders does not look at `this`, which may dangle.
    unsafe fn leave(this: *const Self, place: Place) -> OnLeave;
}

/// What the handshake told a side that leaves.
#[derive(Clone, Copy)]
pub enum Place {
    First,
    Second,
}

/// What the side that left owes.
#[must_use = "dropping the verdict leaks the allocation"]
pub enum OnLeave {
    /// The other side frees.
    Keep,
    /// This side frees.
    Free,
}

/// The form of a pair made by [`completion`](super::completion()).
#[derive(Debug)]
pub struct Plain(());

impl Plain {
    #[inline]
    pub(super) const fn new() -> Self {
        Self(())
    }
}

/// The form of a pair made by [`completion_with_cancel`](super::completion_with_cancel).
#[derive(Debug)]
pub struct WithCancel {
    holders: AtomicUsize,
    producer: AtomicWaker,
    /// No memory and no code: see `Handshake`'s field of this name.
    body: UnsafeCell<()>,
}

impl WithCancel {
    pub(super) fn register_producer(&self, waker: &Waker) {
        self.producer.register(waker);
    }

    pub(super) fn new() -> Self {
        Self {
            holders: AtomicUsize::new(2),
            producer: AtomicWaker::new(),
            body: UnsafeCell::new(()),
        }
    }
}

// SAFETY: [completion.freed-once] `body` has no content; it is there for models to watch.
unsafe impl Sync for WithCancel {}

impl Sealed for Plain {
    #[inline]
    unsafe fn take_producer(_this: *const Self) -> Option<Waker> {
        None
    }

    #[inline]
    unsafe fn leave(_this: *const Self, place: Place) -> OnLeave {
        match place {
            Place::First => OnLeave::Keep,
            Place::Second => OnLeave::Free,
        }
    }
}

impl Sealed for WithCancel {
    unsafe fn take_producer(this: *const Self) -> Option<Waker> {
        // SAFETY: [completion.freed-once] the caller has not left, so the allocation is held.
        let kind = unsafe { &*this };
        kind.producer.take()
    }

    unsafe fn leave(this: *const Self, _place: Place) -> OnLeave {
        // SAFETY: [completion.freed-once] the caller has not left, so the allocation is held.
        let kind = unsafe { &*this };
        kind.body.with(|_| ());
        // ORDERING: [completion.holders] Release, pairs with the other side's acquire below: it
        // frees after our last use. Relaxed would let it free under us.
        if kind.holders.fetch_sub(1, Release) != 1 {
            return OnLeave::Keep;
        }
        // ORDERING: [completion.holders] Acquire, pairs with the other side's decrement.
        acquire_last(&kind.holders);
        kind.body.with_mut(|_| ());
        OnLeave::Free
    }
}
