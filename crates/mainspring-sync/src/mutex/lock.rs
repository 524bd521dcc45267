//! Waiting for the lock.

use super::{Mutex, MutexGuard, OwnedMutexGuard};
use crate::semaphore::{Asking, Permits};
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::Holds;
use mainspring_core::{CancelSafe, WaitList};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The future of [`Mutex::lock`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a lock that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Lock<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    asking: Asking<&'a WaitList<Permits>>,
}

impl<'a, T: ?Sized> Lock<'a, T> {
    #[inline]
    pub(super) fn new(mutex: &'a Mutex<T>) -> Self {
        Self {
            mutex,
            asking: Asking::new(&mutex.gate.list, 1, WaitKind::Lock),
        }
    }
}

impl<'a, T: ?Sized> Future for Lock<'a, T> {
    type Output = MutexGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<MutexGuard<'a, T>> {
        let mutex = self.mutex;
        // SAFETY: [mutex.pinned] a projection of the pinned field.
        let asking = unsafe { self.map_unchecked_mut(|this| &mut this.asking) };
        asking.poll_permits(cx).map(|result| {
            let Ok(()) = result else {
                unreachable!("mutex.exclusive: nobody closes a mutex, and one permit is there");
            };
            MutexGuard::new(mutex)
        })
    }
}

impl<T: ?Sized> CancelSafe for Lock<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for Lock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

/// Leads a waiter to the mutex that it owns a share of.
struct Share<T: ?Sized>(Arc<Mutex<T>>);

// SAFETY: [mutex.pinned] what an `Arc` holds does not move and lives as long as the `Arc`.
unsafe impl<T: ?Sized> Holds for Share<T> {
    type Kind = Permits;

    fn list(&self) -> &WaitList<Permits> {
        &self.0.gate.list
    }
}

/// The future of [`Mutex::lock_owned`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it holds nothing: a lock that had been offered to it
/// goes on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct LockOwned<T: ?Sized> {
    asking: Asking<Share<T>>,
}

impl<T: ?Sized> LockOwned<T> {
    pub(super) fn new(mutex: Arc<Mutex<T>>) -> Self {
        Self {
            asking: Asking::new(Share(mutex), 1, WaitKind::Lock),
        }
    }
}

impl<T: ?Sized> Future for LockOwned<T> {
    type Output = OwnedMutexGuard<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<OwnedMutexGuard<T>> {
        // SAFETY: [mutex.pinned] a projection of the pinned field.
        let asking = unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.asking) };
        asking.poll_permits(cx).map(|result| {
            let Ok(()) = result else {
                unreachable!("mutex.exclusive: nobody closes a mutex, and one permit is there");
            };
            OwnedMutexGuard::new(Arc::clone(&self.asking.holder().0))
        })
    }
}

impl<T: ?Sized> CancelSafe for LockOwned<T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for LockOwned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockOwned").finish_non_exhaustive()
    }
}
