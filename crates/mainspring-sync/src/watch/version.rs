//! The version word of a channel, and the kind of its wait list.

use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use mainspring_core::wait_list::{Kind, Queue, WaitList, Why};

/// Every sender has gone.
const CLOSED: u64 = 1;
/// Somebody waits for a change, or did.
const WAITS: u64 = 2;
/// One change. 62 bits never wrap.
const CHANGE: u64 = 4;

/// What there is for a receiver that has seen a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This version, which is another one.
    Version(u64),
    /// No change, and there will be none.
    Closed,
}

/// Whether somebody waits for what was just published.
#[must_use = "who waits has to be woken, when the value is unlocked"]
pub(super) enum OnPublish {
    Quiet,
    Wake,
}

pub(super) struct Version {
    word: AtomicU64,
}

impl Kind for Version {
    type Key = ();
}

impl Version {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
        }
    }

    /// The version that the value has, for whoever holds its lock; else, one that it had.
    #[inline]
    pub(super) fn current(&self) -> u64 {
        self.word.load(Relaxed) / CHANGE
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: [watch.change] Acquire, pairs with `close`: whoever learns that the senders
        // have gone sees what they did.
        self.word.load(Acquire) & CLOSED != 0
    }

    /// Counts a change of the value, whose lock the caller holds.
    #[inline]
    pub(super) fn publish(&self) -> OnPublish {
        // ORDERING: [watch.change] Release, pairs with `look`: who sees the version sees what the
        // sender did before. Relaxed would show the change without its reasons.
        verdict(self.word.fetch_add(CHANGE, Release))
    }

    /// Says that nothing will change any more.
    pub(super) fn close(&self) -> OnPublish {
        // ORDERING: [watch.change] Release, pairs with `look` and `is_closed`, as in `publish`.
        verdict(self.word.fetch_or(CLOSED, Release))
    }

    /// What there is for a receiver that has seen `seen`.
    #[inline]
    pub(super) fn look(&self, seen: u64) -> Option<Found> {
        // ORDERING: [watch.change] Acquire, pairs with `publish` and `close`: who is told of a
        // change sees what came before it. Relaxed would tell it too early.
        found(self.word.load(Acquire), seen)
    }

    /// Under the list's lock: as `look`, or says that somebody waits.
    pub(super) fn look_or_wait(&self, seen: u64) -> Option<Found> {
        loop {
            let found_now = self.look(seen);
            if found_now.is_some() {
                return found_now;
            }
            let word = self.word.load(Relaxed);
            if found(word, seen).is_some() {
                continue;
            }
            let waits = word | WAITS;
            // Relaxed: the bit tells of nothing, and who sees it takes the lock.
            let is_set = word == waits
                || (self.word.compare_exchange(word, waits, Relaxed, Relaxed)).is_ok();
            if is_set {
                return None;
            }
        }
    }
}

fn verdict(before: u64) -> OnPublish {
    if before & WAITS == 0 {
        OnPublish::Quiet
    } else {
        OnPublish::Wake
    }
}

fn found(word: u64, seen: u64) -> Option<Found> {
    if word / CHANGE != seen {
        // A change that came before the end is told first.
        return Some(Found::Version(word / CHANGE));
    }
    (word & CLOSED != 0).then_some(Found::Closed)
}

/// Wakes everybody who waits for a change. Call it with the value unlocked.
pub(super) fn wake(list: &WaitList<Version>) {
    list.with(|queue| {
        // CLAIM: [watch.waits] under the lock, with those that it stands for released.
        queue.kind().word.fetch_and(!WAITS, Relaxed);
        queue.wake_all();
    });
}

/// The look of a waiter that has seen `seen`.
pub(super) fn look(
    seen: u64,
) -> impl FnMut(&mut Queue<'_, Version>, &mut (), Why) -> Option<Found> {
    // Also when released: it may have come between the change and the waking, having seen it.
    move |queue, (), _| queue.kind().look_or_wait(seen)
}
