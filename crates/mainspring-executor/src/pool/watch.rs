//! Who is stuck: pure arithmetic over looks at pulses and the times of the looks.
//!
//! # Invariants
//!
//! - **watch.threshold** — a thread is called stuck when looks that span the threshold or more have
//!   all found it in the same poll; one whose polls are shorter never is.
//! - **watch.late** — a look that comes a whole period late says nothing about how long a poll has
//!   lasted: the machine slept, or was too busy for us and so perhaps for the thread as well. The
//!   count begins anew with it.
//! - **watch.once** — who is called stuck is called so once, and is said to be back once.

use super::pulse::is_in_turn;
use mainspring_core::time::Nanos;
use std::time::Duration;

/// What a look at one thread came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "who is stuck is served by others"]
pub(super) enum Verdict {
    /// It runs, or waits in its driver.
    Fine,
    /// It is stuck, which is new: in one poll for at least so long.
    Stuck(Duration),
    /// It is stuck as before.
    StillStuck,
    /// It was stuck, and has come back from a poll that took about so long.
    Back(Duration),
}

/// What the last look at one thread found.
#[derive(Clone, Copy, Default)]
struct Seen {
    beats: u64,
    /// When these beats were seen first, and since when the looks have been in time.
    first: Nanos,
    is_stuck: bool,
}

/// The looks so far.
pub(super) struct Watch {
    threshold: Duration,
    now: Nanos,
    is_late: bool,
    /// No thread of this round is in a poll, or has begun one since the round before.
    is_quiet: bool,
    seen: Vec<Seen>,
}

impl Watch {
    /// Watches so many threads, from `now` on.
    pub(super) fn new(threshold: Duration, threads: usize, now: Nanos) -> Self {
        Self {
            threshold,
            now,
            is_late: true,
            is_quiet: false,
            seen: vec![Seen::default(); threads],
        }
    }

    /// How long it is from one round of looks to the next.
    pub(super) fn period(&self) -> Duration {
        self.threshold / 2
    }

    /// Nobody has looked for a while, on purpose: the next round is the first.
    pub(super) fn begin_anew(&mut self) {
        self.is_late = true;
    }

    /// A round of looks begins.
    pub(super) fn begin_round(&mut self, now: Nanos) {
        let due = self.now.saturating_add(self.period());
        // CLAIM: [watch.late]
        self.is_late |= now.since(due) >= self.period();
        self.is_quiet = true;
        self.now = now;
    }

    /// A thread's pulse, in this round.
    pub(super) fn look(&mut self, thread: usize, beats: u64) -> Verdict {
        let seen = &mut self.seen[thread];
        let is_same = seen.beats == beats && is_in_turn(beats);
        self.is_quiet &= seen.beats == beats && !is_in_turn(beats);
        if !is_same {
            let before = std::mem::replace(
                seen,
                Seen {
                    beats,
                    first: self.now,
                    is_stuck: false,
                },
            );
            // CLAIM: [watch.once]
            return match before.is_stuck {
                true => Verdict::Back(self.now.since(before.first)),
                false => Verdict::Fine,
            };
        }
        if seen.is_stuck {
            return Verdict::StillStuck;
        }
        if self.is_late {
            seen.first = self.now;
            return Verdict::Fine;
        }
        let lasted = self.now.since(seen.first);
        // CLAIM: [watch.threshold]
        if lasted < self.threshold {
            return Verdict::Fine;
        }
        seen.is_stuck = true;
        Verdict::Stuck(lasted)
    }

    /// A round of looks has ended. Whether all threads were at rest, and had been since the round
    /// before.
    pub(super) fn end_round(&mut self) -> bool {
        self.is_late = false;
        self.is_quiet
    }
}

#[cfg(test)]
mod tests;
