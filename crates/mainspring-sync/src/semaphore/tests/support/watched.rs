//! A cell that a model watches.

use mainspring_core::sync::cell::UnsafeCell;

/// What a lock guards in a model, which reports two that are at it at once.
#[derive(Debug)]
pub(crate) struct Watched(UnsafeCell<usize>);

// SAFETY: the tests touch it under the lock that they are about; a model finds out if not.
unsafe impl Sync for Watched {}

impl Watched {
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    /// Changes it. Returns how often that was done.
    pub(crate) fn touch(&self) -> usize {
        self.0.with_mut(|count| {
            // SAFETY: as for `Sync`.
            let count = unsafe { &mut *count };
            *count += 1;
            *count
        })
    }

    /// How often it was touched.
    pub(crate) fn look(&self) -> usize {
        self.0.with(|count| {
            // SAFETY: as for `Sync`.
            unsafe { *count }
        })
    }
}
