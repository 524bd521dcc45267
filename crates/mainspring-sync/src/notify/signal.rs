//! The word of a [`Notify`](super::Notify), and the kind of its wait list.

use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use mainspring_core::wait_list::{From, Kind, Queue, WaitList};

/// A permit waits for somebody to take it.
const STORED: u64 = 1;
/// Somebody waits in the queue, or did, and no permit was stored since.
const WAITS: u64 = 2;
/// One release of all. 62 bits never wrap.
const RELEASE: u64 = 4;

pub(super) fn notify(list: &WaitList<Signal>, from: From) {
    match list.kind().store() {
        OnNotify::Done => {}
        OnNotify::Queue => list.with(|queue| queue.kind().signal(queue, from)),
    }
}

/// What is left to do for a notifier that looked at the word.
#[must_use = "a notification that nobody makes is lost"]
pub(super) enum OnNotify {
    /// Nobody waits, and the word says all.
    Done,
    /// Somebody waits: go to the queue.
    Queue,
}

/// What a waiter was given.
#[derive(Debug)]
pub(super) enum Taken {
    /// A notification for one, which somebody else gets if this waiter is dropped.
    Permit(From),
    /// A release of all, which is nobody else's.
    All,
}

pub(super) struct Signal {
    word: AtomicU64,
}

impl Signal {
    /// No permit, nobody waits.
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(super) const fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
        }
    }

    /// For a person to read.
    pub(super) fn has_permit(&self) -> bool {
        self.word.load(Relaxed) & STORED != 0
    }

    /// Stores a permit, unless somebody waits.
    #[inline]
    fn store(&self) -> OnNotify {
        let mut word = self.word.load(Relaxed);
        loop {
            if word & WAITS != 0 {
                return OnNotify::Queue;
            }
            let stored = word | STORED;
            // Also where one is stored: who takes that one has to see what we did before.
            // ORDERING: [notify.permit] Release, pairs with `take`. Relaxed would let the waiter
            // miss the change that it is told about.
            match self.word.compare_exchange(word, stored, Release, Relaxed) {
                Ok(_) => return OnNotify::Done,
                Err(seen) => word = seen,
            }
        }
    }

    /// Under the lock: gives a permit to the next waiter, or stores it and takes WAITS back.
    fn signal(&self, queue: &mut Queue<'_, Self>, from: From) {
        if queue.wake_one(from) {
            return;
        }
        match self.store() {
            OnNotify::Done => {}
            OnNotify::Queue => {
                // ORDERING: [notify.permit] Release, as in `store`.
                let word = self.word.fetch_xor(STORED | WAITS, Release);
                // The bit was left behind, and is changed under this lock alone.
                debug_assert_eq!(
                    word & (STORED | WAITS),
                    WAITS,
                    "notify.waits: changed without the lock"
                );
            }
        }
    }

    #[inline]
    pub(super) fn release_if_nobody_waits(&self) -> OnNotify {
        let mut word = self.word.load(Relaxed);
        loop {
            if word & WAITS != 0 {
                return OnNotify::Queue;
            }
            let next = word + RELEASE;
            // ORDERING: [notify.release] Release, pairs with `take` and `releases`: who finds
            // itself released sees the change, and so does who came too late for the release.
            // Relaxed would let one of them wait for a change that has been made.
            match self.word.compare_exchange(word, next, Release, Relaxed) {
                Ok(_) => return OnNotify::Done,
                Err(seen) => word = seen,
            }
        }
    }

    /// Under the lock: counts a release of all, whose queue is emptied under the same lock.
    pub(super) fn release(&self) {
        // CLAIM: [notify.waits] nobody sets or takes it back but under this lock.
        let waits = self.word.load(Relaxed) & WAITS;
        // ORDERING: [notify.release] Release, as in `release_if_nobody_waits`.
        self.word.fetch_add(RELEASE - waits, Release);
    }

    #[inline]
    pub(super) fn releases(&self) -> u64 {
        // ORDERING: [notify.release] Acquire, pairs with `release`: whoever is too late for a
        // release has to see in his condition what it told of. Relaxed would let him look before.
        self.word.load(Acquire) / RELEASE
    }

    /// What there is for a waiter that counted `releases` when it was made.
    #[inline]
    pub(super) fn take(&self, releases: u64) -> Option<Taken> {
        // ORDERING: [notify.release] Acquire, pairs with `release`: what is waited for has been
        // done. Relaxed would say so before it can be seen.
        let mut word = self.word.load(Acquire);
        loop {
            // CLAIM: [notify.releases] before the permit.
            if word / RELEASE != releases {
                return Some(Taken::All);
            }
            if word & STORED == 0 {
                return None;
            }
            let next = word & !STORED;
            // ORDERING: [notify.permit] Acquire, pairs with `store`, as above for a release.
            // ORDERING: [notify.release] Acquire on failure, as above.
            match self.word.compare_exchange(word, next, Acquire, Acquire) {
                Ok(_) => return Some(Taken::Permit(From::Oldest)),
                Err(seen) => word = seen,
            }
        }
    }

    /// Under the lock: as `take`, or says that somebody waits.
    pub(super) fn take_or_wait(&self, releases: u64) -> Option<Taken> {
        loop {
            let taken = self.take(releases);
            if taken.is_some() {
                return taken;
            }
            let word = self.word.load(Relaxed);
            if word & WAITS != 0 {
                return None;
            }
            if word & STORED == 0 && word / RELEASE == releases {
                let waits = word | WAITS;
                // Relaxed: it tells of nothing, and who sees it takes the lock.
                if (self.word.compare_exchange(word, waits, Relaxed, Relaxed)).is_ok() {
                    return None;
                }
            }
        }
    }
}

impl Kind for Signal {
    type Key = ();

    const IS_REVOCABLE: bool = false;

    fn returned(&self, queue: &mut Queue<'_, Self>, (): &(), from: From) {
        self.signal(queue, from);
    }
}
