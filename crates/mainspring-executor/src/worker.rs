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

use crate::drive::Drive;
use crate::local::shared::SharedRef;
use crate::pace::Pace;
use mainspring_core::driver::{Driver, Turn, Until};
use mainspring_core::poll;
use mainspring_core::time::{Deadline, Nanos};

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
    drive: Drive,
    pace: Pace,
}

impl Worker {
    pub(crate) fn new(shared: SharedRef, driver: Box<dyn Driver>) -> Self {
        Self {
            shared,
            drive: Drive::new(driver),
            pace: Pace::new(),
        }
    }

    /// Runs one turn that begins at `now`.
    pub(crate) fn step(&mut self, now: Nanos) -> Step {
        poll::begin_turn(now);
        self.shared.take_in();
        let polls_max = self.pace.begin(now);
        let polls = self.shared.run(polls_max, || self.drive.peek());
        debug_assert!(
            polls <= polls_max,
            "worker.turn: {polls} polls in a turn of {polls_max}"
        );
        let work_left = self.shared.has_work();
        self.pace.end(now, polls, work_left);
        if work_left { Step::Busy } else { Step::Idle }
    }

    /// A step that left work behind was over at `now`: what follows is the driver's time.
    pub(crate) fn over(&mut self, now: Nanos) {
        self.pace.over(now);
    }

    /// Waits in the driver, and says what time it is then.
    pub(crate) fn park(&mut self, until: Until) -> Turn {
        if until != Until::Now {
            self.shared.parks();
        }
        self.drive.park(until)
    }
}
