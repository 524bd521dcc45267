//! One waker's place, into which any thread registers and out of which any thread wakes.
//!
//! # States
//!
//! ```text
//!             register                     finish
//!  EMPTY ─────────────▶ REGISTERING ─────────────────▶ FULL
//!    ▲ ▲   FULL ──────▶      │                          │
//!    │ │        register     │ wake                     │ wake, take
//!    │ │                     ▼                          ▼
//!    │ └─── finish ── REGISTERING|WAKING             TAKING
//!    └──────────────────────────────────────────────────┘
//! ```
//!
//! REGISTERING and TAKING each belong to one thread, which alone touches the slot and alone ends
//! them. A wake that meets REGISTERING leaves its mark on the word, and the registering thread,
//! whose finish then fails, takes the wake over. A registration that meets either wakes its own
//! task at once: something is going on, look again. Nothing of a user's is cloned, woken or
//! dropped in them: `will_wake` compares two pointers and everything else stays outside.
//!
//! # Invariants
//!
//! - **atomic-waker.slot** — the slot is touched only by the thread that moved the word to
//!   REGISTERING or TAKING, and is occupied exactly in FULL.
//! - **atomic-waker.no-residue** — a wake leaves no mark on a word in which nobody registers.
//! - **atomic-waker.no-lost-wake** — after `register` returns, either the waker is in the slot, or
//!   a wake came meanwhile and it was woken.
//! - **atomic-waker.whole** — no foreign code runs in REGISTERING or TAKING.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `atomic-waker.lock` | `register`, `take` | `register`, `take` | the slot |
//! | `atomic-waker.wake` | `take` | `register` | what the waking thread wrote before |
//!
//! The second edge reaches the look after `register` and the poll that a wake taken over leads to.
//!
//! # Rejected
//!
//! - *A wake that sets its bit in every state and clears it again*: two read-modify-writes for the
//!   commonest case, a wake on an empty slot, where one that changes nothing is enough.
//! - *Cloning inside REGISTERING*: a `clone` that panics or comes back here would find it claimed.

use crate::sync::atomic::{
    AtomicU8,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use std::fmt;
use std::task::Waker;

const EMPTY: u8 = 0;
const FULL: u8 = 1;
const REGISTERING: u8 = 2;
/// A wake met REGISTERING; only beside it.
const WAKING: u8 = 4;
const TAKING: u8 = 8;

/// A place for one waker: registering and waking are both free of locks and safe from any thread.
///
/// Use it where one task at a time waits for something that other threads announce. For several
/// waiters, a wait list.
///
/// # The rule
///
/// Look, `register`, **look again**, return `Pending`. What a thread wrote before `wake` is seen
/// by that second look, or the registered waker is woken; a single look before registering loses
/// the event that falls between.
///
/// Only the latest waker counts. Two registrations at the same moment are allowed and one of them
/// is woken at once. Registering the waker that is already there costs two read-modify-writes and
/// no clone; waking an empty slot costs one. Nothing is allocated.
///
/// ```
/// use mainspring_core::AtomicWaker;
/// use std::future::poll_fn;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::task::Poll;
///
/// static RAISED: AtomicBool = AtomicBool::new(false);
/// static WAITER: AtomicWaker = AtomicWaker::new();
///
/// async fn raised() {
///     poll_fn(|cx| {
///         if RAISED.load(Ordering::Acquire) {
///             return Poll::Ready(());
///         }
///         WAITER.register(cx.waker());
///         if RAISED.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
///     })
///     .await
/// }
///
/// fn raise() {
///     RAISED.store(true, Ordering::Release);
///     WAITER.wake();
/// }
/// # raise();
/// # let mut waiting = std::pin::pin!(raised());
/// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(std::future::Future::poll(waiting.as_mut(), &mut cx).is_ready());
/// ```
pub struct AtomicWaker {
    state: AtomicU8,
    slot: UnsafeCell<Option<Waker>>,
}

// SAFETY: [atomic-waker.slot] one thread at a time touches the slot, and wakers are `Send`.
unsafe impl Send for AtomicWaker {}
// SAFETY: [atomic-waker.slot] as above.
unsafe impl Sync for AtomicWaker {}

/// What came of moving the word to REGISTERING.
#[must_use = "a claimed slot must be finished"]
enum Claim {
    /// The slot is the caller's.
    Ours,
    /// It was the other of EMPTY and FULL: try again.
    Changed,
    /// Another thread registers or wakes at this moment.
    Busy,
}

/// What came of comparing with the registered waker.
#[must_use = "a wake that was taken over is owed"]
enum Renewal {
    /// It wakes the same task: nothing is left to do.
    Same,
    /// It wakes another task, or has gone.
    Other,
    /// A wake or a registration is under way: the caller wakes. Here is what was registered.
    Wake(Option<Waker>),
}

/// What came of leaving REGISTERING.
#[must_use = "a wake that was taken over is owed"]
enum Finish {
    /// The slot is registered.
    Registered,
    /// A wake came meanwhile: the slot was emptied, and the caller wakes. Here is what was in it.
    WakeOwed(Option<Waker>),
}

impl AtomicWaker {
    /// An empty place, usable in a `static`.
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            slot: UnsafeCell::new(None),
        }
    }

    /// An empty place.
    #[cfg(all(mainspring_loom, feature = "loom"))]
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            slot: UnsafeCell::new(None),
        }
    }

    /// Makes `waker` the one that the next [`wake`](Self::wake) wakes, in place of any before.
    ///
    /// When a wake or another registration is under way at this moment, `waker` is woken instead:
    /// its task is polled again and registers again.
    ///
    /// # Panics
    ///
    /// When the waker's `clone` or `wake`, or the `drop` of the one it replaces, panics. The place
    /// stays usable; a waker whose predecessor's drop panicked is registered.
    pub fn register(&self, waker: &Waker) {
        // A place that holds something probably holds this task's waker; one that holds nothing
        // takes a clone in any case. A stale look costs a second try.
        if self.state.load(Relaxed) == FULL {
            match self.renew(waker) {
                Renewal::Same => return,
                Renewal::Other => {}
                Renewal::Wake(stored) => {
                    waker.wake_by_ref();
                    drop(stored);
                    return;
                }
            }
        }
        self.replace(waker.clone());
    }

    /// Wakes the registered waker, if there is one, and empties the place.
    pub fn wake(&self) {
        if let Some(waker) = self.take() {
            waker.wake();
        }
    }

    /// Takes the registered waker out without waking it, to be woken later: outside a lock that is
    /// held now, say.
    ///
    /// `None` when nothing was registered or a registration under way has taken the wake over; a
    /// waker that is returned must be woken, or its event is lost.
    #[must_use = "the waker is no longer registered: wake it"]
    pub fn take(&self) -> Option<Waker> {
        let mut state = self.state.load(Relaxed);
        loop {
            let next = match state {
                FULL => TAKING,
                REGISTERING => REGISTERING | WAKING,
                // Nothing to change. The word is written all the same: the next registration has
                // to see what this thread did before.
                unchanged => unchanged,
            };
            // ORDERING: [atomic-waker.wake] Release, pairs with the acquiring moves of
            // `register`. Relaxed would hide the event from the look that follows it.
            // ORDERING: [atomic-waker.lock] Acquire, pairs with the release in `finish`: the slot
            // is whole. Relaxed would read it half written.
            match self.state.compare_exchange(state, next, AcqRel, Relaxed) {
                Ok(FULL) => break,
                Ok(before) => {
                    debug_assert!(
                        next == before || before == REGISTERING,
                        "atomic-waker.no-residue: a mark on an idle word"
                    );
                    return None;
                }
                Err(seen) => state = seen,
            }
        }
        let waker = self.take_slot();
        // ORDERING: [atomic-waker.lock] Release, pairs with the next move to REGISTERING, which
        // writes the slot that we have just read.
        let taken = self.state.swap(EMPTY, Release);
        debug_assert_eq!(
            taken, TAKING,
            "atomic-waker.slot: TAKING was ended by another"
        );
        waker
    }

    /// Compares the registered waker with `waker`.
    fn renew(&self, waker: &Waker) -> Renewal {
        match self.claim(FULL) {
            Claim::Ours => {}
            Claim::Busy => return Renewal::Wake(None),
            Claim::Changed => return Renewal::Other,
        }
        let same = self.slot.with(|slot| {
            // SAFETY: [atomic-waker.slot] [atomic-waker.whole] REGISTERING is ours, and nothing in
            // here is the user's.
            let slot = unsafe { &*slot };
            slot.as_ref().is_some_and(|stored| stored.will_wake(waker))
        });
        match self.finish() {
            Finish::WakeOwed(stored) => Renewal::Wake(stored),
            Finish::Registered if same => Renewal::Same,
            Finish::Registered => Renewal::Other,
        }
    }

    /// Puts `fresh` in, or wakes it.
    fn replace(&self, fresh: Waker) {
        let mut state = self.state.load(Relaxed);
        loop {
            match self.claim(state & FULL) {
                Claim::Ours => break,
                Claim::Changed => state = self.state.load(Relaxed),
                Claim::Busy => return fresh.wake(),
            }
        }
        let old = self.slot.with_mut(|slot| {
            // SAFETY: [atomic-waker.slot] REGISTERING is ours.
            let slot = unsafe { &mut *slot };
            slot.replace(fresh)
        });
        match self.finish() {
            Finish::Registered => drop(old),
            Finish::WakeOwed(stored) => {
                if let Some(waker) = stored {
                    waker.wake();
                }
                drop(old);
            }
        }
    }

    /// Moves from `idle`, EMPTY or FULL, to REGISTERING.
    fn claim(&self, idle: u8) -> Claim {
        // ORDERING: [atomic-waker.lock] Acquire, pairs with the release that ended the last
        // REGISTERING or TAKING. Relaxed would race for the slot with whoever had it.
        // ORDERING: [atomic-waker.wake] Acquire, also of a failure, pairs with `take`: the look
        // after `register`, or the poll that a busy place leads to, sees the event.
        match self
            .state
            .compare_exchange(idle, REGISTERING, Acquire, Acquire)
        {
            Ok(_) => Claim::Ours,
            Err(EMPTY | FULL) => Claim::Changed,
            Err(_) => Claim::Busy,
        }
    }

    /// Ends REGISTERING.
    fn finish(&self) -> Finish {
        // ORDERING: [atomic-waker.lock] Release, pairs with the next claim of the slot, which
        // reads what was put in.
        // ORDERING: [atomic-waker.wake] [atomic-waker.no-lost-wake] Acquire on failure, pairs with
        // `take`: a wake came meanwhile, and the poll that it leads to sees the event.
        if self
            .state
            .compare_exchange(REGISTERING, FULL, Release, Acquire)
            .is_ok()
        {
            return Finish::Registered;
        }
        let stored = self.take_slot();
        // ORDERING: [atomic-waker.lock] Release, as above.
        let left = self.state.swap(EMPTY, Release);
        debug_assert_eq!(
            left,
            REGISTERING | WAKING,
            "atomic-waker.slot: REGISTERING was ended by another"
        );
        Finish::WakeOwed(stored)
    }

    fn take_slot(&self) -> Option<Waker> {
        self.slot.with_mut(|slot| {
            // SAFETY: [atomic-waker.slot] the caller is in REGISTERING or TAKING.
            let slot = unsafe { &mut *slot };
            slot.take()
        })
    }
}

impl Default for AtomicWaker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicWaker").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
