//! The value, locked.

use super::Shared;
use super::version::{OnPublish, wake};
use mainspring_core::sync::{RwLockReadGuard, RwLockWriteGuard};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// The value of a channel, as it is while this exists.
///
/// It holds the value's read lock: a sender that sends meanwhile **blocks its thread**, and so does
/// a second borrow while that sender waits. Let go of it before the next `.await` and before you
/// send; copy or clone what you need longer. It cannot leave its thread.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
}

impl<'a, T> Ref<'a, T> {
    /// The value, and the version that it has.
    pub(super) fn new(shared: &'a Shared<T>) -> (Self, u64) {
        let value = shared.value.read();
        // CLAIM: [watch.version] under the lock the two belong together.
        let version = shared.version().current();
        (Self { value }, version)
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The value while a sender changes it. Its drop publishes the change, on unwind too: a closure
/// that panicked may have changed the value before.
pub(super) struct Write<'a, T> {
    shared: &'a Shared<T>,
    value: ManuallyDrop<RwLockWriteGuard<'a, T>>,
    pub(super) is_change: bool,
}

impl<'a, T> Write<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            shared,
            value: ManuallyDrop::new(shared.value.write()),
            is_change: true,
        }
    }
}

impl<T> Deref for Write<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Write<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Write<'_, T> {
    fn drop(&mut self) {
        let publish = if self.is_change {
            self.shared.version().publish()
        } else {
            OnPublish::Quiet
        };
        // SAFETY: [watch.version] dropped here and nowhere else, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.value) };
        match publish {
            OnPublish::Quiet => {}
            OnPublish::Wake => wake(&self.shared.changes),
        }
    }
}
