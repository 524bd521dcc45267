//! Waiting, without the lock, until somebody says that the guarded value has changed.
//!
//! A wait queues itself first and gives the lock up then, so a notification that is made by whoever
//! locks next finds it. When it was notified it locks again, in the mutex's own queue.
//!
//! # Invariants
//!
//! - **condvar.queued** — a wait is in the queue before its mutex is unlocked.
//! - **condvar.passed-on** — a wait that is dropped after it was notified, and before it has the
//!   lock again, passes the notification on to the next one.
//! - **condvar.pinned** — the waiter and the lock request in a future are pinned with it.
//!
//! # Rejected
//!
//! Moving notified waiters from here to the mutex's queue, so that a notification of all wakes one
//! at a time: they would have to know each other's mutex, and a waiter woken to find the mutex
//! taken queues there in one poll.

mod wait;

pub use self::wait::{Wait, WaitWhile};

use crate::block;
use crate::mutex::MutexGuard;
use mainspring_core::WaitList;
use mainspring_core::wait_list::{Diagnosis, From};
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// A place to wait for a change of a value in a [`Mutex`](crate::Mutex).
///
/// Use it where what is waited for is a condition on a locked value. For "something happened" with
/// no value, `Notify` is simpler; for values that are handed over, a channel; for a value
/// whose last state counts, `watch`.
///
/// # Guarantees
///
/// - No notification is missed that is made after the lock was given up.
/// - [`notify_one`](Self::notify_one) goes to the one that has waited longest. If that one is
///   dropped before it has the lock again, the notification passes on to the next; if nobody waits
///   then, it is gone, as one is that nobody waited for.
/// - A wait ends only for a notification; but another task may have locked and changed the value in
///   between, and one that was passed on may come for nothing. So check in a loop, or use
///   [`wait_while`](Self::wait_while).
/// - Waits of one condition variable may use different mutexes.
///
/// # Complexity and allocation
///
/// Waiting allocates nothing. `notify_one` is O(1), `notify_all` O(n); both take a short lock.
///
/// # Example
///
/// ```
/// use mainspring_sync::{Condvar, Mutex};
/// use std::sync::Arc;
///
/// let shared = Arc::new((Mutex::new(None), Condvar::new()));
/// let other = Arc::clone(&shared);
/// let producer = std::thread::spawn(move || {
///     *other.0.lock_blocking() = Some(7);
///     other.1.notify_one();
/// });
/// let (mutex, condvar) = &*shared;
/// let guard = mutex.lock_blocking();
/// let mut guard = condvar.wait_while_blocking(guard, |value| value.is_none());
/// assert_eq!(guard.take(), Some(7));
/// # producer.join().unwrap();
/// ```
pub struct Condvar {
    list: WaitList,
}

impl Condvar {
    /// One that nobody waits on.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new() -> Self {
        Self {
            list: WaitList::new(()),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new() -> Self {
        Self {
            list: WaitList::new(()),
        }
    }

    /// One whose notifications are taken back from tasks that are polled without taking them, and
    /// passed on, under executors of this family. Costs one small box a waiter, and one for itself.
    #[must_use]
    pub fn revocable() -> Self {
        Self {
            list: WaitList::revocable(()),
        }
    }

    /// Gives the lock up, waits for a notification, and locks again.
    ///
    /// The lock is given up at the first poll, when the wait is in the queue. A future that is
    /// dropped unpolled unlocks all the same.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The mutex is not held afterwards, and a notification that had come passes on.
    pub fn wait<'a, T: ?Sized>(&'a self, guard: MutexGuard<'a, T>) -> Wait<'a, T> {
        Wait::new(self, guard)
    }

    /// Waits while `condition` holds: asks it, with the lock, at once and after each notification.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The mutex is not held afterwards, and a notification that had come passes on.
    pub fn wait_while<'a, T, F>(
        &'a self,
        guard: MutexGuard<'a, T>,
        condition: F,
    ) -> WaitWhile<'a, T, F>
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        WaitWhile::new(self, guard, condition)
    }

    /// As [`wait`](Self::wait), on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn wait_blocking<'a, T: ?Sized>(&'a self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        block::wait(pin!(self.wait(guard)))
    }

    /// As [`wait_while`](Self::wait_while), on this thread.
    ///
    /// # Panics
    ///
    /// As [`wait_blocking`](Self::wait_blocking).
    #[track_caller]
    pub fn wait_while_blocking<'a, T, F>(
        &'a self,
        guard: MutexGuard<'a, T>,
        condition: F,
    ) -> MutexGuard<'a, T>
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        block::wait(pin!(self.wait_while(guard, condition)))
    }

    /// As [`wait`](Self::wait), on this thread, for `limit` at most; then it locks again, however
    /// long that takes. The flag says whether it was notified.
    ///
    /// # Panics
    ///
    /// As [`wait_blocking`](Self::wait_blocking).
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &'a self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let mutex = MutexGuard::mutex(&guard);
        match block::wait_for(pin!(self.wait(guard)), limit) {
            Some(guard) => (guard, true),
            None => (mutex.lock_blocking(), false),
        }
    }

    /// Notifies the one that has waited longest; nobody, if nobody waits.
    ///
    /// The mutex need not be held, but the value has to be changed with the mutex held.
    pub fn notify_one(&self) {
        self.list.wake_one(From::Oldest);
    }

    /// Notifies all that wait now. They lock one after the other.
    pub fn notify_all(&self) {
        self.list.wake_all();
    }

    /// Who waits, and which notifications nobody has taken: for a person to read.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.list.diagnose()
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").field("list", &self.list).finish()
    }
}

#[cfg(test)]
mod tests;
