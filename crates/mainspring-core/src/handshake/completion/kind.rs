//! What the two forms of a completion differ in: who frees, and whether the producer can wait.
//!
//! # Invariants
//!
//! - **completion.freed-once** — the allocation is freed by whoever the handshake says arrived
//!   second, unless a consumer of the form with cancel gave up: it touches the producer's waker
//!   after its terminal move, and the last of the two holders frees.
//! - **completion.registered** — a producer that never registered has no waker to take back;
//!   whether it did is written and read by the producer alone.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `completion.holders` | `leave` | the last `leave` | every use of the shared allocation |

use crate::AtomicWaker;
use crate::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, Release},
    acquire_last,
};
use crate::sync::cell::UnsafeCell;
use std::task::Waker;

/// The form of a pair: [`Plain`] or [`WithCancel`], and nothing else.
pub trait Kind: Sealed {}

impl Kind for Plain {}

impl Kind for WithCancel {}

/// What the two forms of a pair differ in.
pub trait Sealed {
    /// Consumer: takes the producer's waker out.
    ///
    /// # Safety
    ///
    /// The caller's side has not left. A form without such a waker does not look at `this`,
    /// which may dangle.
    unsafe fn take_producer(this: *const Self) -> Option<Waker>;

    /// Producer: takes its own waker out, if it ever registered one.
    ///
    /// # Safety
    ///
    /// As for [`take_producer`](Self::take_producer).
    unsafe fn take_own(this: *const Self) -> Option<Waker>;

    /// One side leaves.
    ///
    /// # Safety
    ///
    /// The caller's side leaves for the first time, with what the handshake told it. `this` is
    /// looked at only by a form that counts its holders, after a cancellation; it may dangle else.
    unsafe fn leave(this: *const Self, end: End, place: Place) -> OnLeave;
}

/// How the handshake ended.
#[derive(Clone, Copy)]
pub enum End {
    /// READY: by the producer, which touches nothing afterwards.
    Completed,
    /// CANCELLED: by the consumer.
    Cancelled,
}

/// Which side made the terminal move, seen from the one that leaves: the other, if it is second.
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
    /// Whether the producer ever registered: its own note, which it alone writes and reads.
    has_registered: AtomicBool,
    /// No memory and no code: see `Handshake`'s field of this name.
    body: UnsafeCell<()>,
}

impl WithCancel {
    pub(super) fn register_producer(&self, waker: &Waker) {
        // CLAIM: [completion.registered] before the waker is there, also if its clone panics.
        self.has_registered.store(true, Relaxed);
        self.producer.register(waker);
    }

    pub(super) fn new() -> Self {
        Self {
            holders: AtomicUsize::new(2),
            producer: AtomicWaker::new(),
            has_registered: AtomicBool::new(false),
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
    unsafe fn take_own(_this: *const Self) -> Option<Waker> {
        None
    }

    #[inline]
    unsafe fn leave(_this: *const Self, _end: End, place: Place) -> OnLeave {
        by_place(place)
    }
}

impl Sealed for WithCancel {
    unsafe fn take_producer(this: *const Self) -> Option<Waker> {
        // SAFETY: [completion.freed-once] the caller has not left, so the allocation is held.
        let kind = unsafe { &*this };
        kind.producer.take()
    }

    #[inline]
    unsafe fn take_own(this: *const Self) -> Option<Waker> {
        // SAFETY: [completion.freed-once] the caller has not left, so the allocation is held.
        let kind = unsafe { &*this };
        // CLAIM: [completion.registered]
        if kind.has_registered.load(Relaxed) {
            kind.producer.take()
        } else {
            None
        }
    }

    #[inline]
    unsafe fn leave(this: *const Self, end: End, place: Place) -> OnLeave {
        if let End::Completed = end {
            return by_place(place);
        }
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

#[inline]
fn by_place(place: Place) -> OnLeave {
    match place {
        Place::First => OnLeave::Keep,
        Place::Second => OnLeave::Free,
    }
}
