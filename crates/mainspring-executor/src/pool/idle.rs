//! Who sleeps and who searches: one word for each group of 48 workers.
//!
//! ```text
//!   63 ..... 56   55 ....... 48   47 ........................ 0
//!  ┌─────────────┬──────────────┬───────────────────────────────┐
//!  │ flags       │ searching    │ sleepers, a bit a worker      │
//!  └─────────────┴──────────────┴───────────────────────────────┘
//! ```
//!
//! A worker that has run out of work *searches*: it looks at the injector and at everybody's queue.
//! At most half of a group searches. One that finds nothing *sleeps*: it sets its bit and waits in
//! its driver. Whoever makes shared work wakes a sleeper if nobody searches; the one that is chosen
//! has its bit cleared and is counted as searching in the same exchange, so two producers do not
//! choose the same one. A worker that its own driver or its inbox wakes clears its own bit and does
//! not search.
//!
//! # Invariants
//!
//! - **idle.counted** — `searching` is the number of workers that were made searchers, by
//!   themselves or by who woke them, and have not said since that they found something or sleep.
//! - **idle.chosen** — a worker whose bit somebody else cleared is a searcher, whether it slept or
//!   was about to; nobody else's doing is undone by it.
//! - **idle.half** — nobody becomes a searcher by itself while half of its group are.
//! - **idle.handed-on** — the last searcher that finds something wakes another first, if one
//!   sleeps: what it did not look at has somebody who does.
//! - **idle.watched** — the watchdog sleeps without an end only while a flag says so in the word of
//!   each group. It sets the flag in the same exchange that finds all of the group asleep; a worker
//!   that wakes finds it in the exchange by which it wakes, and the one that takes it away calls
//!   the watchdog. So no worker runs unwatched, and a wake-up costs one more test of a value that
//!   is there.
//! - **idle.no-lost-work** — shared work that was pushed by a thread which then looked at this word
//!   is not left while all workers sleep. The argument follows.
//!
//! # No wake-up is lost
//!
//! The producer pushes, fences, reads the word. The sleeper writes its bit, fences, and if nobody
//! searches looks at every queue. Both fences are sequentially consistent, so one is first.
//!
//! 1. *The producer's is first.* The sleeper's look comes after both, and sees the push.
//! 2. *The sleeper's is first.* The producer's read comes after both, and sees the bit, or what
//!    somebody has made of it since: then the sleeper is a searcher by now and will look.
//!
//! What remains is a producer that reads *somebody searches* and does nothing, and a sleeper that
//! finds somebody searching and does not look. Take the searcher that is counted there, and the
//! last one to stop being one. If it stops because it found something, it wakes another
//! (`idle.handed-on`), who is a searcher then: it was not the last. If it stops to sleep, its bit
//! is written after the producer's read of the word, so the producer's fence is before its fence,
//! which is case 1; and it does look, because nobody else searches.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `idle.dekker` | `Idle::notify` | `Idle::fall_asleep` | fences: the push, or the bit |
//!
//! # Rejected
//!
//! - *Every sleeper looks at every queue*: with half of a group searching, those that may not
//!   search would find the work that the searchers are about to find, and go on as if they might.
//! - *The watchdog that looks every so often whether somebody runs*: an idle machine would not be
//!   idle.
//! - *A flag of the watchdog's own, with a fence pair*: a fence a wake-up.
//! - *A count of sleepers and a list of them under a lock* (as tokio has): the lock is taken by
//!   every producer that finds a sleeper.

use crossbeam_utils::CachePadded;
use mainspring_core::park::Unparker;
use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
    fence,
};

/// How many workers one word has bits for.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const GROUP: usize = 48;
/// Three workers are two groups.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const GROUP: usize = 2;

const SLEEPERS: u64 = (1 << GROUP) - 1;
const SEARCHER: u64 = 1 << GROUP;
const SEARCHERS: u64 = 0xff << GROUP;
/// The watchdog sleeps, and is to be called.
const DOZES: u64 = 1 << 63;

/// What a worker that went to sleep has to do first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "work may have come that nobody else looks for"]
pub(crate) enum OnSleep {
    /// Nobody searches: look at every queue once more.
    Look,
    /// Somebody searches, and will look or hand on. Look at what is your own.
    LookAtOwn,
}

/// Why a worker that slept, or was about to, is awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a chosen worker is counted as searching"]
pub(crate) enum OnWake {
    /// It woke by itself.
    ByItself,
    /// It was chosen: it searches.
    Chosen,
}

/// Whether a worker may search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "who searches says so when it stops"]
pub(crate) enum OnSearch {
    /// It is counted, and searches.
    Search,
    /// Enough do.
    Enough,
}

/// Whether the watchdog may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a watchdog that is to be called has to sleep, and one that is not must not"]
pub(crate) enum OnDoze {
    /// Everybody sleeps: who ends that calls.
    Doze,
    /// Somebody is awake.
    Watch,
}

/// The words.
pub(crate) struct Idle {
    groups: Box<[CachePadded<AtomicU64>]>,
    workers: usize,
    watchdog: Option<Unparker>,
}

impl Idle {
    /// All `workers` awake, none searching.
    pub(crate) fn new(workers: usize) -> Self {
        let groups = workers.div_ceil(GROUP);
        Self {
            groups: (0..groups)
                .map(|_| CachePadded::new(AtomicU64::new(0)))
                .collect(),
            workers,
            watchdog: None,
        }
    }

    /// The same, with a watchdog.
    pub(crate) fn watched(self, watchdog: Unparker) -> Self {
        Self {
            watchdog: Some(watchdog),
            ..self
        }
    }

    fn place(&self, worker: usize) -> (&AtomicU64, u64) {
        (&self.groups[worker / GROUP], 1 << (worker % GROUP))
    }

    /// How many of the worker's group may search: half of it, rounded up.
    fn searchers_max(&self, worker: usize) -> u64 {
        let first = worker / GROUP * GROUP;
        let members = (self.workers - first).min(GROUP) as u64;
        members.div_ceil(2)
    }

    /// A worker has run out of work, and asks whether it may search.
    pub(crate) fn try_search(&self, worker: usize) -> OnSearch {
        let (word, _) = self.place(worker);
        let max = self.searchers_max(worker);
        let mut now = word.load(Relaxed);
        loop {
            // CLAIM: [idle.half] asked of the value that the exchange replaces.
            if (now & SEARCHERS) / SEARCHER >= max {
                return OnSearch::Enough;
            }
            match word.compare_exchange_weak(now, now + SEARCHER, Relaxed, Relaxed) {
                Ok(_) => return OnSearch::Search,
                Err(other) => now = other,
            }
        }
    }

    /// A searcher has found something. The worker that is to be unparked in its place, if any.
    #[must_use = "a worker that was chosen has to be unparked"]
    pub(crate) fn found(&self, worker: usize) -> Option<usize> {
        let (word, _) = self.place(worker);
        let mut now = word.load(Relaxed);
        loop {
            debug_assert!(
                now & SEARCHERS != 0,
                "idle.counted: found without searching"
            );
            let is_last = now & SEARCHERS == SEARCHER;
            let sleeper = is_last.then(|| lowest(now)).flatten();
            // CLAIM: [idle.handed-on] the count goes from us to the one that is chosen.
            let next = match sleeper {
                Some(bit) => now & !bit,
                None => now - SEARCHER,
            };
            match word.compare_exchange_weak(now, next, Relaxed, Relaxed) {
                Ok(_) if is_last && sleeper.is_none() && self.groups.len() > 1 => {
                    return self.hand_on(worker / GROUP);
                }
                Ok(_) => return sleeper.map(|bit| number(worker / GROUP, bit)),
                Err(other) => now = other,
            }
        }
    }

    /// The last searcher of a group in which nobody sleeps hands on to another group.
    #[cold]
    fn hand_on(&self, group: usize) -> Option<usize> {
        // ORDERING: [idle.dekker] SeqCst fence. A producer that read our count did so before we
        // took it back, so its fence is before this one: a sleeper that missed its push has its
        // fence before both, and we see the bit.
        fence(SeqCst);
        self.choose_from(group + 1)
    }

    /// A worker goes to sleep: afterwards it looks as it is told, then waits.
    pub(crate) fn fall_asleep(&self, worker: usize, is_searching: bool) -> OnSleep {
        let (word, bit) = self.place(worker);
        let before = if is_searching {
            // One exchange: the bit is clear, and the searcher is counted.
            word.fetch_sub(SEARCHER - bit, Relaxed) - SEARCHER
        } else {
            word.fetch_add(bit, Relaxed)
        };
        debug_assert!(before & bit == 0, "idle.chosen: asleep twice");
        // ORDERING: [idle.dekker] SeqCst fence, the sleeper's half: the bit, the fence, the look.
        // Pairs with the one in `notify`; the two cases stand above. One step weaker, both sides
        // may miss the other's write.
        fence(SeqCst);
        if before & SEARCHERS == 0 {
            OnSleep::Look
        } else {
            OnSleep::LookAtOwn
        }
    }

    /// A worker is awake again, or has thought better of it.
    pub(crate) fn wake_up(&self, worker: usize) -> OnWake {
        let (word, bit) = self.place(worker);
        let before = word.fetch_and(!bit, Relaxed);
        if before & DOZES != 0 {
            // CLAIM: [idle.watched] before the worker runs anything.
            self.end_doze(word);
        }
        if before & bit == 0 {
            OnWake::Chosen
        } else {
            OnWake::ByItself
        }
    }

    #[cold]
    fn end_doze(&self, word: &AtomicU64) {
        if word.fetch_and(!DOZES, Relaxed) & DOZES != 0 {
            self.call_watchdog();
        }
    }

    /// Ends the sleep of the watchdog, if there is one.
    pub(crate) fn call_watchdog(&self) {
        if let Some(watchdog) = &self.watchdog {
            watchdog.unpark();
        }
    }

    /// The watchdog asks whether it may sleep until somebody wakes.
    ///
    /// Of several groups the first may have a flag, and another be awake: then somebody calls for
    /// nothing.
    pub(crate) fn try_doze(&self) -> OnDoze {
        // A look first: the words belong to the workers while one of them runs.
        let mut groups = 0..self.groups.len();
        let is_asleep = groups.all(|group| self.is_asleep(group, self.groups[group].load(Relaxed)));
        if is_asleep && (0..self.groups.len()).all(|group| self.flag_doze(group)) {
            OnDoze::Doze
        } else {
            OnDoze::Watch
        }
    }

    /// Whether all workers of the group sleep, by this word of it.
    fn is_asleep(&self, group: usize, word: u64) -> bool {
        let members = (self.workers - group * GROUP).min(GROUP);
        let sleepers = SLEEPERS >> (GROUP - members);
        word & (SLEEPERS | SEARCHERS) == sleepers
    }

    /// Sets the flag of a group, if all of it sleep.
    fn flag_doze(&self, group: usize) -> bool {
        let word = &self.groups[group];
        let mut now = word.load(Relaxed);
        while self.is_asleep(group, now) {
            // CLAIM: [idle.watched] in the word that was found asleep.
            match word.compare_exchange_weak(now, now | DOZES, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Shared work was pushed. The worker that is to be unparked for it, if any.
    #[inline]
    #[must_use = "a worker that was chosen has to be unparked"]
    pub(crate) fn notify(&self, near: usize) -> Option<usize> {
        // ORDERING: [idle.dekker] SeqCst fence, the producer's half: the push, the fence, the
        // read. Pairs with the one in `fall_asleep`.
        fence(SeqCst);
        // CLAIM: [idle.no-lost-work] the read that the argument speaks of.
        self.hint(near)
    }

    /// As [`notify`](Self::notify), for a producer that will come back with that one before it
    /// sleeps: a sleeper that falls asleep at this moment may be missed.
    #[inline]
    #[must_use = "a worker that was chosen has to be unparked"]
    pub(crate) fn hint(&self, near: usize) -> Option<usize> {
        self.choose_from(near / GROUP)
    }

    /// Chooses a sleeper of any group, unless somebody searches.
    fn choose_from(&self, first: usize) -> Option<usize> {
        for n in 0..self.groups.len() {
            match self.choose((first + n) % self.groups.len()) {
                Choice::Sleeper(worker) => return Some(worker),
                Choice::Searched => return None,
                Choice::AllAwake => {}
            }
        }
        None
    }

    /// Chooses a sleeper of a group in which nobody searches.
    #[inline]
    fn choose(&self, group: usize) -> Choice {
        let word = &self.groups[group];
        let mut now = word.load(Relaxed);
        loop {
            if now & SEARCHERS != 0 {
                return Choice::Searched;
            }
            let Some(bit) = lowest(now) else {
                return Choice::AllAwake;
            };
            let next = (now & !bit) + SEARCHER;
            match word.compare_exchange_weak(now, next, Relaxed, Relaxed) {
                Ok(_) => return Choice::Sleeper(number(group, bit)),
                Err(other) => now = other,
            }
        }
    }

    /// Whether the watchdog is to be called.
    #[cfg(all(test, not(mainspring_loom)))]
    pub(crate) fn is_dozing(&self) -> bool {
        self.groups
            .iter()
            .all(|word| word.load(Relaxed) & DOZES != 0)
    }

    /// How many workers sleep and how many search, for a report.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let words = self.groups.iter().map(|word| word.load(Relaxed));
        words.fold((0, 0), |(asleep, searching), word| {
            (
                asleep + (word & SLEEPERS).count_ones() as usize,
                searching + ((word & SEARCHERS) / SEARCHER) as usize,
            )
        })
    }
}

/// What looking for a sleeper in one group came to.
enum Choice {
    /// This one is to be unparked.
    Sleeper(usize),
    /// Somebody searches already.
    Searched,
    /// Nobody sleeps.
    AllAwake,
}

fn number(group: usize, bit: u64) -> usize {
    group * GROUP + bit.trailing_zeros() as usize
}

/// The lowest sleeper's bit.
fn lowest(word: u64) -> Option<u64> {
    let sleepers = word & SLEEPERS;
    (sleepers != 0).then_some(sleepers & sleepers.wrapping_neg())
}

#[cfg(test)]
mod tests;
