//! Being inside, with a share of the lock.

use super::RwLock;
use super::turns::{Turns, Want};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread;

/// Shared access to the value of an [`RwLock`] that is shared by [`Arc`]; dropping it leaves.
#[must_use = "the reader leaves when this is dropped"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// For whoever has just entered.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self { lock }
    }
}

impl<T: ?Sized> Drop for OwnedRwLockReadGuard<T> {
    #[inline]
    fn drop(&mut self) {
        Turns::leave(&self.lock.gate.list, Want::Read);
    }
}

impl<T: ?Sized> Deref for OwnedRwLockReadGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.lock.value.with(|value| {
            // SAFETY: [rwlock.exclusive] no writer but the guard is inside while it is; it is
            // borrowed for as long.
            unsafe { &*value }
        })
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Exclusive access to the value of an [`RwLock`] that is shared by [`Arc`]; dropping it leaves.
#[must_use = "the writer leaves when this is dropped"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    was_panicking: bool,
    value: PhantomData<T>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// For whoever has just entered.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self {
            lock,
            was_panicking: thread::panicking(),
            value: PhantomData,
        }
    }

    /// The writer becomes a reader, with nobody in between. Readers that are next enter beside it.
    #[must_use = "the reader leaves when this is dropped"]
    pub fn downgrade(guard: Self) -> OwnedRwLockReadGuard<T> {
        // It does not leave.
        let guard = ManuallyDrop::new(guard);
        // SAFETY: [rwlock.exclusive] the guard is neither used nor dropped again, so its share is
        // ours.
        let lock = unsafe { std::ptr::read(&guard.lock) };
        let reader = OwnedRwLockReadGuard::new(lock);
        Turns::become_less(&reader.lock.gate.list, Want::Write, Want::Read);
        reader
    }
}

impl<T: ?Sized> Drop for OwnedRwLockWriteGuard<T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.gate.leave_written(self.was_panicking);
    }
}

impl<T: ?Sized> Deref for OwnedRwLockWriteGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.lock.value.with(|value| {
            // SAFETY: [rwlock.exclusive] no writer but the guard is inside while it is; it is
            // borrowed for as long.
            unsafe { &*value }
        })
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.lock.value.with_mut(|value| {
            // SAFETY: [rwlock.exclusive] nobody else is inside while the guard is; it is borrowed
            // exclusively for as long.
            unsafe { &mut *value }
        })
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
