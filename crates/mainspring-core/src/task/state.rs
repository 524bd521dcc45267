//! The state word of a task: nine flags and a count, every transition one read-modify-write; only
//! the first run begins without one.
//!
//! The word knows nothing of futures or wakers. Each method crosses one arrow and returns what the
//! caller owes now; who may touch which field of the task in which state stands in
//! [`task`](crate::task).

use super::verdict::{
    OnBegin, OnComplete, OnDetach, OnEnd, OnJoin, OnRelease, OnRoute, OnWake, Outcome,
};
use crate::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    acquire_last,
};

/// A `Runnable` exists; with `RUNNING`, one will exist when the poll ends.
const SCHEDULED: usize = 1;
/// A thread polls the future, or drops it, or hands its result over.
const RUNNING: usize = 1 << 1;
/// The future is gone; what is left in its place, `PANICKED` and `EMPTY` say.
const COMPLETE: usize = 1 << 2;
/// Somebody asked for the task's end: the next to run it drops the future instead.
const CANCELLED: usize = 1 << 3;
/// The join handle exists.
const JOIN_INTEREST: usize = 1 << 4;
/// The join waker's place holds a waker, which belongs to whoever clears this bit.
const JOIN_WAKER: usize = 1 << 5;
/// With `COMPLETE`: the place of the output holds the payload of a panic.
const PANICKED: usize = 1 << 6;
/// With `COMPLETE`: the place of the output holds nothing.
const EMPTY: usize = 1 << 7;
/// A local task's runnable was dropped away from home and has been sent there once.
const ROUTED: usize = 1 << 8;
/// With `RUNNING`: nobody has ended a poll yet. A task is made so, because it has no wakers before
/// its first poll that would have to tell a queued task from a running one.
const NEW: usize = 1 << 9;
/// One counted reference: a waker, an abort handle, a `TaskRef`.
const REFERENCE: usize = 1 << 10;

/// From here on a count is out of hand: half of what the word can hold.
const REFERENCES_MAX: usize = isize::MAX as usize;

/// What the word says at one moment, for a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(usize);

impl Seen {
    pub(crate) fn is_scheduled(self) -> bool {
        self.0 & SCHEDULED != 0
    }

    /// A [new](Self::is_new) task says so, too, while it is queued.
    pub(crate) fn is_running(self) -> bool {
        self.0 & RUNNING != 0
    }

    /// Queued for its first poll, or in it.
    pub(crate) fn is_new(self) -> bool {
        self.0 & NEW != 0
    }

    pub(crate) fn is_complete(self) -> bool {
        self.0 & COMPLETE != 0
    }

    pub(crate) fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }

    /// Neither queued nor polled: what it waits for means something.
    pub(crate) fn is_idle(self) -> bool {
        self.0 & (SCHEDULED | RUNNING | COMPLETE) == 0
    }
}

/// Whether nobody can reach the task any more: complete, and no reference of any kind left.
fn is_unreachable(word: usize) -> bool {
    word & (COMPLETE | RUNNING | JOIN_INTEREST) == COMPLETE && word < REFERENCE
}

fn outcome(word: usize) -> Outcome {
    match word & (PANICKED | EMPTY) {
        0 => Outcome::Output,
        PANICKED => Outcome::Panic,
        _ => Outcome::Empty,
    }
}

impl Outcome {
    fn bits(self) -> usize {
        match self {
            Self::Output => 0,
            Self::Panic => PANICKED,
            Self::Empty => EMPTY,
        }
    }
}

/// The state word.
#[derive(Debug)]
pub(crate) struct State(AtomicUsize);

impl State {
    /// A new task: its runnable and its join handle exist.
    #[inline]
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(NEW | RUNNING | JOIN_INTEREST))
    }

    /// Looks, for a snapshot. What the looker reads next is at least as new.
    #[inline]
    pub(crate) fn seen(&self) -> Seen {
        // ORDERING: [task.output] Acquire, pairs with `complete`: whoever is told that the task is
        // complete also sees what it did. Relaxed would let a reader miss the task's last writes.
        Seen(self.0.load(Acquire))
    }

    /// SCHEDULED → RUNNING, by the owner of the runnable.
    #[inline]
    pub(crate) fn begin(&self) -> OnBegin {
        // Relaxed: what precedes the first poll came with the runnable. An abort that is not seen
        // here is seen by `end` or `complete`, as one during the poll is.
        let word = self.0.load(Relaxed);
        if word & NEW != 0 {
            debug_assert!(word & RUNNING != 0, "task.one-poller: new and not running");
            if word & CANCELLED != 0 {
                return self.begin_to_drop();
            }
            return OnBegin::Poll;
        }
        // SCHEDULED is set and RUNNING is not, so adding their difference moves the one bit.
        // ORDERING: [task.wake] [task.handoff] Acquire, pairs with the Release of every wake since
        // the last poll, redundant ones too, and of the end of the last poll. Relaxed would poll
        // without seeing what the waker wrote, or race with the last poller on the future.
        let word = self.0.fetch_add(RUNNING - SCHEDULED, Acquire);
        debug_assert_eq!(
            word & (SCHEDULED | RUNNING | COMPLETE),
            SCHEDULED,
            "task.one-poller: begun without a runnable"
        );
        if word & CANCELLED == 0 {
            OnBegin::Poll
        } else {
            OnBegin::Drop
        }
    }

    /// SCHEDULED → RUNNING, by the owner of a runnable that is to be dropped, aborted or not.
    #[cold]
    pub(crate) fn begin_to_drop(&self) -> OnBegin {
        if self.0.load(Relaxed) & NEW == 0 {
            let _ = self.begin();
            return OnBegin::Drop;
        }
        // ORDERING: [task.wake] Acquire, as in `begin`: the destructor sees what the aborting
        // thread wrote.
        let word = self.0.fetch_sub(NEW, Acquire);
        debug_assert_eq!(
            word & (RUNNING | COMPLETE),
            RUNNING,
            "task.one-poller: begun without a runnable"
        );
        OnBegin::Drop
    }

    /// RUNNING → idle or SCHEDULED, after a poll that returned `Pending`.
    #[inline]
    pub(crate) fn end(&self) -> OnEnd {
        // Only the poller takes NEW away.
        let poll = self.0.load(Relaxed) & NEW | RUNNING;
        // ORDERING: [task.handoff] Release, pairs with `begin`: the next poller sees what this
        // poll did to the future. Relaxed would let the two race.
        let word = self.0.fetch_sub(poll, Release);
        debug_assert_eq!(
            word & (RUNNING | COMPLETE),
            RUNNING,
            "task.one-poller: ended a poll that was not begun"
        );
        match word & (SCHEDULED | CANCELLED) {
            0 => OnEnd::Idle,
            SCHEDULED => OnEnd::Schedule,
            // An abort during a poll sets both flags; one before it was seen by `begin`.
            _ => OnEnd::Drop,
        }
    }

    /// A waker that goes on living wakes.
    #[inline]
    pub(crate) fn wake_by_ref(&self) -> OnWake {
        let mut word = self.0.load(Relaxed);
        loop {
            if word & COMPLETE != 0 {
                return OnWake::Nothing;
            }
            // ORDERING: [task.wake] Release, also when the flag is set already: pairs with
            // `begin`, so that the poll asked for sees what this thread wrote. Relaxed, or leaving
            // out the write, would lose it.
            match self
                .0
                .compare_exchange_weak(word, word | SCHEDULED, Release, Relaxed)
            {
                Ok(_) => return Self::woken(word),
                Err(now) => word = now,
            }
        }
    }

    /// A waker wakes and gives its reference up, which a new runnable does not need: its flag is
    /// one.
    #[inline]
    pub(crate) fn wake_by_value(&self) -> OnWake {
        let mut word = self.0.load(Relaxed);
        loop {
            if word & COMPLETE != 0 {
                return match self.release() {
                    OnRelease::Free => OnWake::Free,
                    OnRelease::Shared => OnWake::Nothing,
                };
            }
            debug_assert!(word >= REFERENCE, "task.alive: woke without a reference");
            // ORDERING: [task.wake] Release, as in `wake_by_ref`.
            match self.0.compare_exchange_weak(
                word,
                (word | SCHEDULED) - REFERENCE,
                Release,
                Relaxed,
            ) {
                Ok(_) => return Self::woken(word),
                Err(now) => word = now,
            }
        }
    }

    /// Asks for the task's end: whoever has the runnable drops the future.
    pub(crate) fn abort(&self) -> OnWake {
        let mut word = self.0.load(Relaxed);
        loop {
            if word & (COMPLETE | CANCELLED) != 0 {
                return OnWake::Nothing;
            }
            // ORDERING: [task.wake] Release, pairs with `begin`: the future's destructor sees what
            // the aborting thread wrote.
            match self
                .0
                .compare_exchange_weak(word, word | SCHEDULED | CANCELLED, Release, Relaxed)
            {
                Ok(_) => return Self::woken(word),
                Err(now) => word = now,
            }
        }
    }

    #[inline]
    fn woken(before: usize) -> OnWake {
        if before & (SCHEDULED | RUNNING) == 0 {
            OnWake::Schedule
        } else {
            OnWake::Nothing
        }
    }

    /// RUNNING → COMPLETE: the future is gone, `outcome` says what is in its place.
    #[inline]
    pub(crate) fn complete(&self, outcome: Outcome) -> OnComplete {
        // Relaxed: nothing is read or freed on the strength of it.
        let word = self.0.load(Relaxed);
        // The commonest end: the handle is there, and nobody waits yet.
        if word & (JOIN_INTEREST | JOIN_WAKER) == JOIN_INTEREST {
            debug_assert_eq!(
                word & (RUNNING | COMPLETE),
                RUNNING,
                "task.future-once: completed twice"
            );
            let next = word & !(SCHEDULED | NEW | RUNNING) | COMPLETE | outcome.bits();
            // ORDERING: [task.output] Release, pairs with the Acquire of the join handle: it sees
            // the output. Relaxed would race on the place.
            let done = self.0.compare_exchange_weak(word, next, Release, Relaxed);
            if done.is_ok() {
                return OnComplete::Done;
            }
        }
        self.complete_otherwise(outcome)
    }

    /// As [`complete`](Self::complete), in every case.
    #[inline(never)]
    fn complete_otherwise(&self, outcome: Outcome) -> OnComplete {
        // ORDERING: [task.free] Acquire, pairs with the Release of every reference given up: what
        // their holders did to the task is over before it is freed. Relaxed would free under them.
        let mut word = self.0.load(Acquire);
        loop {
            debug_assert_eq!(
                word & (RUNNING | COMPLETE),
                RUNNING,
                "task.future-once: completed twice"
            );
            if word & JOIN_INTEREST == 0 {
                if outcome != Outcome::Empty {
                    return OnComplete::Unwanted;
                }
                // Neither handle nor counted reference: nobody can make one any more, so freeing
                // needs no write.
                if word < REFERENCE {
                    return OnComplete::Free;
                }
            }
            let joiner = word & JOIN_WAKER;
            // The caller keeps the task as RUNNING while it has a joiner to wake.
            let running = if joiner == 0 { RUNNING } else { 0 };
            let next = word & !(SCHEDULED | NEW | JOIN_WAKER | running) | COMPLETE | outcome.bits();
            // ORDERING: [task.output] Release, pairs with the Acquire of the join handle: it sees
            // the output. [task.joiner] Acquire, pairs with `register`: the waker in the place is
            // whole. Either one weaker races on the place. Acquire on failure as above.
            match self.0.compare_exchange_weak(word, next, AcqRel, Acquire) {
                Ok(_) if joiner != 0 => return OnComplete::WakeJoiner,
                Ok(_) => return OnComplete::Done,
                Err(now) => word = now,
            }
        }
    }

    /// Gives up the reference that RUNNING is, after the join waker was taken out.
    pub(crate) fn release_running(&self) -> OnRelease {
        self.give_up(RUNNING)
    }

    /// Gives up the reference that the join handle is, after the place was emptied.
    #[inline]
    pub(crate) fn release_handle(&self) -> OnRelease {
        // ORDERING: [task.free] Acquire, pairs with every reference given up: they are done with
        // the task. Relaxed would free under them.
        let word = self.0.load(Acquire);
        if is_unreachable(word & !JOIN_INTEREST) {
            // The handle is all there is, and only it could hand out more.
            return OnRelease::Free;
        }
        self.give_up(JOIN_INTEREST)
    }

    /// Gives up one counted reference.
    #[inline]
    pub(crate) fn release(&self) -> OnRelease {
        self.give_up(REFERENCE)
    }

    #[inline]
    fn give_up(&self, reference: usize) -> OnRelease {
        // ORDERING: [task.free] Release, pairs with the Acquire of whoever frees: what this holder
        // did to the task comes before. Relaxed would let the free overtake it.
        let word = self.0.fetch_sub(reference, Release);
        debug_assert!(
            word & reference != 0 || reference == REFERENCE && word >= REFERENCE,
            "task.alive: gave up a reference that was not held"
        );
        if is_unreachable(word - reference) {
            // ORDERING: [task.free] Acquire inside, pairs with the Release of everybody before us.
            // Relaxed would free under them.
            acquire_last(&self.0);
            OnRelease::Free
        } else {
            OnRelease::Shared
        }
    }

    /// Counts one more reference, by the holder of one.
    #[inline]
    pub(crate) fn retain(&self) {
        let word = self.0.fetch_add(REFERENCE, Relaxed);
        if word > REFERENCES_MAX {
            // Going on would wrap around and free a task in use. Unwinding would let forgotten
            // wakers come here again.
            std::process::abort();
        }
    }

    /// What the join handle finds at the beginning of its poll.
    #[inline]
    pub(crate) fn look(&self) -> OnJoin {
        // ORDERING: [task.output] Acquire, pairs with `complete`: the place is as it was left.
        let word = self.0.load(Acquire);
        if word & COMPLETE != 0 {
            OnJoin::Complete(outcome(word))
        } else if word & JOIN_WAKER != 0 {
            OnJoin::Registered
        } else {
            OnJoin::Pending
        }
    }

    /// The join handle has put a waker in the place and hands it to whoever completes.
    pub(crate) fn register(&self) -> OnJoin {
        // ORDERING: [task.output] Acquire, as in `look`.
        let mut word = self.0.load(Acquire);
        loop {
            debug_assert_eq!(
                word & (JOIN_INTEREST | JOIN_WAKER),
                JOIN_INTEREST,
                "task.joiner-slot: registered twice"
            );
            if word & COMPLETE != 0 {
                return OnJoin::Complete(outcome(word));
            }
            // ORDERING: [task.joiner] Release, pairs with `complete`: who reads the place sees the
            // whole waker. Relaxed would let it read a torn one. Acquire on failure as above.
            match self
                .0
                .compare_exchange_weak(word, word | JOIN_WAKER, Release, Acquire)
            {
                Ok(_) => return OnJoin::Registered,
                Err(now) => word = now,
            }
        }
    }

    /// The join handle takes its waker back. `Pending`: the waker in the place is the handle's.
    pub(crate) fn withdraw(&self) -> OnJoin {
        // ORDERING: [task.output] Acquire, as in `look`.
        let mut word = self.0.load(Acquire);
        loop {
            if word & COMPLETE != 0 {
                return OnJoin::Complete(outcome(word));
            }
            debug_assert!(
                word & JOIN_WAKER != 0,
                "task.joiner-slot: nothing to withdraw"
            );
            // Relaxed on success: the handle wrote the place itself, and nobody reads it before a
            // `complete` that sees the flag again. Acquire on failure as above.
            // ORDERING: [task.output] Acquire on failure, as in `look`.
            match self
                .0
                .compare_exchange_weak(word, word & !JOIN_WAKER, Relaxed, Acquire)
            {
                Ok(_) => return OnJoin::Pending,
                Err(now) => word = now,
            }
        }
    }

    /// The join handle goes, unless there is something in the task that it must empty first.
    #[inline]
    pub(crate) fn detach(&self) -> OnDetach {
        // ORDERING: [task.output] Acquire, as in `look`.
        let mut word = self.0.load(Acquire);
        loop {
            debug_assert!(word & JOIN_INTEREST != 0, "task.alive: detached twice");
            if word & COMPLETE != 0 {
                return OnDetach::Complete(outcome(word));
            }
            if word & JOIN_WAKER != 0 {
                return OnDetach::Registered;
            }
            // ORDERING: [task.free] Release, pairs with `complete`: what the handle did to the
            // join waker's place comes before the free. Acquire on failure as above.
            match self
                .0
                .compare_exchange_weak(word, word & !JOIN_INTEREST, Release, Acquire)
            {
                Ok(_) => return OnDetach::Detached,
                Err(now) => word = now,
            }
        }
    }

    /// A runnable of a local task was dropped away from home.
    #[cold]
    pub(crate) fn route(&self) -> OnRoute {
        // The caller hands the runnable on or owns it alone, so nothing is published here.
        if self.0.fetch_or(CANCELLED | ROUTED, Relaxed) & ROUTED == 0 {
            OnRoute::Home
        } else {
            OnRoute::Nowhere
        }
    }
}
