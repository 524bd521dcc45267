//! A parked waker as two atomic words, so that it can be looked at before it is owned.
//!
//! A completer has to move the consumer's waker out and publish its value in *one* step: after
//! the publish the consumer may free the cell, so nothing of it can be read any more, and before
//! the publish the waker is not yet the completer's. So the completer copies the two words first,
//! publishes by a compare-exchange on a word that carries the round in which they were written,
//! and only a success makes the copy a [`Waker`]. Whoever fails throws the copy away.
//!
//! # Invariants
//!
//! - **waker-words.owned** — a copy is turned into a [`Waker`] at most once for each store, by the
//!   one whose compare-exchange ended the round (or, before its words were published, by the
//!   consumer that stored them).

use crate::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{RawWakerVTable, Waker};

/// Room for one waker, written by one consumer and copied by anybody.
///
/// Every access is relaxed: the state word beside it carries the edges.
pub(crate) struct WakerWords {
    data: AtomicPtr<()>,
    vtable: AtomicPtr<RawWakerVTable>,
}

/// A copy of the two words, which is nobody's waker until its round was won.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    data: *const (),
    vtable: *const RawWakerVTable,
}

impl WakerWords {
    pub(crate) fn new() -> Self {
        Self {
            data: AtomicPtr::new(ptr::null_mut()),
            vtable: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Stores `waker`, which the words own from now on. What was in them is forgotten.
    #[inline]
    pub(crate) fn store(&self, waker: Waker) {
        let waker = ManuallyDrop::new(waker);
        self.data.store(waker.data().cast_mut(), Relaxed);
        self.vtable
            .store(ptr::from_ref(waker.vtable()).cast_mut(), Relaxed);
    }

    /// Copies the words, possibly while they are being written.
    #[inline]
    pub(crate) fn copy(&self) -> Copied {
        Copied {
            data: self.data.load(Relaxed),
            vtable: self.vtable.load(Relaxed),
        }
    }

    /// Whether the words, read by the thread that wrote them, wake the same task as `waker`.
    #[inline]
    pub(crate) fn will_wake(&self, waker: &Waker) -> bool {
        let stored = self.copy();
        stored.data == waker.data() && ptr::eq(stored.vtable, waker.vtable())
    }
}

impl fmt::Debug for WakerWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakerWords").finish_non_exhaustive()
    }
}

impl Copied {
    /// Makes the copy a waker.
    ///
    /// # Safety
    ///
    /// The words were copied whole from one [`WakerWords::store`], and the caller is the only one
    /// who ever makes a waker of that store.
    #[inline]
    pub(crate) unsafe fn into_waker(self) -> Waker {
        debug_assert!(
            !self.vtable.is_null(),
            "waker-words.owned: nothing was stored"
        );
        // SAFETY: [waker-words.owned] `store` took the address from a `&'static` vtable, and the
        // caller vouches that the words are those of a store.
        let vtable: &'static RawWakerVTable = unsafe { &*self.vtable };
        // SAFETY: [waker-words.owned] both words come from one live waker, which `store` kept
        // from being dropped and which the caller alone revives.
        unsafe { Waker::new(self.data, vtable) }
    }
}
