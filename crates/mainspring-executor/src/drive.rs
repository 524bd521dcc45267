//! Waiting in a driver that may fail.
//!
//! # Invariants
//!
//! - **worker.faults** — a driver's error, or a panic in its wait, is reported, those in a row once
//!   and no more than once a second, and never ends the worker; while they go on the worker waits a
//!   growing time, at most 64 ms, so that it neither spins nor sleeps.

use mainspring_core::driver::{Driver, Turn, Until};
use mainspring_core::payload::absorb;
use mainspring_core::time::{self, Nanos};
use std::fmt::Display;
use std::time::Duration;

/// A worker's driver, and how often it has failed.
pub(crate) struct Drive {
    driver: Box<dyn Driver>,
    faults: Faults,
}

impl Drive {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Self {
        Self {
            driver,
            faults: Faults::default(),
        }
    }

    /// Whether something is ready now.
    #[inline]
    pub(crate) fn peek(&self) -> bool {
        self.driver.peek()
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
