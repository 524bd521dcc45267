//! The steppable heart of a one-thread executor.
//!
//! A [`Worker`] neither reads a clock nor blocks by itself: [`step`](Worker::step) is given the
//! time and runs one turn; [`park`](Worker::park) is the one place that waits, and it waits in the
//! driver. Whoever owns a worker decides in which order the two happen, which is what lets a
//! foreign loop, a test or a simulator own one.
//!
//! # Invariants
//!
//! - **worker.turn** — a step polls at most as many tasks as its pace says and stops when the
//!   driver has something, so that I/O and timers are never starved by tasks that wake each other.
//! - **worker.faults** — a driver's error, or a panic in its wait, is reported, those in a row once
//!   and no more than once a second, and never ends the worker; while they go on the worker waits a
//!   growing time, at most 64 ms, so that it neither spins nor sleeps.

use crate::local::shared::SharedRef;
use crate::pace::Pace;
use mainspring_core::driver::{Driver, Turn, Until};
use mainspring_core::payload::absorb;
use mainspring_core::poll;
use mainspring_core::time::{self, Deadline, Nanos};
use std::fmt::Display;
use std::time::Duration;

/// What a step left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a worker with work left must not wait"]
pub enum Step {
    /// There is more to poll: look at the driver without waiting, then step again.
    Busy,
    /// Nothing is ready: wait in the driver.
    Idle,
}

impl Step {
    /// How long a worker may wait after this step, `deadline` at the latest.
    pub(crate) fn until(self, deadline: Deadline) -> Until {
        match self {
            Self::Busy => Until::Now,
            Self::Idle if deadline.is_never() => Until::Forever,
            Self::Idle => Until::At(deadline.nanos()),
        }
    }
}

/// One turn after the other, over one driver.
pub(crate) struct Worker {
    shared: SharedRef,
    driver: Box<dyn Driver>,
    pace: Pace,
    faults: Faults,
}

impl Worker {
    pub(crate) fn new(shared: SharedRef, driver: Box<dyn Driver>) -> Self {
        Self {
            shared,
            driver,
            pace: Pace::new(),
            faults: Faults::default(),
        }
    }

    /// Runs one turn that begins at `now`.
    pub(crate) fn step(&mut self, now: Nanos) -> Step {
        poll::begin_turn(now);
        self.shared.take_in();
        let polls_max = self.pace.begin(now);
        let polls = self.shared.run(polls_max, || self.driver.peek());
        debug_assert!(
            polls <= polls_max,
            "worker.turn: {polls} polls in a turn of {polls_max}"
        );
        let work_left = self.shared.has_work();
        self.pace.end(now, polls, work_left);
        if work_left { Step::Busy } else { Step::Idle }
    }

    /// Waits in the driver, and says what time it is then.
    pub(crate) fn park(&mut self, until: Until) -> Turn {
        let mut waited = None;
        // CLAIM: [worker.faults] a driver is foreign code; what it unwinds with ends here, and
        // neither the root future nor the tasks go with it.
        absorb(|| waited = Some(self.driver.park(until)));
        match waited {
            Some(Ok(turn)) => {
                self.faults.over();
                return turn;
            }
            Some(Err(error)) => self.faults.another(&error),
            None => self.faults.another(&"it panicked"),
        }
        Turn {
            now: time::now(),
            woken: 0,
        }
    }
}

/// Errors and panics of the driver, since it last worked.
#[derive(Default)]
struct Faults {
    in_a_row: u32,
    /// When somebody was last told.
    told: Option<Nanos>,
}

impl Faults {
    /// The longest pause between two attempts, as a power of two of milliseconds.
    const PAUSE_MS_LOG2_MAX: u32 = 6;

    /// The least time between two reports. A driver that fails every other time would fill a log.
    const TELL_EVERY: Duration = Duration::from_secs(1);

    fn over(&mut self) {
        self.in_a_row = 0;
    }

    fn another(&mut self, why: &dyn Display) {
        if self.is_worth_telling(time::now()) {
            eprintln!(
                "mainspring: MS0003 the driver cannot wait: {why}; the worker goes on and tries \
                 again (docs/errors.md)"
            );
        }
        let pause_ms = 1 << self.in_a_row.min(Self::PAUSE_MS_LOG2_MAX);
        self.in_a_row = self.in_a_row.saturating_add(1);
        // CLAIM: [worker.faults] the thread sleeps, for a bounded time, where the driver cannot.
        std::thread::park_timeout(Duration::from_millis(pause_ms));
    }

    /// Whether the error that has just come is to be reported; if so, it counts as reported.
    fn is_worth_telling(&mut self, now: Nanos) -> bool {
        let is_old = |told: Nanos| now.since(told) >= Self::TELL_EVERY;
        let is_worth_it = self.in_a_row == 0 && self.told.is_none_or(is_old);
        if is_worth_it {
            self.told = Some(now);
        }
        is_worth_it
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
