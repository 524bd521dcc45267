//! The timers' side of an entry, and the seam through which entries find their timers.

use super::{LAST, TimerClass, TimerEntry};
use crate::context::{Entered, Slot};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::thread_local;
use crate::time::Nanos;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

/// Whoever keeps timers: a shard of a wheel, a heap, the fallback thread.
///
/// All four methods take the implementer's one lock, do their work, and release it before they
/// return. Whatever waker a verdict carries is woken or dropped by the caller, after that.
///
/// # Safety
///
/// Entries are freed when their owner is told that they are out of ARMED, so the implementer
/// promises:
///
/// - it reaches an entry only between the `register` that linked it and the call that takes it out
///   of ARMED ([`EntryRef::fire`], [`EntryRef::evict`]), and makes every access under its lock;
/// - it has unlinked the entry before `fire` or `evict` says it is out, and never looks at it again
///   before the next `register`;
/// - it waits for nothing else, and calls, clones, drops and wakes no waker, while it holds the
///   lock.
pub unsafe trait Timers: Send + Sync + 'static {
    /// Links `entry`, to fire at `deadline`, and calls [`EntryRef::arm`] on it with `waker`; wakes
    /// whoever waits for an earlier deadline. Or refuses, and has not touched the entry: timers
    /// that have shut down, or that nobody drives.
    ///
    /// # Safety
    ///
    /// The entry is out of ARMED, is the caller's alone, and stays where it is until it has left
    /// ARMED again.
    unsafe fn register(&self, entry: EntryRef, deadline: Nanos, waker: Waker) -> OnRegister;

    /// Unlinks `entry` and [evicts](EntryRef::evict) it, if it is still armed.
    ///
    /// # Safety
    ///
    /// The entry was registered here last, and the caller is its owner.
    unsafe fn deregister(&self, entry: EntryRef) -> OnDeregister;

    /// Moves `entry` to a new deadline, earlier or later, if it is still armed:
    /// [`EntryRef::set_deadline`] and another place.
    ///
    /// # Safety
    ///
    /// As for [`deregister`](Self::deregister).
    unsafe fn reset(&self, entry: EntryRef, deadline: Nanos) -> OnReset;

    /// Puts another waker into `entry` if it is still armed: [`EntryRef::replace_waker`].
    ///
    /// # Safety
    ///
    /// As for [`deregister`](Self::deregister).
    unsafe fn rewake(&self, entry: EntryRef, waker: Waker) -> OnRewake;
}

/// What came of [`Timers::register`].
#[derive(Debug)]
#[must_use = "a refused entry will not be woken"]
pub enum OnRegister {
    /// The entry is armed.
    Armed,
    /// Nobody will fire it here; the waker comes back.
    Refused(Waker),
}

/// What came of [`Timers::deregister`] and [`EntryRef::evict`].
#[derive(Debug)]
#[must_use = "the waker has to be dropped, or woken, outside the lock"]
pub enum OnDeregister {
    /// The entry is idle, its waker here.
    Removed(Waker),
    /// It had fired, or was idle already.
    Gone,
}

/// What came of [`Timers::reset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an entry that was gone has to be registered anew"]
pub enum OnReset {
    /// The entry is armed for the new deadline.
    Armed,
    /// It had fired, or was idle already.
    Gone,
}

/// What came of [`Timers::rewake`].
#[derive(Debug)]
#[must_use = "the waker has to be dropped outside the lock"]
pub enum OnRewake {
    /// The new waker is in place; the old one is here.
    Replaced(Waker),
    /// The entry had fired, or was idle already; the new waker comes back.
    Gone(Waker),
}

/// What [`EntryRef::fire`] found.
#[derive(Debug)]
#[must_use = "a waker has to be woken outside the lock, a later deadline linked again"]
pub enum OnFire {
    /// The entry has fired and may be freed at any moment: wake this.
    Fired(Waker),
    /// Its owner extended the deadline: link it again, at this one. It is still armed.
    Later(Nanos),
}

/// What timers hold of an entry: its address.
///
/// Copies are free and prove nothing. Every method is unsafe with one and the same condition,
/// called *the entry's condition* below: the caller is the [`Timers`] that the entry is registered
/// with (or being registered with), holds its lock, and the entry has not left ARMED since.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct EntryRef(NonNull<TimerEntry>);

// SAFETY: [entry.linked] an address; every access through it is bound to the shard's lock.
unsafe impl Send for EntryRef {}
// SAFETY: [entry.linked] as above.
unsafe impl Sync for EntryRef {}

impl EntryRef {
    pub(super) fn new(entry: &TimerEntry) -> Self {
        Self(NonNull::from(entry))
    }

    /// # Safety
    ///
    /// The entry's condition, or the caller is the owner.
    #[inline]
    unsafe fn entry<'a>(self) -> &'a TimerEntry {
        // SAFETY: [entry.pinned] an entry that has not left ARMED is alive and where it was; all of
        // its fields that change behind a shared reference are cells.
        unsafe { self.0.as_ref() }
    }

    /// IDLE or FIRED → ARMED: what `register` does once the entry has its place.
    ///
    /// # Safety
    ///
    /// Called from [`Timers::register`], once, with the lock held.
    pub unsafe fn arm(self, deadline: Nanos, waker: Waker) {
        // SAFETY: [entry.pinned] the caller of `register` keeps the entry where it is.
        let entry = unsafe { self.entry() };
        debug_assert!(
            entry.word.load(Relaxed) > LAST,
            "entry.linked: registered twice"
        );
        entry.waker.with_mut(|cell| {
            // SAFETY: [entry.init] out of ARMED the cell holds nothing and is the owner's, whose
            // call this is.
            unsafe { &mut *cell }.write(waker);
        });
        // Everybody else learns of the entry through the lock, the owner through its own call.
        entry.word.swap(deadline.0.min(LAST), Relaxed);
    }

    /// The deadline now, which the owner may have extended since it was linked, and may extend
    /// again at any moment.
    ///
    /// # Safety
    ///
    /// The entry's condition.
    #[inline]
    #[must_use]
    pub unsafe fn deadline(self) -> Nanos {
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        let word = entry.word.load(Relaxed);
        debug_assert!(
            word <= LAST,
            "entry.linked: looked at an entry that is not armed"
        );
        Nanos(word)
    }

    /// Sets an earlier or later deadline: what `reset` does beside finding another place.
    ///
    /// # Safety
    ///
    /// Called from [`Timers::reset`] with the lock held, by the owner of an entry registered there.
    pub unsafe fn set_deadline(self, deadline: Nanos) -> OnReset {
        // SAFETY: [entry.pinned] the owner of the entry is our caller.
        let entry = unsafe { self.entry() };
        let set = entry.word.fetch_update(Relaxed, Relaxed, |word| {
            (word <= LAST).then_some(deadline.0.min(LAST))
        });
        match set {
            Ok(_) => OnReset::Armed,
            Err(_) => OnReset::Gone,
        }
    }

    /// Whether the entry is armed: what `deregister`, `reset` and `rewake` look at first, because
    /// it may have fired on the way to the lock.
    ///
    /// # Safety
    ///
    /// The entry's condition, or the owner is the caller and the lock is held.
    #[inline]
    #[must_use]
    pub unsafe fn is_armed(self) -> bool {
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        entry.word.load(Relaxed) <= LAST
    }

    /// ARMED → FIRED if the deadline has passed at `now`: hands out the waker.
    ///
    /// # Safety
    ///
    /// The entry's condition, and the entry has been unlinked. When this returns
    /// [`OnFire::Fired`], the entry may have been freed.
    pub unsafe fn fire(self, now: Nanos) -> OnFire {
        // SAFETY: [entry.linked] by the caller's promise the entry is armed until this call says
        // otherwise, and not touched after.
        unsafe { self.entry() }.fire(now)
    }

    /// ARMED → IDLE: what `deregister` does, and what timers that shut down do to every entry,
    /// whose wakers they then wake, so that the sleeps register elsewhere.
    ///
    /// # Safety
    ///
    /// The entry's condition, or the owner is the caller and the lock is held; and the entry has
    /// been unlinked. When this returns, the entry may have been freed.
    pub unsafe fn evict(self) -> OnDeregister {
        // SAFETY: [entry.linked] as in `fire`.
        unsafe { self.entry() }.evict()
    }

    /// Puts another waker in: what `rewake` does.
    ///
    /// # Safety
    ///
    /// Called from [`Timers::rewake`] with the lock held, by the owner of an entry registered
    /// there.
    pub unsafe fn replace_waker(self, waker: Waker) -> OnRewake {
        // SAFETY: [entry.pinned] the owner of the entry is our caller.
        let entry = unsafe { self.entry() };
        if entry.word.load(Relaxed) > LAST {
            return OnRewake::Gone(waker);
        }
        let old = entry.waker.with_mut(|cell| {
            // SAFETY: [entry.init] armed entries are fired and evicted under the lock that is
            // held, so nobody copies the waker now; the owner, who compares it, is our caller.
            let cell = unsafe { &mut *cell };
            std::mem::replace(cell, MaybeUninit::new(waker))
        });
        // SAFETY: [entry.init] the entry is armed and stays so while the lock is held.
        OnRewake::Replaced(unsafe { old.assume_init() })
    }

    /// What the timers keep in the entry, as [`keep`](Self::keep) left it.
    ///
    /// # Safety
    ///
    /// The entry's condition, or called from [`Timers::register`] before [`arm`](Self::arm); and
    /// the last `keep` since it was registered was one of the same type.
    #[inline]
    #[must_use]
    pub unsafe fn kept<T: Copy>(self) -> T {
        const { assert!(size_of::<T>() <= 16 && align_of::<T>() <= 8) };
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        entry.kept.with(|kept| {
            // SAFETY: [entry.linked] touched under the shard's lock alone; large and aligned
            // enough, by the assertion, and a `T`, by the caller's promise.
            unsafe { kept.cast::<T>().read() }
        })
    }

    /// Keeps up to 16 bytes in the entry for the timers' own use: the two links of a list, the
    /// handle of a heap.
    ///
    /// # Safety
    ///
    /// The entry's condition, or called from [`Timers::register`] before [`arm`](Self::arm).
    #[inline]
    pub unsafe fn keep<T: Copy>(self, value: T) {
        const { assert!(size_of::<T>() <= 16 && align_of::<T>() <= 8) };
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        entry.kept.with_mut(|kept| {
            // SAFETY: [entry.linked] touched under the shard's lock alone; large and aligned
            // enough, by the assertion.
            unsafe { kept.cast::<T>().write(value) };
        });
    }

    /// The small number that the timers keep in the entry: a slot, an index.
    ///
    /// # Safety
    ///
    /// As for [`keep`](Self::keep).
    #[inline]
    #[must_use]
    pub unsafe fn place(self) -> u32 {
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        entry.place.with(|place| {
            // SAFETY: [entry.linked] the place is touched under the shard's lock alone.
            unsafe { *place }
        })
    }

    /// Replaces the small number that the timers keep in the entry.
    ///
    /// # Safety
    ///
    /// As for [`keep`](Self::keep).
    #[inline]
    pub unsafe fn set_place(self, place: u32) {
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        entry.place.with_mut(|cell| {
            // SAFETY: [entry.linked] the place is touched under the shard's lock alone.
            unsafe { *cell = place };
        });
    }

    /// How exactly the entry is to fire.
    ///
    /// # Safety
    ///
    /// As for [`keep`](Self::keep).
    #[inline]
    #[must_use]
    pub unsafe fn class(self) -> TimerClass {
        // SAFETY: [entry.pinned] by the caller's promise.
        let entry = unsafe { self.entry() };
        entry.class
    }
}

impl fmt::Debug for EntryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryRef").finish_non_exhaustive()
    }
}

/// A name for [`Timers`] that live for ever, in one word.
///
/// ```
/// # use mainspring_core::time::{EntryRef, Nanos, OnDeregister, OnRegister, OnReset, OnRewake};
/// use mainspring_core::time::{self, Timers, TimersRef};
/// use std::task::Waker;
///
/// struct Refusing;
/// // SAFETY: it never keeps an entry.
/// unsafe impl Timers for Refusing {
///     unsafe fn register(&self, _: EntryRef, _: Nanos, waker: Waker) -> OnRegister {
///         OnRegister::Refused(waker)
///     }
/// #   unsafe fn deregister(&self, _: EntryRef) -> OnDeregister { OnDeregister::Gone }
/// #   unsafe fn reset(&self, _: EntryRef, _: Nanos) -> OnReset { OnReset::Gone }
/// #   unsafe fn rewake(&self, _: EntryRef, waker: Waker) -> OnRewake { OnRewake::Gone(waker) }
///     // ..
/// }
///
/// static SHARD: &dyn Timers = &Refusing;
/// let shard = TimersRef::new(&SHARD);
/// let entered = time::enter_timers(shard);
/// assert!(time::current_timers() == Some(shard));
/// # drop(entered);
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct TimersRef(&'static &'static dyn Timers);

impl TimersRef {
    /// The name of timers in a static, or leaked together with the reference to them.
    #[must_use]
    pub const fn new(timers: &'static &'static dyn Timers) -> Self {
        Self(timers)
    }

    /// Leaks `timers`, for a pool of shards: they are recycled, never freed.
    #[must_use]
    pub fn leak<T: Timers>(timers: T) -> Self {
        let timers: &'static dyn Timers = Box::leak(Box::new(timers));
        Self(Box::leak(Box::new(timers)))
    }

    /// The timers.
    #[inline]
    #[must_use]
    pub fn timers(self) -> &'static dyn Timers {
        *self.0
    }
}

impl PartialEq for TimersRef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for TimersRef {}

impl fmt::Debug for TimersRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimersRef").finish_non_exhaustive()
    }
}

thread_local! {
    static TIMERS: Slot<TimersRef> = const { Slot::new() };
}

/// Makes `timers` those that sleeps polled on this thread register with.
pub fn enter_timers(timers: TimersRef) -> Entered {
    Entered::new(&TIMERS, Arc::new(timers))
}

/// The timers of this thread; `None` where no worker of ours runs.
#[inline]
#[must_use]
pub fn current_timers() -> Option<TimersRef> {
    TIMERS.with(|slot| slot.with(|timers| timers.copied()))
}
