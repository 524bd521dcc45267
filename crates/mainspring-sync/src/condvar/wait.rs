//! A wait: queue, unlock, be notified, lock again.

use super::Condvar;
use crate::mutex::{Lock, MutexGuard};
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Waiter, Why};
use mainspring_core::{CancelSafe, WaitList};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How far a wait has come.
enum Stage<'a, T: ?Sized> {
    /// Not polled yet: it has the lock.
    Holds(MutexGuard<'a, T>),
    /// Queued for a notification, without the lock.
    Waits,
    /// Notified; it locks again. `is_one`: the notification was for one alone.
    Locks { is_one: bool },
    /// Ready.
    Done,
}

/// The future of [`Condvar::wait`].
///
/// # Cancel safety
///
/// *Loses place.* The mutex is not held afterwards, and a notification that had come passes on.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'a, T: ?Sized> {
    condvar: &'a Condvar,
    stage: Stage<'a, T>,
    waiter: Waiter<&'a WaitList>,
    lock: Lock<'a, T>,
}

impl<'a, T: ?Sized> Wait<'a, T> {
    pub(super) fn new(condvar: &'a Condvar, guard: MutexGuard<'a, T>) -> Self {
        Self {
            condvar,
            waiter: Waiter::new(&condvar.list, ()),
            lock: MutexGuard::mutex(&guard).lock(),
            stage: Stage::Holds(guard),
        }
    }
}

impl<'a, T: ?Sized> Future for Wait<'a, T> {
    type Output = MutexGuard<'a, T>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<MutexGuard<'a, T>> {
        // SAFETY: [condvar.pinned] `waiter` and `lock` are not moved out of; the rest is not
        // pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [condvar.pinned] a projection of a pinned field.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        // SAFETY: [condvar.pinned] a projection of a pinned field.
        let lock = unsafe { Pin::new_unchecked(&mut this.lock) };
        assert!(
            !matches!(this.stage, Stage::Done),
            "MS0017: a `Wait` was polled after its end (docs/errors.md)"
        );
        if !matches!(this.stage, Stage::Locks { .. }) {
            let notified = waiter.poll_wait(cx, |_, (), why| match why {
                Why::Offered(_) => Some(true),
                Why::Released => Some(false),
                Why::First | Why::Again => None,
            });
            let Poll::Ready(is_one) = notified else {
                // CLAIM: [condvar.queued] only now: whoever locks next finds it in the queue.
                drop(std::mem::replace(&mut this.stage, Stage::Waits));
                let number = std::ptr::from_ref(&this.condvar.list).addr() as u64;
                wait::note(WaitKind::Notify, number);
                return Poll::Pending;
            };
            // If it was notified by taking over from a wait of its own task, it has the lock still.
            drop(std::mem::replace(&mut this.stage, Stage::Locks { is_one }));
        }
        let guard = ready!(lock.poll(cx));
        this.stage = Stage::Done;
        Poll::Ready(guard)
    }
}

impl<T: ?Sized> Drop for Wait<'_, T> {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Locks { is_one: true }) {
            // CLAIM: [condvar.passed-on] what comes before, the waiter's own drop passes on.
            self.condvar.notify_one();
        }
    }
}

impl<T: ?Sized> CancelSafe for Wait<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized> fmt::Debug for Wait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").finish_non_exhaustive()
    }
}

/// The future of [`Condvar::wait_while`].
///
/// # Cancel safety
///
/// *Loses place.* The mutex is not held afterwards, and a notification that had come passes on.
#[must_use = "futures do nothing unless polled"]
pub struct WaitWhile<'a, T: ?Sized, F> {
    condvar: &'a Condvar,
    condition: F,
    /// To be asked about, before the first wait.
    guard: Option<MutexGuard<'a, T>>,
    wait: Option<Wait<'a, T>>,
}

impl<'a, T: ?Sized, F: FnMut(&mut T) -> bool> WaitWhile<'a, T, F> {
    pub(super) fn new(condvar: &'a Condvar, guard: MutexGuard<'a, T>, condition: F) -> Self {
        Self {
            condvar,
            condition,
            guard: Some(guard),
            wait: None,
        }
    }
}

impl<'a, T: ?Sized, F: FnMut(&mut T) -> bool> Future for WaitWhile<'a, T, F> {
    type Output = MutexGuard<'a, T>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready, or if the condition panics; the mutex is
    /// unlocked then.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<MutexGuard<'a, T>> {
        // SAFETY: [condvar.pinned] `wait` is not moved out of; the rest is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [condvar.pinned] a projection of the pinned field.
        let mut wait = unsafe { Pin::new_unchecked(&mut this.wait) };
        loop {
            let mut guard = match wait.as_mut().as_pin_mut() {
                Some(wait) => ready!(wait.poll(cx)),
                None => {
                    let guard = this.guard.take();
                    guard.expect("MS0017: a `WaitWhile` was polled after its end (docs/errors.md)")
                }
            };
            wait.set(None);
            if !(this.condition)(&mut guard) {
                return Poll::Ready(guard);
            }
            wait.set(Some(Wait::new(this.condvar, guard)));
        }
    }
}

impl<T: ?Sized, F: FnMut(&mut T) -> bool> CancelSafe for WaitWhile<'_, T, F> {
    const KEEPS_PLACE: bool = false;
}

impl<T: ?Sized, F> fmt::Debug for WaitWhile<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitWhile").finish_non_exhaustive()
    }
}
