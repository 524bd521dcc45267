//! One value, and one task at a time that is at it.
//!
//! A mutex is one permit of a strict semaphore: who comes first is served first, nobody passes, and
//! the rules for offers that nobody polls for are the semaphore's. Locking without contention is
//! one compare-exchange, unlocking one addition.
//!
//! # Invariants
//!
//! - **mutex.exclusive** — whoever has the permit, and nobody else, touches the value.
//! - **mutex.panicked** — the flag is set by a hold that ends while a panic unwinds that began
//!   after it had begun, and by nothing else.
//! - **mutex.pinned** — the waiter in a future is pinned with it.
//!
//! What one holder did is seen by the next: `semaphore.permit`.
//!
//! # Rejected
//!
//! Poisoning: under an executor a panic ends one task, and its neighbours, who share the mutex,
//! would end with it. Barging (a newcomer takes a lock that was just given up, before a waiter is
//! polled): faster under contention, and starves. Handing over in the waiter's own word: nothing
//! could be taken back from a future that nobody polls.

mod guard;
mod lock;
mod owned_part;

pub use self::guard::{MappedMutexGuard, MutexGuard, OwnedMutexGuard};
pub use self::lock::{Lock, LockOwned};
pub use self::owned_part::OwnedMappedMutexGuard;

use crate::block;
use crate::semaphore::{Permits, give};
use mainspring_core::WaitList;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A value that one task at a time may use, across `.await` points too.
///
/// Use it where the lock is held while something is awaited. Where it is not, a
/// [`std::sync::Mutex`] is smaller and does as well; where tasks take turns with one resource, a
/// task that owns it and a channel often do better.
///
/// # Guarantees
///
/// - First come, first served; nobody passes.
/// - What one holder did is seen by the next.
/// - A panic does not poison the mutex. It leaves a mark that
///   [`has_panicked`](Self::has_panicked) shows: the value may be half changed.
/// - Locking twice in one task deadlocks that task, as with every mutex.
///
/// # A future that nobody polls
///
/// As in a [`Semaphore`](crate::Semaphore#a-future-that-nobody-polls): the lock is *offered* to a
/// waiter. If its task locks once more instead of polling it, the new request takes the offer over;
/// in a [`revocable`](Self::revocable) mutex it passes on as well once an executor of this family
/// has polled the task; [`diagnose`](Self::diagnose) names what is not cured.
///
/// # Complexity and allocation
///
/// One atomic operation to lock and one to unlock while nobody waits. Waiting allocates nothing,
/// but for one small box a waiter in a revocable mutex, and one for the mutex.
///
/// # Example
///
/// ```
/// use mainspring_sync::Mutex;
///
/// static COUNT: Mutex<u32> = Mutex::new(0);
///
/// *COUNT.lock_blocking() += 1;
/// let guard = COUNT.try_lock().unwrap();
/// assert_eq!(*guard, 1);
/// assert!(COUNT.try_lock().is_none());
/// ```
pub struct Mutex<T: ?Sized> {
    gate: Gate,
    value: UnsafeCell<T>,
}

// SAFETY: [mutex.exclusive] a shared mutex gives the value to one thread after another, which needs
// `Send`, and never to two at once.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The part of a mutex that does not know the value.
struct Gate {
    list: WaitList<Permits>,
    has_panicked: AtomicBool,
}

impl Gate {
    /// Ends a hold. `was_panicking`: a panic was under way when it began.
    #[inline]
    fn unlock(&self, was_panicking: bool) {
        if thread::panicking() && !was_panicking {
            // CLAIM: [mutex.panicked]
            self.has_panicked.fetch_or(true, Relaxed);
        }
        give(&self.list, 1);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        Permits::try_take(&self.list, 1).is_ok()
    }
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new(value: T) -> Self {
        Self {
            gate: Gate {
                list: WaitList::new(Permits::new(1, true)),
                has_panicked: AtomicBool::new(false),
            },
            value: UnsafeCell::new(value),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new(value: T) -> Self {
        Self {
            gate: Gate {
                list: WaitList::new(Permits::new(1, true)),
                has_panicked: AtomicBool::new(false),
            },
            value: UnsafeCell::new(value),
        }
    }

    /// The same mutex, whose offers are taken back from tasks that are polled without taking them,
    /// under executors of this family. Costs one small box a waiter, and one for itself.
    #[must_use]
    pub fn revocable(self) -> Self {
        let permits = self.gate.list.with(|queue| queue.kind().moved(queue));
        Self {
            gate: Gate {
                list: WaitList::revocable(permits),
                has_panicked: self.gate.has_panicked,
            },
            value: self.value,
        }
    }

    /// The value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn lock(&self) -> Lock<'_, T> {
        Lock::new(self)
    }

    /// As [`lock`](Self::lock), for a guard that owns a share of the mutex.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn lock_owned(self: &Arc<Self>) -> LockOwned<T> {
        LockOwned::new(Arc::clone(self))
    }

    /// Locks if nobody has the lock and nobody waits for it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.gate.try_lock().then(|| MutexGuard::new(self))
    }

    /// As [`try_lock`](Self::try_lock), for a guard that owns a share of the mutex.
    #[inline]
    pub fn try_lock_owned(self: &Arc<Self>) -> Option<OwnedMutexGuard<T>> {
        let is_mine = self.gate.try_lock();
        is_mine.then(|| OwnedMutexGuard::new(Arc::clone(self)))
    }

    /// Waits for the lock on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn lock_blocking(&self) -> MutexGuard<'_, T> {
        block::wait(pin!(self.lock()))
    }

    /// As [`lock_blocking`](Self::lock_blocking), for a guard that owns a share of the mutex.
    ///
    /// # Panics
    ///
    /// As [`lock_blocking`](Self::lock_blocking).
    #[track_caller]
    pub fn lock_owned_blocking(self: &Arc<Self>) -> OwnedMutexGuard<T> {
        block::wait(pin!(self.lock_owned()))
    }

    /// Waits for the lock on this thread, for `limit` at most: `None` if it was not free in time.
    ///
    /// # Panics
    ///
    /// As [`lock_blocking`](Self::lock_blocking).
    #[track_caller]
    pub fn lock_timeout(&self, limit: Duration) -> Option<MutexGuard<'_, T>> {
        block::wait_for(pin!(self.lock()), limit)
    }

    /// The value, of a mutex that nobody else can reach.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.with_mut(|value| {
            // SAFETY: [mutex.exclusive] the borrow of the mutex is exclusive.
            unsafe { &mut *value }
        })
    }

    /// Whether somebody has the lock. It may be free when you look at the answer.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.gate.list.kind().free() == 0
    }

    /// Whether a panic unwound through somebody who had the lock, since
    /// [`clear_panicked`](Self::clear_panicked). Ask with the lock held: then it says whether the
    /// value may be half changed.
    #[must_use]
    pub fn has_panicked(&self) -> bool {
        // Relaxed is enough with the lock held, which brings along what came before; without it
        // the answer is old anyway.
        self.gate.has_panicked.load(Relaxed)
    }

    /// The value was put in order.
    pub fn clear_panicked(&self) {
        self.gate.has_panicked.fetch_and(false, Relaxed);
    }

    /// Who waits, and which offers nobody has taken: for a person to read.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.gate.list.diagnose()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        let number = crate::semaphore::number(&self.gate.list);
        out.field("number", &format_args!("{number:#x}"));
        match self.try_lock() {
            Some(guard) => out.field("value", &&*guard),
            None => out.field("value", &format_args!("<locked>")),
        };
        out.field("panicked", &self.has_panicked()).finish()
    }
}

#[cfg(test)]
mod tests;
