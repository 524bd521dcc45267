//! Being inside, with a part of the value.

use super::guard::{ReadHold, WriteHold};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Shared access to a part of the value of an [`RwLock`](super::RwLock); dropping it leaves.
#[must_use = "the reader leaves when this is dropped"]
pub struct MappedRwLockReadGuard<'a, U: ?Sized> {
    hold: ReadHold<'a>,
    value: NonNull<U>,
    owner: PhantomData<&'a U>,
}

// SAFETY: [rwlock.exclusive] what a guard gives out is its part, as `&U` does; the rest of it is
// the gate, which any thread may use.
unsafe impl<U: ?Sized + Sync> Send for MappedRwLockReadGuard<'_, U> {}

// SAFETY: [rwlock.exclusive] a shared guard gives out its part, shared, as `&U` does.
unsafe impl<U: ?Sized + Sync> Sync for MappedRwLockReadGuard<'_, U> {}

impl<'a, U: ?Sized> MappedRwLockReadGuard<'a, U> {
    /// `value` is a part of what the gate guards.
    pub(super) fn new(hold: ReadHold<'a>, value: NonNull<U>) -> Self {
        Self {
            hold,
            value,
            owner: PhantomData,
        }
    }

    /// A guard of a part of the part.
    pub fn map<V: ?Sized>(
        guard: Self,
        part: impl FnOnce(&U) -> &V,
    ) -> MappedRwLockReadGuard<'a, V> {
        let value = NonNull::from(part(&guard));
        MappedRwLockReadGuard::new(guard.hold, value)
    }
}

impl<U: ?Sized> Deref for MappedRwLockReadGuard<'_, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: [rwlock.exclusive] a part of the value, which stays where it is while the guard
        // is inside; the guard is borrowed for as long.
        unsafe { self.value.as_ref() }
    }
}

impl<U: ?Sized + fmt::Debug> fmt::Debug for MappedRwLockReadGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Exclusive access to a part of the value of an [`RwLock`](super::RwLock); dropping it
/// leaves.
#[must_use = "the writer leaves when this is dropped"]
pub struct MappedRwLockWriteGuard<'a, U: ?Sized> {
    hold: WriteHold<'a>,
    value: NonNull<U>,
    owner: PhantomData<&'a mut U>,
}

// SAFETY: [rwlock.exclusive] what a guard gives out is its part, as `&mut U` does; the rest of it
// is the gate, which any thread may use.
unsafe impl<U: ?Sized + Send> Send for MappedRwLockWriteGuard<'_, U> {}

// SAFETY: [rwlock.exclusive] a shared guard gives out its part, shared, as `&U` does.
unsafe impl<U: ?Sized + Sync> Sync for MappedRwLockWriteGuard<'_, U> {}

impl<'a, U: ?Sized> MappedRwLockWriteGuard<'a, U> {
    /// `value` is a part of what the gate guards.
    pub(super) fn new(hold: WriteHold<'a>, value: NonNull<U>) -> Self {
        Self {
            hold,
            value,
            owner: PhantomData,
        }
    }

    /// A guard of a part of the part.
    pub fn map<V: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut U) -> &mut V,
    ) -> MappedRwLockWriteGuard<'a, V> {
        let value = NonNull::from(part(&mut guard));
        MappedRwLockWriteGuard::new(guard.hold, value)
    }
}

impl<U: ?Sized> Deref for MappedRwLockWriteGuard<'_, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: [rwlock.exclusive] a part of the value, which stays where it is while the guard
        // is inside; the guard is borrowed for as long.
        unsafe { self.value.as_ref() }
    }
}

impl<U: ?Sized> DerefMut for MappedRwLockWriteGuard<'_, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: [rwlock.exclusive] as above, and nobody else is inside.
        unsafe { self.value.as_mut() }
    }
}

impl<U: ?Sized + fmt::Debug> fmt::Debug for MappedRwLockWriteGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
