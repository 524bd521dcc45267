//! What the watchdog sees of a thread that polls tasks.
//!
//! The thread writes it and nobody else, two plain stores a poll into a line of its own; it writes
//! no time. Whoever looks twice and finds the same knows that no poll has begun or ended between.
//!
//! # Invariants
//!
//! - **pulse.one-writer** — only the thread that polls writes. What a reader sees may be a moment
//!   old: all that it leads to is a rescue, which is harmless at any time, and a report. So no
//!   model explores it.
//! - **pulse.odd** — the low bit is set from before the first poll of a turn until after its last:
//!   a thread that waits in its driver, however long, is not inside a poll.

use crossbeam_utils::CachePadded;
use mainspring_core::sync::global::AtomicU64;
use mainspring_core::task::TaskId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A turn begins or ends.
const TURN: u64 = 1;

/// A poll begins.
const POLL: u64 = 2;

/// How many polls a thread has begun, whether it is in one, and in whose.
pub(crate) struct Pulse(CachePadded<Words>);

struct Words {
    beats: AtomicU64,
    task: AtomicU64,
}

impl Pulse {
    pub(crate) fn new() -> Arc<Self> {
        let words = Words {
            beats: AtomicU64::new(0),
            task: AtomicU64::new(0),
        };
        Arc::new(Self(CachePadded::new(words)))
    }

    #[inline]
    fn beat(&self, step: u64) {
        // CLAIM: [pulse.one-writer] a load and a store, which are one instruction without a lock.
        let beats = &self.0.beats;
        beats.store(beats.load(Relaxed).wrapping_add(step), Relaxed);
    }

    /// By its thread: polls follow.
    #[inline]
    pub(crate) fn begin_turn(&self) {
        debug_assert!(!is_in_turn(self.beats()), "pulse.odd: a turn in a turn");
        self.beat(TURN);
    }

    /// By its thread: this task is polled next.
    #[inline]
    pub(crate) fn begin_poll(&self, task: TaskId) {
        self.0.task.store(task.as_u64(), Relaxed);
        self.beat(POLL);
    }

    /// By its thread: no polls follow for now.
    #[inline]
    pub(crate) fn end_turn(&self) {
        debug_assert!(is_in_turn(self.beats()), "pulse.odd: no turn to end");
        self.beat(TURN);
    }

    /// By anybody: a number that changes with each poll.
    pub(crate) fn beats(&self) -> u64 {
        self.0.beats.load(Relaxed)
    }

    /// By anybody: the number of the task whose poll began last.
    pub(crate) fn task(&self) -> u64 {
        self.0.task.load(Relaxed)
    }
}

/// Whether a thread with this pulse may be inside a poll.
pub(crate) fn is_in_turn(beats: u64) -> bool {
    // CLAIM: [pulse.odd]
    beats & TURN != 0
}

#[cfg(all(test, not(any(mainspring_loom, mainspring_shuttle))))]
mod tests;
