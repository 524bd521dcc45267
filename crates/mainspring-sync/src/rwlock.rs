//! One value: many that read it, or one that writes it.
//!
//! # The word
//!
//! How many readers are inside, whether a writer or an upgradable reader is, whether somebody waits
//! (SLOW), and whether the upgradable reader waits for the others to leave (UPGRADING). While SLOW
//! is clear, entering is one compare-exchange; leaving is one addition. Under the wait list's lock
//! a waiter sets SLOW and reads who is inside by the same exchange, so that whoever leaves
//! afterwards comes to the lock.
//!
//! # Who is next
//!
//! The order of arrival, readers and writers in one queue: neither side starves the other. Readers
//! that stand together enter together. One exception: the upgradable reader that upgrades is before
//! everybody, because nobody but it can make room.
//!
//! # Invariants
//!
//! - **rwlock.exclusive** — a writer is inside alone, and the value is written by it only.
//! - **rwlock.slow** — when the lock of the list is free, SLOW is set if somebody is queued; while
//!   it is set, others enter under that lock only.
//! - **rwlock.order** — who comes later enters later, but for the upgrade and for readers that ask
//!   to pass (`try_read_recursive`).
//! - **rwlock.pinned** — the waiter in a future is pinned with it.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `rwlock.turn` | `Turns::leave`, `become_less` | `Turns::enter`, `now` | what was done inside |
//!
//! # Rejected
//!
//! Permits of a semaphore, all of them for a writer: an upgrade would wait behind a writer that
//! waits for the upgrader. Readers past writers that wait: overlapping readers starve a writer. A
//! queue each: needs a rule for whose turn it is, which the order of arrival already is.

mod enter;
mod guard;
mod mapped;
mod owned;
mod owned_part;
mod turns;

pub use self::enter::{Read, ReadOwned, UpgradableRead, Upgrade, Write, WriteOwned};
pub use self::guard::{RwLockReadGuard, RwLockUpgradableGuard, RwLockWriteGuard};
pub use self::mapped::{MappedRwLockReadGuard, MappedRwLockWriteGuard};
pub use self::owned::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};
pub use self::owned_part::{OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard};

use self::turns::{Turns, Want};
use crate::block;
use mainspring_core::WaitList;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::thread;

/// A value that many tasks may read, or one may write, across `.await` points too.
///
/// Use it where reads are long (they await something) and far more frequent than writes. Short
/// reads of a value that is replaced as a whole are better off with a
/// [`Mutex`](crate::Mutex) around an `Arc`.
///
/// # Guarantees
///
/// - First come, first served, in one queue: readers that overlap all the time cannot keep a writer
///   out, nor writers a reader. A reader that comes while a writer waits queues behind it.
/// - **So reading twice deadlocks** if a writer comes in between: the second read waits for the
///   writer, which waits for the first. Pass the guard on instead; or, where that cannot be, use
///   [`try_read_recursive`](Self::try_read_recursive), which a task that reads already always gets.
/// - What was done inside is seen by those that enter later.
/// - A panic does not poison the lock. It leaves a mark if it unwound through a writer:
///   [`has_panicked`](Self::has_panicked).
///
/// # A future that nobody polls
///
/// As in a [`Semaphore`](crate::Semaphore#a-future-that-nobody-polls): turns are *offered*. Another
/// request of the same task takes an offer over; in a [`revocable`](Self::revocable) lock the
/// executor takes it back; [`diagnose`](Self::diagnose) names what is not cured.
///
/// # Complexity and allocation
///
/// One atomic operation to enter and one to leave while nobody waits. Waiting allocates nothing,
/// but for one small box a waiter in a revocable lock. An upgrade that waits is looked for in the
/// queue, in O(n).
///
/// # Example
///
/// ```
/// use mainspring_sync::{RwLock, RwLockWriteGuard};
///
/// let lock = RwLock::new(vec![1]);
/// let mut writer = lock.write_blocking();
/// writer.push(2);
/// let reader = RwLockWriteGuard::downgrade(writer);
/// assert_eq!(reader.len() + lock.read_blocking().len(), 4);
/// assert!(lock.try_write().is_none());
/// ```
pub struct RwLock<T: ?Sized> {
    gate: Gate,
    value: UnsafeCell<T>,
}

// SAFETY: [rwlock.exclusive] a shared lock gives the value to one writer after another, which needs
// `Send`, and to many readers at once, which needs `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The part of a lock that does not know the value.
struct Gate {
    list: WaitList<Turns>,
    has_panicked: AtomicBool,
}

impl Gate {
    /// A writer leaves. `was_panicking`: a panic was under way when it entered.
    #[inline]
    fn leave_written(&self, was_panicking: bool) {
        if thread::panicking() && !was_panicking {
            self.has_panicked.fetch_or(true, Relaxed);
        }
        Turns::leave(&self.list, Want::Write);
    }

    #[inline]
    fn try_enter(&self, want: Want) -> bool {
        self.list.kind().enter(want)
    }
}

impl<T> RwLock<T> {
    /// A lock with nobody inside.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new(value: T) -> Self {
        Self {
            gate: Gate {
                list: WaitList::new(Turns::new()),
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
                list: WaitList::new(Turns::new()),
                has_panicked: AtomicBool::new(false),
            },
            value: UnsafeCell::new(value),
        }
    }

    /// The same lock, whose offers are taken back from tasks that are polled without taking them,
    /// under executors of this family. Costs one small box a waiter, and one for itself.
    #[must_use]
    pub fn revocable(self) -> Self {
        Self {
            gate: Gate {
                list: WaitList::revocable(self.gate.list.kind().moved()),
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

impl<T: ?Sized> RwLock<T> {
    /// Waits to read.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn read(&self) -> Read<'_, T> {
        Read::new(self)
    }

    /// Waits to write.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn write(&self) -> Write<'_, T> {
        Write::new(self)
    }

    /// Waits to read in such a way that it may become writing: beside other readers, but for other
    /// upgradable ones.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn upgradable_read(&self) -> UpgradableRead<'_, T> {
        UpgradableRead::new(self)
    }

    /// As [`read`](Self::read), for a guard that owns a share of the lock.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn read_owned(self: &Arc<Self>) -> ReadOwned<T> {
        ReadOwned::new(Arc::clone(self))
    }

    /// As [`write`](Self::write), for a guard that owns a share of the lock.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future holds nothing before it is ready.
    #[inline]
    pub fn write_owned(self: &Arc<Self>) -> WriteOwned<T> {
        WriteOwned::new(Arc::clone(self))
    }

    /// Reads if no writer is inside and nobody waits.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let is_inside = self.gate.try_enter(Want::Read);
        is_inside.then(|| RwLockReadGuard::new(self))
    }

    /// Reads if no writer is inside, past everybody who waits: always, for whoever reads already.
    ///
    /// The way out where a task has to read twice and cannot pass its guard on. Used for every
    /// read, it starves writers.
    pub fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T>> {
        let is_inside = Turns::enter_past(&self.gate.list, Want::Read);
        is_inside.then(|| RwLockReadGuard::new(self))
    }

    /// Writes if nobody is inside and nobody waits.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let is_inside = self.gate.try_enter(Want::Write);
        is_inside.then(|| RwLockWriteGuard::new(self))
    }

    /// Reads, as [`upgradable_read`](Self::upgradable_read) does, if no writer and no other
    /// upgradable reader is inside and nobody waits.
    #[inline]
    pub fn try_upgradable_read(&self) -> Option<RwLockUpgradableGuard<'_, T>> {
        let is_inside = self.gate.try_enter(Want::Upgradable);
        is_inside.then(|| RwLockUpgradableGuard::new(self))
    }

    /// As [`try_read`](Self::try_read), for a guard that owns a share of the lock.
    #[inline]
    pub fn try_read_owned(self: &Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        let is_inside = self.gate.try_enter(Want::Read);
        is_inside.then(|| OwnedRwLockReadGuard::new(Arc::clone(self)))
    }

    /// As [`try_write`](Self::try_write), for a guard that owns a share of the lock.
    #[inline]
    pub fn try_write_owned(self: &Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        let is_inside = self.gate.try_enter(Want::Write);
        is_inside.then(|| OwnedRwLockWriteGuard::new(Arc::clone(self)))
    }

    /// Waits to read on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn read_blocking(&self) -> RwLockReadGuard<'_, T> {
        block::wait(pin!(self.read()))
    }

    /// Waits to write on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn write_blocking(&self) -> RwLockWriteGuard<'_, T> {
        block::wait(pin!(self.write()))
    }

    /// Waits on this thread to read as [`upgradable_read`](Self::upgradable_read) does.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn upgradable_read_blocking(&self) -> RwLockUpgradableGuard<'_, T> {
        block::wait(pin!(self.upgradable_read()))
    }

    /// The value, of a lock that nobody else can reach.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.with_mut(|value| {
            // SAFETY: [rwlock.exclusive] the borrow of the lock is exclusive.
            unsafe { &mut *value }
        })
    }

    /// Whether a panic unwound through a writer, since [`clear_panicked`](Self::clear_panicked).
    /// Ask from inside: then it says whether the value may be half changed.
    #[must_use]
    pub fn has_panicked(&self) -> bool {
        // Relaxed is enough from inside, which brings along what came before; from outside the
        // answer is old anyway.
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

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwLock");
        let number = turns::number(&self.gate.list);
        let (readers, is_written) = self.gate.list.kind().inside();
        out.field("number", &format_args!("{number:#x}"))
            .field("readers", &readers)
            .field("written", &is_written);
        match self.try_read() {
            Some(guard) => out.field("value", &&*guard),
            None => out.field("value", &format_args!("<locked>")),
        };
        out.field("panicked", &self.has_panicked()).finish()
    }
}

#[cfg(test)]
mod tests;
