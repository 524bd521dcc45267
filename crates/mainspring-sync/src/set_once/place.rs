//! Room for one value that is written once and then only read.

use mainspring_core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use mainspring_core::sync::cell::UnsafeCell;

/// Room for one value.
pub(crate) struct Place<T> {
    is_set: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: [set-once.init] the value is put in by one thread, used by others, and dropped by any.
unsafe impl<T: Send> Send for Place<T> {}
// SAFETY: [set-once.init] as above, and it is shared by whoever reads it.
unsafe impl<T: Send + Sync> Sync for Place<T> {}

impl<T> Place<T> {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(crate) const fn new() -> Self {
        Self {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(None),
        }
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(crate) fn new() -> Self {
        Self {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(None),
        }
    }

    /// The value, if it was put in.
    #[inline]
    pub(crate) fn value(&self) -> Option<&T> {
        // ORDERING: [set-once.set] Acquire, pairs with `put`: whoever finds the flag finds the
        // value. Relaxed would read one that is not written yet.
        if !self.is_set.load(Acquire) {
            return None;
        }
        self.value.with(|value| {
            // SAFETY: [set-once.init] written before the flag, and not written again while `self`
            // is borrowed.
            unsafe { &*value }.as_ref()
        })
    }

    /// The value, if it was put in, for its only user.
    pub(crate) fn value_mut(&mut self) -> Option<&mut T> {
        self.value.with_mut(|value| {
            // SAFETY: [set-once.init] the borrow is exclusive.
            unsafe { &mut *value }.as_mut()
        })
    }

    /// The value, if it was put in.
    pub(crate) fn into_value(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Puts the value in; gives it back if there is one.
    ///
    /// # Safety
    ///
    /// Nobody else puts at the same time: the caller holds the lock that they all hold.
    pub(crate) unsafe fn put(&self, value: T) -> Option<T> {
        // Relaxed: it was set under the caller's lock.
        if self.is_set.load(Relaxed) {
            return Some(value);
        }
        self.value.with_mut(|place| {
            // SAFETY: [set-once.init] not set, so that nobody reads, and nobody else puts (caller's
            // contract).
            let place = unsafe { &mut *place };
            debug_assert!(place.is_none(), "set-once.init: put in twice");
            *place = Some(value);
        });
        // ORDERING: [set-once.set] Release, pairs with `value`. Relaxed would show the flag before
        // the value.
        self.is_set.store(true, Release);
        None
    }
}
