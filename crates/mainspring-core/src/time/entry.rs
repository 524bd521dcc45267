//! The place of one timer, inside the future that waits for it, and who keeps it.
//!
//! A [`TimerEntry`] lives in a pinned future and is linked into whatever [`Timers`] it registered
//! with: a worker's wheel, an event loop's heap, or the fallback thread. It knows them by itself,
//! so that dropping or resetting it needs no thread-local, and they live for ever (shards are
//! pooled), so that it needs no count.
//!
//! This file is the protocol between the two sides. The *owner* is the future: it has the entry
//! pinned and exclusively, [`TimerEntry`]'s methods are its side. The *timers* have an [`EntryRef`]
//! and a lock of their own, here called the shard's lock.
//!
//! # States
//!
//! One word, so that a deadline and "fired" can never disagree:
//!
//! ```text
//!              register                       fire (the deadline has passed)
//!   IDLE ─────────────────────▶ ARMED(deadline) ─────────────────────▶ FIRED
//!    ▲                           │  ╰─╯ extend (a later deadline)        │
//!    │  deregister, evict        │                                       │
//!    ├───────────────────────────╯                                       │
//!    ╰───────────────────────────────────────────────────────────────────╯ reset
//! ```
//!
//! # Who may touch what
//!
//! | field | IDLE, FIRED | ARMED |
//! |---|---|---|
//! | word | owner | owner: extend, by exchange; timers, under the lock: all else |
//! | waker | owner (moved out) | anybody reads; the owner writes, under the lock |
//! | kept, place | nobody | timers, under the lock |
//! | timers, class | owner | nobody writes; anybody reads |
//!
//! The owner reads an armed waker without the lock, only to compare it: firing copies it out and
//! does not overwrite it, so both sides only read. Stale equality does no harm. Either the waker
//! compared was fired during this poll, and then the task is polled again; or it was released
//! before, and whoever got its address again, this poll's own task, happens after the release and
//! hence sees FIRED, before it compares.
//!
//! # Invariants
//!
//! - **entry.init** — `waker` holds a live waker exactly while the word says ARMED.
//! - **entry.linked** — an entry is reachable from its timers only while the word says ARMED, or
//!   while they hold the lock; leaving ARMED is their last access to it.
//! - **entry.pinned** — an entry that was ever armed does not move, and its memory is not reused,
//!   until its drop has taken it out of ARMED.
//! - **entry.alive** — the timers named in an armed entry live for ever.
//!
//! No waker is cloned, woken or dropped while a shard's lock is held: the owner clones before, the
//! verdicts hand wakers out to be dropped or woken after.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `entry.hand-back` | fire, evict | [`TimerEntry::phase`] | the waker copied, the unlinking |
//!
//! # Rejected
//!
//! An `Arc` per timer: an allocation and two contended counts for what the future can hold itself.
//! A state word beside the deadline: extending would then need the lock, or a second look by the
//! firing side. Two words for the timers (`&dyn`): 64 bytes instead of 56 for what one more load on
//! the slow path gives.

mod owner;
mod timers;

pub use self::timers::{
    EntryRef, OnDeregister, OnFire, OnRegister, OnReset, OnRewake, Timers, TimersRef,
    current_timers, enter_timers,
};

use super::Nanos;
use crate::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::task::Waker;

/// How exactly a timer is to fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerClass {
    /// Within the tick of the timers it registers with. Cheapest.
    #[default]
    Normal,
    /// As exactly as the operating system waits.
    Precise,
}

/// Where an entry is in its life, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Registered nowhere: never polled, taken out, or evicted by timers that shut down.
    Idle,
    /// Registered, to fire at this moment.
    Armed(Nanos),
    /// Its deadline passed and its waker was taken to be woken.
    Fired,
}

const IDLE: u64 = u64::MAX;
const FIRED: u64 = u64::MAX - 1;
/// The last deadline that the word can say. It stands for every later one: 584 years are never.
const LAST: u64 = u64::MAX - 2;

/// What the timers keep in the entry: two links, or a heap's handle.
type Kept = MaybeUninit<[u64; 2]>;

/// One timer: 56 bytes in the future that waits.
///
/// [`Sleep`](super::Sleep) wraps it for users; whoever builds timers or futures of their own finds
/// the owner's side here and the other in [`EntryRef`].
///
/// # Trade-offs
///
/// Making, dropping and reading an entry that was never armed, or has fired, takes no lock; arming,
/// disarming, an earlier deadline and another waker take the lock of one shard. Nothing allocates.
pub struct TimerEntry {
    word: AtomicU64,
    waker: UnsafeCell<MaybeUninit<Waker>>,
    kept: UnsafeCell<Kept>,
    place: UnsafeCell<u32>,
    class: TimerClass,
    timers: Option<TimersRef>,
    _pinned: PhantomPinned,
}

#[cfg(all(
    target_pointer_width = "64",
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
const _: () = assert!(size_of::<TimerEntry>() == 56);

// SAFETY: [entry.linked] what another thread may reach of an entry is its word (atomic) and, under
// the shard's lock, the rest. The waker is `Send` and `Sync`, the timers are, kept bytes are the
// timers'.
unsafe impl Send for TimerEntry {}
// SAFETY: [entry.linked] as above; `&TimerEntry` gives the owner's thread nothing but the word and
// fields that nobody writes while it is shared.
unsafe impl Sync for TimerEntry {}

/// What the caller of [`TimerEntry::extend`] has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an earlier deadline needs the lock, and a fired entry has to be armed anew"]
enum OnExtend {
    /// The word says the later deadline; the old slot honours it.
    Extended,
    /// The new deadline is earlier: ask the timers.
    Earlier,
    /// The entry is not armed, or not any more.
    NotArmed,
}

impl TimerEntry {
    /// An entry registered nowhere.
    #[must_use]
    pub fn new(class: TimerClass) -> Self {
        Self {
            word: AtomicU64::new(IDLE),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            kept: UnsafeCell::new(MaybeUninit::uninit()),
            place: UnsafeCell::new(0),
            class,
            timers: None,
            _pinned: PhantomPinned,
        }
    }

    /// How exactly it is to fire.
    #[inline]
    #[must_use]
    pub fn class(&self) -> TimerClass {
        self.class
    }

    /// Where the entry is in its life. One load.
    #[inline]
    #[must_use]
    pub fn phase(&self) -> Phase {
        // ORDERING: [entry.hand-back] Acquire, pairs with the release in `fire` and `evict`: an
        // owner that finds the entry out of ARMED goes on to overwrite the waker or to free the
        // entry, which must come after the timers' last reads. Relaxed would race with them.
        match self.word.load(Acquire) {
            IDLE => Phase::Idle,
            FIRED => Phase::Fired,
            deadline => Phase::Armed(Nanos(deadline)),
        }
    }

    /// ARMED(earlier) → ARMED(later), without the lock.
    fn extend(&self, deadline: Nanos) -> OnExtend {
        let deadline = deadline.0.min(LAST);
        let mut armed = self.word.load(Relaxed);
        loop {
            if armed == IDLE || armed == FIRED {
                return OnExtend::NotArmed;
            }
            if deadline < armed {
                return OnExtend::Earlier;
            }
            match self
                .word
                .compare_exchange(armed, deadline, Relaxed, Relaxed)
            {
                Ok(_) => return OnExtend::Extended,
                Err(found) => armed = found,
            }
        }
    }

    /// Copies the waker out, for whoever takes the entry out of ARMED by what follows. The copy is
    /// the waker only if that succeeds.
    fn copy_waker(&self) -> MaybeUninit<Waker> {
        self.waker.with(|cell| {
            // SAFETY: [entry.init] the cell is readable while the entry is alive; writes to it
            // happen under the lock that the caller holds, or out of ARMED.
            unsafe { cell.read() }
        })
    }

    /// ARMED → FIRED, unless the deadline was extended beyond `now`.
    fn fire(&self, now: Nanos) -> OnFire {
        let mut armed = self.word.load(Relaxed);
        loop {
            debug_assert!(
                armed <= LAST,
                "entry.linked: fired an entry that is not armed"
            );
            if armed > now.0 {
                return OnFire::Later(Nanos(armed));
            }
            let waker = self.copy_waker();
            // ORDERING: [entry.hand-back] Release, pairs with the load in `phase`: the copy above
            // and the unlinking before come first, then the owner may do with the entry as it
            // likes.
            match self.word.compare_exchange(armed, FIRED, Release, Relaxed) {
                // SAFETY: [entry.init] the word said ARMED until this very exchange, so the copy is
                // the live waker; FIRED tells everybody else that it is gone from the cell.
                Ok(_) => return OnFire::Fired(unsafe { waker.assume_init() }),
                Err(found) => armed = found,
            }
        }
    }

    /// ARMED → IDLE, under the lock.
    fn evict(&self) -> OnDeregister {
        let waker = self.copy_waker();
        // ORDERING: [entry.hand-back] Release, pairs with the load in `phase`, as in `fire`: the
        // owner may be on another thread when timers that shut down evict.
        let left = self
            .word
            .fetch_update(Release, Relaxed, |word| (word <= LAST).then_some(IDLE));
        match left {
            // SAFETY: [entry.init] the word said ARMED until this update: the copy is the waker.
            Ok(_) => OnDeregister::Removed(unsafe { waker.assume_init() }),
            Err(_) => OnDeregister::Gone,
        }
    }
}

impl fmt::Debug for TimerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerEntry")
            .field("phase", &self.phase())
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
