//! What a worker counts, always.
//!
//! The worker counts in plain numbers and publishes them once a turn, so that counting costs no
//! read-modify-write; whoever reads sees numbers that are at most a turn old.
//!
//! # Invariants
//!
//! - **counters.one-writer** — only the worker's thread writes; a reader adds nothing up that must
//!   agree exactly. Nothing is decided by these numbers, so no model explores them.

use mainspring_core::sync::global::AtomicU64;
use mainspring_core::time::Nanos;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What a pool has done, and what it is at. Made by
/// [`Pool::metrics`](crate::Pool::metrics).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// A worker each, in the order of their numbers.
    pub workers: Vec<WorkerMetrics>,
    /// How many tasks have not ended, cleanups not counted.
    pub tasks: usize,
    /// How many tasks wait for whoever is free.
    pub injected: usize,
    /// How many workers sleep.
    pub asleep: usize,
    /// How many workers look for something to do.
    pub searching: usize,
    /// How many polls have kept their worker for longer than the stall threshold.
    pub stalls: u64,
}

/// What one worker has done since it started. Made by [`Pool::metrics`](crate::Pool::metrics).
///
/// The numbers are at most one turn old, and not all of the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// How many times it polled a task.
    pub polls: u64,
    /// How many times it took tasks from another worker.
    pub steals: u64,
    /// How many times it took tasks from the injector, where spawns and wakes from outside go.
    pub injections: u64,
    /// How many times it waited in its driver.
    pub parks: u64,
    /// How many polls were of the task that was woken last.
    pub slot_hits: u64,
    /// How many polls ended with the task asking to let others run: a spent budget, or
    /// `yield_now`.
    pub yields: u64,
    /// How long it was not waiting.
    pub busy: Duration,
    /// The longest turn, which bounds the longest poll.
    pub longest_turn: Duration,
    /// How long a task that was woken waited until it ran: a moving average over one task a turn.
    pub delay: Duration,
    /// The longest of those waits.
    pub longest_delay: Duration,
    /// How many tasks stand in its queue, of those that others may take.
    pub queued: usize,
}

/// The plain numbers, in the worker's hands.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) polls: u64,
    pub(crate) steals: u64,
    pub(crate) injections: u64,
    pub(crate) parks: u64,
    pub(crate) slot_hits: u64,
    pub(crate) yields: u64,
    pub(crate) busy_ns: u64,
    pub(crate) longest_turn_ns: u64,
    pub(crate) delay_ns: u64,
    pub(crate) longest_delay_ns: u64,
}

/// The published numbers.
pub(crate) struct Counters([AtomicU64; 10]);

impl Counters {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// By the worker.
    pub(crate) fn publish(&self, counts: &Counts) {
        let numbers = [
            counts.polls,
            counts.steals,
            counts.injections,
            counts.parks,
            counts.slot_hits,
            counts.yields,
            counts.busy_ns,
            counts.longest_turn_ns,
            counts.delay_ns,
            counts.longest_delay_ns,
        ];
        for (published, number) in self.0.iter().zip(numbers) {
            // CLAIM: [counters.one-writer] a plain store: nobody else writes.
            published.store(number, Relaxed);
        }
    }

    /// What was published last, beside the length of the queue.
    pub(crate) fn metrics(&self, queued: usize) -> WorkerMetrics {
        let [
            polls,
            steals,
            injections,
            parks,
            slot_hits,
            yields,
            busy,
            turn,
            delay,
            longest,
        ] = self.0.each_ref().map(|published| published.load(Relaxed));
        WorkerMetrics {
            polls,
            steals,
            injections,
            parks,
            slot_hits,
            yields,
            busy: Duration::from_nanos(busy),
            longest_turn: Duration::from_nanos(turn),
            delay: Duration::from_nanos(delay),
            longest_delay: Duration::from_nanos(longest),
            queued,
        }
    }

    /// How late woken tasks have run, if that was measured.
    pub(crate) fn delay(&self) -> Option<Nanos> {
        let delay = self.0[8].load(Relaxed);
        (delay > 0).then_some(Nanos(delay))
    }
}
