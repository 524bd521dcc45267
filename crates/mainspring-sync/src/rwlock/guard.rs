//! Being inside.

use super::turns::{Turns, Want};
use super::{Gate, MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, Upgrade};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::thread;

/// A reader, inside; dropping it leaves.
pub(super) struct ReadHold<'a>(&'a Gate);

impl Drop for ReadHold<'_> {
    #[inline]
    fn drop(&mut self) {
        Turns::leave(&self.0.list, Want::Read);
    }
}

/// A writer, inside; dropping it leaves.
pub(super) struct WriteHold<'a> {
    gate: &'a Gate,
    was_panicking: bool,
}

impl<'a> WriteHold<'a> {
    fn new(gate: &'a Gate) -> Self {
        Self {
            gate,
            was_panicking: thread::panicking(),
        }
    }
}

impl Drop for WriteHold<'_> {
    #[inline]
    fn drop(&mut self) {
        self.gate.leave_written(self.was_panicking);
    }
}

/// An upgradable reader, inside; dropping it leaves.
struct UpgradableHold<'a>(&'a Gate);

impl Drop for UpgradableHold<'_> {
    #[inline]
    fn drop(&mut self) {
        Turns::leave(&self.0.list, Want::Upgradable);
    }
}

/// Shared access to the value of an [`RwLock`]; dropping it leaves.
#[must_use = "the reader leaves when this is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    hold: ReadHold<'a>,
    lock: &'a RwLock<T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// For whoever has just entered.
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            hold: ReadHold(&lock.gate),
            lock,
        }
    }

    /// A guard of a part of the value.
    pub fn map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> &U,
    ) -> MappedRwLockReadGuard<'a, U> {
        let value = NonNull::from(part(&guard));
        MappedRwLockReadGuard::new(guard.hold, value)
    }

    /// A guard of a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// The guard itself, if there is not.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwLockReadGuard<'a, U>, Self> {
        match part(&guard).map(NonNull::from) {
            Some(value) => Ok(MappedRwLockReadGuard::new(guard.hold, value)),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Exclusive access to the value of an [`RwLock`]; dropping it leaves.
#[must_use = "the writer leaves when this is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    hold: WriteHold<'a>,
    lock: &'a RwLock<T>,
    value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// For whoever has just entered.
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            hold: WriteHold::new(&lock.gate),
            lock,
            value: PhantomData,
        }
    }

    /// The writer becomes a reader, with nobody in between. Readers that are next enter beside it.
    #[must_use = "the reader leaves when this is dropped"]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let lock = guard.lock;
        // It does not leave. What it would say about a panic it says when it does.
        mem::forget(guard.hold);
        let reader = RwLockReadGuard::new(lock);
        Turns::become_less(&lock.gate.list, Want::Write, Want::Read);
        reader
    }

    /// A guard of a part of the value.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedRwLockWriteGuard<'a, U> {
        let value = NonNull::from(part(&mut guard));
        MappedRwLockWriteGuard::new(guard.hold, value)
    }

    /// A guard of a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// The guard itself, if there is not.
    pub fn try_map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U>, Self> {
        match part(&mut guard).map(NonNull::from) {
            Some(value) => Ok(MappedRwLockWriteGuard::new(guard.hold, value)),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
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

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.lock.value.with_mut(|value| {
            // SAFETY: [rwlock.exclusive] nobody else is inside while the guard is; it is borrowed
            // exclusively for as long.
            unsafe { &mut *value }
        })
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Shared access to the value of an [`RwLock`], beside other readers, that may become exclusive;
/// dropping it leaves. There is one at a time.
#[must_use = "the reader leaves when this is dropped"]
pub struct RwLockUpgradableGuard<'a, T: ?Sized> {
    hold: UpgradableHold<'a>,
    lock: &'a RwLock<T>,
}

impl<'a, T: ?Sized> RwLockUpgradableGuard<'a, T> {
    /// For whoever has just entered.
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            hold: UpgradableHold(&lock.gate),
            lock,
        }
    }

    pub(super) fn lock(guard: &Self) -> &'a RwLock<T> {
        guard.lock
    }

    /// For whoever's upgrade has just come true.
    pub(super) fn upgraded(guard: Self) -> RwLockWriteGuard<'a, T> {
        let lock = guard.lock;
        // It does not leave: it is the writer now.
        mem::forget(guard.hold);
        RwLockWriteGuard::new(lock)
    }

    /// Waits for the other readers to leave and becomes a writer, before everybody who waits: what
    /// was read is still true then.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: the guard. Dropped before it is ready it leaves the lock altogether.
    pub fn upgrade(guard: Self) -> Upgrade<'a, T> {
        Upgrade::new(guard)
    }

    /// Becomes a writer if no other reader is inside.
    ///
    /// # Errors
    ///
    /// The guard itself, if there is one.
    pub fn try_upgrade(guard: Self) -> Result<RwLockWriteGuard<'a, T>, Self> {
        if Turns::enter_past(&guard.lock.gate.list, Want::Upgrade) {
            Ok(Self::upgraded(guard))
        } else {
            Err(guard)
        }
    }

    /// Becomes a reader as all others, so that somebody else can be the upgradable one.
    #[must_use = "the reader leaves when this is dropped"]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let lock = guard.lock;
        // It does not leave.
        mem::forget(guard.hold);
        let reader = RwLockReadGuard::new(lock);
        Turns::become_less(&lock.gate.list, Want::Upgradable, Want::Read);
        reader
    }
}

impl<T: ?Sized> Deref for RwLockUpgradableGuard<'_, T> {
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockUpgradableGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
