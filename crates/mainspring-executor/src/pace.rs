//! How many polls a turn has: pure arithmetic over times that somebody else read.
//!
//! A turn is the polls between two looks at the driver. It should last about 200 µs, so that I/O
//! and timers are served in time, and it should not read the clock at each poll. So its length is a
//! number of polls, taken from how long a poll took on average in the turn before.
//!
//! What the driver's look takes is no poll's time, although it grows with what they handed in: a
//! ring sends and receives in it for all of them, and turns that are shorter for that look more
//! often, at more cost a request, and later at what else has come.
//!
//! # Invariants
//!
//! - **pace.bounds** — a turn has at least one poll and at most [`POLLS_MAX`].

use mainspring_core::time::Nanos;

/// The longest turn, in polls. A worker looks at its driver at the latest after so many.
pub(crate) const POLLS_MAX: u32 = 61;

/// How long a turn should last.
const TURN_NS: u64 = 200_000;

/// The length of the next turn, from the length of the turns before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    polls: u32,
    /// When the turn under way began and how many polls it had, if it ended with work left.
    last: Option<(Nanos, u32)>,
}

impl Pace {
    pub(crate) const fn new() -> Self {
        Self {
            polls: POLLS_MAX,
            last: None,
        }
    }

    /// How many polls the turn that begins at `now` may have.
    pub(crate) fn begin(&mut self, now: Nanos) -> u32 {
        self.over(now);
        debug_assert!(
            (1..=POLLS_MAX).contains(&self.polls),
            "pace.bounds: {}",
            self.polls
        );
        self.polls
    }

    /// The turn that ended last was over at `now`, when its worker went to look at the driver. Who
    /// does not say so counts the look with the polls.
    #[inline]
    pub(crate) fn over(&mut self, now: Nanos) {
        if let Some((began, polls)) = self.last.take() {
            let spent_ns = now.0.saturating_sub(began.0);
            let mean_ns = (spent_ns / u64::from(polls.max(1))).max(1);
            self.polls = (TURN_NS / mean_ns).clamp(1, u64::from(POLLS_MAX)) as u32;
        }
    }

    /// The turn that began at `began` ended after `polls` polls. Only a turn that ended with work
    /// left is followed at once by the next, so only then is the next `now` also its end.
    pub(crate) fn end(&mut self, began: Nanos, polls: u32, work_left: bool) {
        self.last = (work_left && polls > 0).then_some((began, polls));
    }
}

#[cfg(test)]
mod tests;
