//! What is known about a source: which of its halves are worth a system call.
//!
//! The poll reports edges, the caller finds out by `WouldBlock` that a half has run dry, and the
//! two may meet in any order. The word counts the reports in a tick of 61 bits, which never
//! repeats: whoever ran dry clears only what it had seen before its call.
//!
//! ```text
//!  63                             3    2     1     0
//! ┌────────────────────────────────┬──────┬─────┬──────┐
//! │ tick: reports so far           │LOOSE │WRITE│ READ │
//! └────────────────────────────────┴──────┴─────┴──────┘
//! ```
//!
//! # Invariants
//!
//! - **readiness.newer** — a clear leaves the word alone if anything was reported after the
//!   snapshot that it is based on.
//! - **readiness.loose** — while nobody reports (no poll has the source yet, or the one that had it
//!   has gone) the word is LOOSE, and both halves are worth a call, whatever their bits say: nobody
//!   waits. A poll that takes the source finds in the bits what calls have found out meanwhile.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `readiness.event` | `Readiness::report` | `Readiness::snapshot` | the kernel's event |
//!
//! The waiters' own edges carry the word itself: whoever registers and looks again sees it.
//!
//! # Rejected
//!
//! - *A tick taken from the driver's turn counter*: it wrapped, a stale clear met an equal tick,
//!   and a connection hung.
//! - *Bits for "closed" that a clear leaves alone*: a socket that is not connected yet reports a
//!   hang-up, and a half-closed one may be reported as closed both ways; a bit that stays would
//!   make the caller spin. The poll reports an edge again when something changes, so a closed half
//!   is worth a call exactly as a readable one is.
//! - *Clearing after a short read everywhere*: not every poll reports again what came in between,
//!   and an end, an error or an urgent byte hides behind a short count. The hub does it where
//!   neither can be; elsewhere one more call, which says `WouldBlock`, is the proof.

use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

const READ: u64 = 1;
const WRITE: u64 = 2;
const LOOSE: u64 = 4;
const TICK: u64 = 8;

/// One direction of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// What comes in: bytes, connections, the other side's end.
    Read,
    /// What goes out, and the end of a connect.
    Write,
}

impl Half {
    const fn bit(self) -> u64 {
        match self {
            Self::Read => READ,
            Self::Write => WRITE,
        }
    }
}

/// Which halves an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

impl Report {
    pub(crate) const BOTH: Self = Self {
        read: true,
        write: true,
    };

    const NONE: Self = Self {
        read: false,
        write: false,
    };
}

/// The word as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

impl Snapshot {
    /// A source about which nothing is known: both halves are worth a call.
    const NEW: Self = Self(READ | WRITE | LOOSE);

    /// Whether a call on `half` may get somewhere.
    pub(crate) fn is_ready(self, half: Half) -> bool {
        self.0 & (half.bit() | LOOSE) != 0
    }

    /// Whether nobody reports.
    pub(crate) fn is_loose(self) -> bool {
        self.0 & LOOSE != 0
    }

    /// With one more report.
    fn reported(self, report: Report) -> Self {
        let read = if report.read { READ } else { 0 };
        let write = if report.write { WRITE } else { 0 };
        Self(self.0.wrapping_add(TICK) | read | write)
    }

    /// Without `half`, as far as `seen` justifies that.
    fn cleared(self, seen: Self, half: Half) -> Self {
        // CLAIM: [readiness.newer] another tick: something was reported since.
        if self.0 / TICK == seen.0 / TICK {
            Self(self.0 & !half.bit())
        } else {
            self
        }
    }
}

/// What a caller that ran dry does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a caller that ran dry waits, tries again, or gives up"]
pub(crate) enum OnClear {
    /// The half is cleared: register a waiter, and look again.
    Wait,
    /// Something was reported meanwhile: make the call again.
    Retry,
    /// Nobody reports: find a poll that does.
    Loose,
}

/// The shared word of one source.
#[derive(Debug)]
pub(crate) struct Readiness(AtomicU64);

impl Readiness {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(Snapshot::NEW.0))
    }

    /// What is known now. Take it **before** the system call that a clear may follow.
    pub(crate) fn snapshot(&self) -> Snapshot {
        // ORDERING: [readiness.event] Acquire, pairs with `report`: the call that follows finds at
        // least what the tick counts. Relaxed would let the call miss an event whose tick was seen,
        // and the clear erase it.
        Snapshot(self.0.load(Acquire))
    }

    /// Counts an event. The caller wakes the waiters afterwards.
    pub(crate) fn report(&self, report: Report) {
        self.update(|word| word.reported(report));
    }

    /// Says that somebody reports from here on, and what was there before.
    pub(crate) fn fasten(&self) {
        // CLAIM: [readiness.loose, readiness.newer] by a tick: a call that began before it clears
        // nothing any more.
        self.update(|word| Snapshot(word.reported(Report::NONE).0 & !LOOSE));
    }

    /// Says that nobody reports any more. The caller wakes all waiters afterwards.
    pub(crate) fn leave(&self) {
        self.update(|word| Snapshot(word.reported(Report::BOTH).0 | LOOSE));
    }

    /// Takes back what `seen` said about `half`, after a call that said `WouldBlock`.
    pub(crate) fn clear(&self, seen: Snapshot, half: Half) -> OnClear {
        let mut word = Snapshot(self.0.load(Relaxed));
        loop {
            let cleared = word.cleared(seen, half);
            let result = if cleared == word {
                Ok(word.0)
            } else {
                self.0.compare_exchange(word.0, cleared.0, Relaxed, Relaxed)
            };
            match result {
                Err(now) => word = Snapshot(now),
                Ok(_) if !cleared.is_ready(half) => return OnClear::Wait,
                Ok(_) if cleared.is_loose() && seen.is_loose() => return OnClear::Loose,
                // What came between the call and the report, or the end, is there for one more.
                Ok(_) => return OnClear::Retry,
            }
        }
    }

    fn update(&self, change: impl Fn(Snapshot) -> Snapshot) {
        let mut word = self.0.load(Relaxed);
        loop {
            let next = change(Snapshot(word)).0;
            // ORDERING: [readiness.event] Release, pairs with `snapshot`: who sees the tick sees
            // the event. Relaxed would let it miss the event and clear the tick.
            match self.0.compare_exchange(word, next, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

#[cfg(test)]
mod tests;
