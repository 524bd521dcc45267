//! Holding the lock.

use super::{Gate, Mutex};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

/// The lock, held; dropping it unlocks.
struct Hold<'a> {
    gate: &'a Gate,
    was_panicking: bool,
}

impl Drop for Hold<'_> {
    #[inline]
    fn drop(&mut self) {
        self.gate.unlock(self.was_panicking);
    }
}

/// Access to the value of a [`Mutex`]; dropping it unlocks.
///
/// It may be dropped on another thread than the one that locked.
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    hold: Hold<'a>,
    mutex: &'a Mutex<T>,
    /// Shared, it gives out the value, which then has to be `Sync`.
    value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// For whoever has just been given the lock.
    #[inline]
    pub(super) fn new(mutex: &'a Mutex<T>) -> Self {
        Self {
            hold: Hold {
                gate: &mutex.gate,
                was_panicking: thread::panicking(),
            },
            mutex,
            value: PhantomData,
        }
    }

    /// The mutex that a guard locks. Not public: a shared guard would lead to it, for a value that
    /// is `Sync` and not `Send`.
    pub(crate) fn mutex(guard: &Self) -> &'a Mutex<T> {
        guard.mutex
    }

    /// A guard of a part of the value.
    ///
    /// # Panics
    ///
    /// If `part` does; the mutex is unlocked.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U> {
        let value = NonNull::from(part(&mut guard));
        MappedMutexGuard::new(guard.hold, value)
    }

    /// A guard of a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// The guard itself, if there is not.
    pub fn try_map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        match part(&mut guard).map(NonNull::from) {
            Some(value) => Ok(MappedMutexGuard::new(guard.hold, value)),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.mutex.value.with(|value| {
            // SAFETY: [mutex.exclusive] the guard is the lock; it is borrowed for as long.
            unsafe { &*value }
        })
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.mutex.value.with_mut(|value| {
            // SAFETY: [mutex.exclusive] the guard is the lock; it is borrowed exclusively for as
            // long.
            unsafe { &mut *value }
        })
    }
}

/// Access to a part of the value of a [`Mutex`]; dropping it unlocks. Made by [`MutexGuard::map`].
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct MappedMutexGuard<'a, U: ?Sized> {
    hold: Hold<'a>,
    value: NonNull<U>,
    owner: PhantomData<&'a mut U>,
}

// SAFETY: [mutex.exclusive] what a guard gives out is its part, exclusively, as `&mut U` does; the
// rest of it is the gate, which any thread may use.
unsafe impl<U: ?Sized + Send> Send for MappedMutexGuard<'_, U> {}

// SAFETY: [mutex.exclusive] a shared guard gives out its part, shared, as `&U` does.
unsafe impl<U: ?Sized + Sync> Sync for MappedMutexGuard<'_, U> {}

impl<'a, U: ?Sized> MappedMutexGuard<'a, U> {
    /// `value` is a part of what the gate guards.
    fn new(hold: Hold<'a>, value: NonNull<U>) -> Self {
        Self {
            hold,
            value,
            owner: PhantomData,
        }
    }

    /// A guard of a part of the part.
    ///
    /// # Panics
    ///
    /// If `part` does; the mutex is unlocked.
    pub fn map<V: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut U) -> &mut V,
    ) -> MappedMutexGuard<'a, V> {
        let value = NonNull::from(part(&mut guard));
        MappedMutexGuard::new(guard.hold, value)
    }
}

impl<U: ?Sized> Deref for MappedMutexGuard<'_, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: [mutex.exclusive] a part of the value, which stays where it is while the lock is
        // held; the guard is borrowed for as long.
        unsafe { self.value.as_ref() }
    }
}

impl<U: ?Sized> DerefMut for MappedMutexGuard<'_, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: [mutex.exclusive] as above, and exclusively.
        unsafe { self.value.as_mut() }
    }
}

/// Access to the value of a [`Mutex`] that is shared by [`Arc`]; dropping it unlocks.
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    was_panicking: bool,
    /// Shared, it gives out the value, which then has to be `Sync`.
    value: PhantomData<T>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// For whoever has just been given the lock.
    #[inline]
    pub(super) fn new(mutex: Arc<Mutex<T>>) -> Self {
        Self {
            mutex,
            was_panicking: thread::panicking(),
            value: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.mutex.value.with(|value| {
            // SAFETY: [mutex.exclusive] the guard is the lock; it is borrowed for as long.
            unsafe { &*value }
        })
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.mutex.value.with_mut(|value| {
            // SAFETY: [mutex.exclusive] the guard is the lock; it is borrowed exclusively for as
            // long.
            unsafe { &mut *value }
        })
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.gate.unlock(self.was_panicking);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<U: ?Sized + fmt::Debug> fmt::Debug for MappedMutexGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
