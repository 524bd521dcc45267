//! How many permits there are, and who may have some before whom: plain data and no lock.
//!
//! # Invariants
//!
//! - **ledger.overtaking** — no more than the capacity is granted past a request while it is the
//!   first in the queue, and nothing at all past it in a strict semaphore.
//! - **ledger.total** — what is free, held and offered together is the capacity and the debt, and
//!   never more than [`MAX_PERMITS`].

use super::error::TooMany;
use mainspring_core::wait_list::Scan;

/// The most permits that a semaphore can have: two bits of the word are flags, and one is spare.
pub(crate) const MAX_PERMITS: usize = usize::MAX >> 3;

/// What one waiter asks for.
#[derive(Debug)]
pub(crate) struct Request {
    /// At least one.
    pub(super) wanted: usize,
    /// How many permits were granted past it while it was the first.
    pub(super) passed: usize,
}

impl Request {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, passed: 0 }
    }
}

/// The books of one semaphore.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    /// How many permits there are when nobody holds one.
    capacity: usize,
    /// How many permits that are out have to vanish when they come back.
    debt: usize,
    /// No waiter asks for less: whether a scan beyond the first can find somebody.
    least: usize,
    /// The least that anybody asked for who lost an offer: such a one may be in no queue now, and
    /// be back any time.
    least_lost: usize,
    is_strict: bool,
}

impl Ledger {
    pub(super) const fn new(capacity: usize, is_strict: bool) -> Self {
        Self {
            capacity,
            debt: 0,
            least: usize::MAX,
            least_lost: usize::MAX,
            is_strict,
        }
    }

    pub(super) fn capacity(self) -> usize {
        self.capacity
    }

    pub(super) fn has_debt(self) -> bool {
        self.debt > 0
    }

    /// Pays what is owed with what is free. Returns how many are to vanish.
    pub(super) fn pay(&mut self, free: usize) -> usize {
        let paid = free.min(self.debt);
        self.debt -= paid;
        paid
    }

    /// There are `permits` more. Returns how many of them become free.
    pub(super) fn add(&mut self, permits: usize) -> Result<usize, TooMany> {
        match self.capacity.checked_add(permits) {
            Some(capacity) if capacity <= MAX_PERMITS => {
                self.capacity = capacity;
                Ok(permits - self.pay(permits))
            }
            _ => Err(TooMany::new(permits, self.capacity)),
        }
    }

    /// `permits` that were out or free are no more. What is owed is paid with them first.
    pub(super) fn forget(&mut self, permits: usize) {
        let rest = permits - self.pay(permits);
        debug_assert!(rest <= self.capacity, "ledger.total: more than there are");
        self.capacity -= rest;
    }

    /// Sets the capacity.
    pub(super) fn resize(&mut self, capacity: usize, free: usize) -> Result<Resized, TooMany> {
        if capacity > MAX_PERMITS {
            return Err(TooMany::new(capacity, 0));
        }
        if let Some(more) = capacity.checked_sub(self.capacity) {
            return self.add(more).map(Resized::Grown);
        }
        let excess = self.capacity - capacity;
        self.capacity = capacity;
        self.debt += excess;
        Ok(Resized::Shrunk(self.pay(free)))
    }

    /// Whether a newcomer may have `wanted` of what is free, past `first`; notes it if so.
    pub(super) fn may_pass(self, first: &mut Request, wanted: usize) -> bool {
        let may = wanted <= self.allowance(first);
        if may {
            first.passed += wanted;
        }
        may
    }

    /// A request has to wait.
    pub(super) fn note_waiting(&mut self, wanted: usize) {
        self.least = self.least.min(wanted);
    }

    /// A request lost an offer, and may come back to the queue.
    pub(super) fn note_lost(&mut self, wanted: usize) {
        self.least_lost = self.least_lost.min(wanted);
        self.least = self.least.min(wanted);
    }

    /// A scan of the queue, from the oldest, for those that `free` permits are granted to.
    pub(super) fn scan(self, free: usize) -> Round {
        Round {
            ledger: self,
            free,
            allowance: None,
            granted: 0,
            passed: 0,
            least: usize::MAX,
            is_whole: true,
        }
    }

    /// The scan went through the whole queue, and this is the least that was not granted.
    pub(super) fn note_least(&mut self, least: usize) {
        self.least = least.min(self.least_lost);
    }

    fn allowance(self, first: &Request) -> usize {
        // CLAIM: [ledger.overtaking]
        let bound = if self.is_strict { 0 } else { self.capacity };
        bound.saturating_sub(first.passed)
    }
}

/// What [`Ledger::resize`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the word has to agree with the ledger"]
pub(super) enum Resized {
    /// So many permits become free.
    Grown(usize),
    /// So many of those that are free vanish.
    Shrunk(usize),
}

/// One scan of the queue: who is granted something.
#[derive(Debug)]
pub(super) struct Round {
    /// As it was when the round began.
    ledger: Ledger,
    free: usize,
    /// How much may still be granted past the first that did not fit; `None` until it was seen.
    allowance: Option<usize>,
    granted: usize,
    passed: usize,
    least: usize,
    is_whole: bool,
}

/// What a [`Round`] came to.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the word and the first waiter have to agree with what was granted"]
pub(super) struct Granted {
    /// Permits granted in all.
    pub(super) permits: usize,
    /// Of these, those that went past who is the first now.
    pub(super) passed: usize,
    /// The least that anybody still asks for, if the round saw everybody.
    pub(super) least: Option<usize>,
}

impl Round {
    /// The next waiter in the order of arrival.
    pub(super) fn visit(&mut self, request: &Request) -> Scan {
        let within = self.free.min(self.allowance.unwrap_or(usize::MAX));
        if request.wanted <= within {
            self.free -= request.wanted;
            self.granted += request.wanted;
            if let Some(allowance) = &mut self.allowance {
                *allowance -= request.wanted;
                self.passed += request.wanted;
            }
            return Scan::Offer;
        }
        let allowance = *self
            .allowance
            .get_or_insert_with(|| self.ledger.allowance(request));
        self.least = self.least.min(request.wanted);
        if self.free.min(allowance) < self.ledger.least {
            self.is_whole = false;
            return Scan::Stop;
        }
        Scan::Skip
    }

    pub(super) fn end(self) -> Granted {
        Granted {
            permits: self.granted,
            passed: self.passed,
            least: self.is_whole.then_some(self.least),
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
