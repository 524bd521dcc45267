//! Holding the lock, with a share of the mutex and a part of the value.

use super::OwnedMutexGuard;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Access to a part of the value of a [`Mutex`](super::Mutex)
/// that is shared by `Arc`; dropping it unlocks. Made by [`OwnedMutexGuard::map`].
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized> {
    value: NonNull<U>,
    /// Not used for access again: it keeps the lock, and the value where it is.
    guard: OwnedMutexGuard<T>,
    /// Neither a longer-lived nor a shorter-lived part: it can be replaced.
    part: PhantomData<*mut U>,
}

// SAFETY: [mutex.exclusive] what a guard gives out is its part, as `&mut U` does; the rest of
// it is a share of the lock, which has to be fit for any thread.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}

// SAFETY: [mutex.exclusive] a shared guard gives out its part, shared, as `&U` does.
unsafe impl<T: ?Sized + Send, U: ?Sized + Sync> Sync for OwnedMappedMutexGuard<T, U> {}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// A guard of a part of the value.
    ///
    /// # Panics
    ///
    /// If `part` does; the guard is dropped.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> OwnedMappedMutexGuard<T, U> {
        OwnedMappedMutexGuard {
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
    ) -> Result<OwnedMappedMutexGuard<T, U>, Self> {
        match part(&mut guard).map(NonNull::from) {
            Some(value) => Ok(OwnedMappedMutexGuard {
                value,
                guard,
                part: PhantomData,
            }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// A guard of a part of the part.
    ///
    /// # Panics
    ///
    /// If `part` does; the guard is dropped.
    pub fn map<V: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut U) -> &mut V,
    ) -> OwnedMappedMutexGuard<T, V> {
        OwnedMappedMutexGuard {
            value: NonNull::from(part(&mut guard)),
            guard: guard.guard,
            part: PhantomData,
        }
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedMutexGuard<T, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: [mutex.exclusive] a part of the value, which stays where it is, in the
        // `Arc`, while the lock is held; the guard is borrowed for as long.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedMutexGuard<T, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: [mutex.exclusive] as above, and exclusively.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedMappedMutexGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
