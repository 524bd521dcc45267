//! Waiting to enter.

use super::turns::{Entering, Turns, Want};
use super::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockUpgradableGuard,
    RwLockWriteGuard,
};
use mainspring_core::wait_list::Holds;
use mainspring_core::{CancelSafe, WaitList};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The future of [`RwLock::read`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a turn that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Read<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    entering: Entering<&'a WaitList<Turns>>,
}

impl<'a, T: ?Sized> Read<'a, T> {
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            lock,
            entering: Entering::new(&lock.gate.list, Want::Read),
        }
    }
}

impl<'a, T: ?Sized> Future for Read<'a, T> {
    type Output = RwLockReadGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let entering = unsafe { self.map_unchecked_mut(|this| &mut this.entering) };
        entering.poll_enter(cx).map(|()| RwLockReadGuard::new(lock))
    }
}

impl<T: ?Sized> CancelSafe for Read<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for Read<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Read").finish_non_exhaustive()
    }
}

/// The future of [`RwLock::write`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a turn that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Write<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    entering: Entering<&'a WaitList<Turns>>,
}

impl<'a, T: ?Sized> Write<'a, T> {
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            lock,
            entering: Entering::new(&lock.gate.list, Want::Write),
        }
    }
}

impl<'a, T: ?Sized> Future for Write<'a, T> {
    type Output = RwLockWriteGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let entering = unsafe { self.map_unchecked_mut(|this| &mut this.entering) };
        entering
            .poll_enter(cx)
            .map(|()| RwLockWriteGuard::new(lock))
    }
}

impl<T: ?Sized> CancelSafe for Write<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write").finish_non_exhaustive()
    }
}

/// The future of [`RwLock::upgradable_read`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a turn that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct UpgradableRead<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    entering: Entering<&'a WaitList<Turns>>,
}

impl<'a, T: ?Sized> UpgradableRead<'a, T> {
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            lock,
            entering: Entering::new(&lock.gate.list, Want::Upgradable),
        }
    }
}

impl<'a, T: ?Sized> Future for UpgradableRead<'a, T> {
    type Output = RwLockUpgradableGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let entering = unsafe { self.map_unchecked_mut(|this| &mut this.entering) };
        entering
            .poll_enter(cx)
            .map(|()| RwLockUpgradableGuard::new(lock))
    }
}

impl<T: ?Sized> CancelSafe for UpgradableRead<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for UpgradableRead<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradableRead").finish_non_exhaustive()
    }
}

/// The future of [`RwLockUpgradableGuard::upgrade`].
///
/// # Cancel safety
///
/// *Loses value*: the guard. Dropped before it is ready it leaves the lock altogether.
#[must_use = "futures do nothing unless polled"]
pub struct Upgrade<'a, T: ?Sized> {
    /// Dropped first: a turn that was offered to it leaves an upgradable reader.
    entering: Entering<&'a WaitList<Turns>>,
    guard: Option<RwLockUpgradableGuard<'a, T>>,
}

impl<'a, T: ?Sized> Upgrade<'a, T> {
    pub(super) fn new(guard: RwLockUpgradableGuard<'a, T>) -> Self {
        let lock = RwLockUpgradableGuard::lock(&guard);
        Self {
            entering: Entering::new(&lock.gate.list, Want::Upgrade),
            guard: Some(guard),
        }
    }
}

impl<'a, T: ?Sized> Future for Upgrade<'a, T> {
    type Output = RwLockWriteGuard<'a, T>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [rwlock.pinned] `entering` is not moved out of; the guard is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        assert!(
            this.guard.is_some(),
            "MS0017: an upgrade was polled after its end (docs/errors.md)"
        );
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let entering = unsafe { Pin::new_unchecked(&mut this.entering) };
        ready!(entering.poll_enter(cx));
        let guard = this.guard.take().expect("it was there a moment ago");
        Poll::Ready(RwLockUpgradableGuard::upgraded(guard))
    }
}

impl<T: ?Sized> fmt::Debug for Upgrade<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade").finish_non_exhaustive()
    }
}

/// Leads a waiter to the lock that it owns a share of.
struct Share<T: ?Sized>(Arc<RwLock<T>>);

// SAFETY: [rwlock.pinned] what an `Arc` holds does not move and lives as long as the `Arc`.
unsafe impl<T: ?Sized> Holds for Share<T> {
    type Kind = Turns;

    fn list(&self) -> &WaitList<Turns> {
        &self.0.gate.list
    }
}

/// The future of [`RwLock::read_owned`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a turn that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct ReadOwned<T: ?Sized> {
    entering: Entering<Share<T>>,
}

impl<T: ?Sized> ReadOwned<T> {
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self {
            entering: Entering::new(Share(lock), Want::Read),
        }
    }
}

impl<T: ?Sized> Future for ReadOwned<T> {
    type Output = OwnedRwLockReadGuard<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let entering = unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.entering) };
        entering
            .poll_enter(cx)
            .map(|()| OwnedRwLockReadGuard::new(Arc::clone(&self.entering.holder().0)))
    }
}

impl<T: ?Sized> CancelSafe for ReadOwned<T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for ReadOwned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOwned").finish_non_exhaustive()
    }
}

/// The future of [`RwLock::write_owned`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a turn that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct WriteOwned<T: ?Sized> {
    entering: Entering<Share<T>>,
}

impl<T: ?Sized> WriteOwned<T> {
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self {
            entering: Entering::new(Share(lock), Want::Write),
        }
    }
}

impl<T: ?Sized> Future for WriteOwned<T> {
    type Output = OwnedRwLockWriteGuard<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let entering = unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.entering) };
        entering
            .poll_enter(cx)
            .map(|()| OwnedRwLockWriteGuard::new(Arc::clone(&self.entering.holder().0)))
    }
}

impl<T: ?Sized> CancelSafe for WriteOwned<T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for WriteOwned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOwned").finish_non_exhaustive()
    }
}
