//! A signal without a value, with one stored permit.
//!
//! # The word
//!
//! ```text
//!  63                                          2   1        0
//! ┌────────────────────────────────────────────┬───────┬────────┐
//! │ releases: how often all were notified      │ WAITS │ STORED │
//! └────────────────────────────────────────────┴───────┴────────┘
//! ```
//!
//! WAITS sends notifiers to the queue. Without it nobody waits, and a notifier stores its permit,
//! a release of all counts itself, and a newcomer takes the permit, each by one compare-exchange.
//! The bit stays when the last waiter has left, until a notifier comes and finds the queue empty:
//! where one task waits for another again and again, it is written by neither.
//!
//! # Invariants
//!
//! - **notify.waits** — WAITS is changed under the list's lock alone, and is set whenever that is
//!   free and somebody waits; while it is set, STORED is not, and nobody changes the word without
//!   the lock.
//! - **notify.once** — a permit is in the word, in the hands of one waiter, or used: one that is
//!   dropped with it hands it on, from the same end of the queue.
//! - **notify.releases** — a waiter whose count of releases is not the word's is done, and leaves
//!   the permit to others.
//! - **notify.placeholder** — a future that was enabled and not polled has a waker that does
//!   nothing and is like no other future's.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `notify.permit` | `store`, `signal` | `take`, `take_or_wait` | what the notifier wrote |
//! | `notify.release` | `release` | `take`, `take_or_wait`, `releases` | what the notifier wrote |
//!
//! What an offer or a release in the queue carries goes with the queue.
//!
//! # Rejected
//!
//! A waiter that counts from its first poll: a notification of all between the creation of the
//! future and the poll would be lost to whoever looked at his condition in between. The count in
//! another word than the flags: "released before I came to queue" and "somebody waits" would need a
//! fence between them.

mod notified;
mod signal;

pub use self::notified::{Notified, NotifiedOwned};

use self::signal::{OnNotify, Signal, notify};
use crate::block;
use mainspring_core::wait_list::{Diagnosis, From, WaitList};
use std::fmt;
use std::pin::pin;
// DOOR: a receiver type, which only this one can be; it carries no protocol.
use std::sync::Arc;
use std::time::Duration;

/// Wakes one waiter, or all of them, and remembers one notification for whoever comes next.
///
/// Use it to tell tasks that something has changed which they can look up elsewhere. It carries no
/// value: for one value use a [`oneshot`](crate::oneshot), for the latest value a
/// [`watch`](crate::watch), for each of many a channel; to wait until others are done, a
/// [`WaitGroup`](crate::WaitGroup).
///
/// [`notify_one`](Self::notify_one) wakes the oldest waiter, or is stored if nobody waits: the next
/// waiter takes it. No more than one is stored. [`notify_all`](Self::notify_all) reaches every
/// future of [`notified`](Self::notified) that exists, polled or not, and stores nothing.
///
/// # Looking first
///
/// To wait for a condition that another thread makes true, make the future *before* looking:
///
/// ```
/// use mainspring_sync::Notify;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// # use std::{pin::pin, task::{Context, Waker}};
///
/// static READY: AtomicBool = AtomicBool::new(false);
/// static CHANGED: Notify = Notify::new();
///
/// async fn until_ready() {
///     loop {
///         let changed = CHANGED.notified(); // counts from here
///         if READY.load(Ordering::Acquire) {
///             return;
///         }
///         changed.await;
///     }
/// }
///
/// # let mut waiting = pin!(until_ready());
/// # let mut cx = Context::from_waker(Waker::noop());
/// # assert!(waiting.as_mut().poll(&mut cx).is_pending());
/// READY.store(true, Ordering::Release);
/// CHANGED.notify_all();
/// # assert!(waiting.as_mut().poll(&mut cx).is_ready());
/// ```
///
/// With `notify_one` and several waiters the future has to be *registered* before the look, by
/// [`Notified::enable`]: two notifications in a row are one, if neither found a waiter.
///
/// # Guarantees
///
/// - What a thread wrote before it notified is seen by whoever is notified by that.
/// - A notified future that is dropped before it was ready hands its notification to the next
///   waiter, or stores it; one that is forgotten (a leaked box) keeps it for ever. A future that
///   was reached by `notify_all` as well as by a stored permit leaves the permit to others.
/// - Waiters are served in the order in which they were first polled or enabled
///   ([`notify_last`](Self::notify_last) takes the newest instead).
/// - A notification whose future is held but not polled goes to another waiter of the *same task*
///   when that one is polled, see [`WaitList`]; [`diagnose`](Self::diagnose) names such futures.
///
/// # Complexity
///
/// Where nobody waits, notifying and taking are one compare-exchange each. Otherwise a short lock,
/// O(1) for one waiter and O(n) for all. Nothing is allocated.
pub struct Notify {
    list: WaitList<Signal>,
}

impl Notify {
    /// With no permit and nobody waiting; usable in a `static`.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new() -> Self {
        Self {
            list: WaitList::new(Signal::new()),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new() -> Self {
        Self {
            list: WaitList::new(Signal::new()),
        }
    }

    /// Wakes the waiter that has waited longest, or stores the permit if nobody waits.
    ///
    /// # Panics
    ///
    /// When the waiter's waker panics. It is notified all the same.
    #[inline]
    pub fn notify_one(&self) {
        notify(&self.list, From::Oldest);
    }

    /// Wakes the waiter that came last, or stores the permit if nobody waits.
    ///
    /// For a pool of workers that should stay warm: the oldest may wait for ever under load.
    ///
    /// # Panics
    ///
    /// As [`notify_one`](Self::notify_one).
    #[inline]
    pub fn notify_last(&self) {
        notify(&self.list, From::Newest);
    }

    /// Notifies every [`Notified`] that exists and has not been ready yet. Stores nothing, and
    /// leaves a stored permit where it is.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, when every waker was called.
    pub fn notify_all(&self) {
        let signal = self.list.kind();
        match signal.release_if_nobody_waits() {
            OnNotify::Done => {}
            OnNotify::Queue => self.list.with(|queue| {
                // CLAIM: [notify.releases] both under one lock: who looks from now on is too late
                // for the queue and sees the count.
                signal.release();
                queue.wake_all();
            }),
        }
    }

    /// A future of the next notification. It counts for [`notify_all`](Self::notify_all) from now
    /// on, and for [`notify_one`](Self::notify_one) from its first poll, or
    /// [`enable`](Notified::enable).
    ///
    /// # Cancel safety
    ///
    /// *Safe*, but it *loses place*: dropped early, it hands a notification on, and the next future
    /// is the last in the queue and misses a `notify_all` in between.
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified::new(&self.list)
    }

    /// As [`notified`](Self::notified), keeping the `Notify` alive, for a future without a
    /// lifetime.
    ///
    /// # Cancel safety
    ///
    /// *Safe*, but it *loses place*, as [`notified`](Self::notified).
    pub fn notified_owned(self: Arc<Self>) -> NotifiedOwned {
        NotifiedOwned::new(self)
    }

    /// Blocks this thread until a notification comes.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn notified_blocking(&self) {
        block::wait(pin!(self.notified()));
    }

    /// As [`notified_blocking`](Self::notified_blocking), for `limit` at most: `false` when it has
    /// passed and no notification came.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn notified_timeout(&self, limit: Duration) -> bool {
        block::wait_for(pin!(self.notified()), limit).is_some()
    }

    /// Who waits, and which notifications were handed to futures that nobody polled since: for a
    /// person to read.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.list.diagnose()
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify")
            .field("has_permit", &self.list.kind().has_permit())
            .field("waiters", &self.list)
            .finish()
    }
}

#[cfg(test)]
mod tests;
