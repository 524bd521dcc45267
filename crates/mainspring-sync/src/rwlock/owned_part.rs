//! Being inside, with a share of the lock and a part of the value.

use super::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Shared access to a part of the value of an [`RwLock`](super::RwLock)
/// that is shared by `Arc`; dropping it leaves. Made by [`OwnedRwLockReadGuard::map`].
#[must_use = "the reader leaves when this is dropped"]
pub struct OwnedMappedRwLockReadGuard<T: ?Sized, U: ?Sized> {
    value: NonNull<U>,
    /// Not used for access again: it keeps the lock, and the value where it is.
    guard: OwnedRwLockReadGuard<T>,
    /// Neither a longer-lived nor a shorter-lived part: it can be replaced.
    part: PhantomData<*mut U>,
}

// SAFETY: [rwlock.exclusive] what a guard gives out is its part, as `&U` does; the rest of
// it is a share of the lock, which has to be fit for any thread.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedMappedRwLockReadGuard<T, U> {}

// SAFETY: [rwlock.exclusive] a shared guard gives out its part, shared, as `&U` does.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Sync for OwnedMappedRwLockReadGuard<T, U> {}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// A guard of a part of the value.
    ///
    /// # Panics
    ///
    /// If `part` does; the guard is dropped.
    pub fn map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> &U,
    ) -> OwnedMappedRwLockReadGuard<T, U> {
        OwnedMappedRwLockReadGuard {
            value: NonNull::from(part(&guard)),
            guard,
            part: PhantomData,
        }
    }

    /// A guard of a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// The guard itself, if there is not.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<OwnedMappedRwLockReadGuard<T, U>, Self> {
        match part(&guard).map(NonNull::from) {
            Some(value) => Ok(OwnedMappedRwLockReadGuard {
                value,
                guard,
                part: PhantomData,
            }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedRwLockReadGuard<T, U> {
    /// A guard of a part of the part.
    ///
    /// # Panics
    ///
    /// If `part` does; the guard is dropped.
    pub fn map<V: ?Sized>(
        guard: Self,
        part: impl FnOnce(&U) -> &V,
    ) -> OwnedMappedRwLockReadGuard<T, V> {
        OwnedMappedRwLockReadGuard {
            value: NonNull::from(part(&guard)),
            guard: guard.guard,
            part: PhantomData,
        }
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedRwLockReadGuard<T, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: [rwlock.exclusive] a part of the value, which stays where it is, in the
        // `Arc`, while the lock is held; the guard is borrowed for as long.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedMappedRwLockReadGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Exclusive access to a part of the value of an [`RwLock`](super::RwLock)
/// that is shared by `Arc`; dropping it leaves. Made by [`OwnedRwLockWriteGuard::map`].
#[must_use = "the writer leaves when this is dropped"]
pub struct OwnedMappedRwLockWriteGuard<T: ?Sized, U: ?Sized> {
    value: NonNull<U>,
    /// Not used for access again: it keeps the lock, and the value where it is.
    guard: OwnedRwLockWriteGuard<T>,
    /// Neither a longer-lived nor a shorter-lived part: it can be replaced.
    part: PhantomData<*mut U>,
}

// SAFETY: [rwlock.exclusive] what a guard gives out is its part, as `&mut U` does; the rest of
// it is a share of the lock, which has to be fit for any thread.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send> Send for OwnedMappedRwLockWriteGuard<T, U> {}

// SAFETY: [rwlock.exclusive] a shared guard gives out its part, shared, as `&U` does.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Sync for OwnedMappedRwLockWriteGuard<T, U> {}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// A guard of a part of the value.
    ///
    /// # Panics
    ///
    /// If `part` does; the guard is dropped.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> OwnedMappedRwLockWriteGuard<T, U> {
        OwnedMappedRwLockWriteGuard {
            value: NonNull::from(part(&mut guard)),
            guard,
            part: PhantomData,
        }
    }

    /// A guard of a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// The guard itself, if there is not.
    pub fn try_map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<OwnedMappedRwLockWriteGuard<T, U>, Self> {
        match part(&mut guard).map(NonNull::from) {
            Some(value) => Ok(OwnedMappedRwLockWriteGuard {
                value,
                guard,
                part: PhantomData,
            }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedRwLockWriteGuard<T, U> {
    /// A guard of a part of the part.
    ///
    /// # Panics
    ///
    /// If `part` does; the guard is dropped.
    pub fn map<V: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut U) -> &mut V,
    ) -> OwnedMappedRwLockWriteGuard<T, V> {
        OwnedMappedRwLockWriteGuard {
            value: NonNull::from(part(&mut guard)),
            guard: guard.guard,
            part: PhantomData,
        }
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedRwLockWriteGuard<T, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: [rwlock.exclusive] a part of the value, which stays where it is, in the
        // `Arc`, while the lock is held; the guard is borrowed for as long.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedRwLockWriteGuard<T, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: [rwlock.exclusive] as above, and exclusively.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedMappedRwLockWriteGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
