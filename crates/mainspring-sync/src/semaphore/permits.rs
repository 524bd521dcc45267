//! The word that the fast path reads, and what is done under the lock when it does not suffice.

use super::error::{AcquireError, TooMany, TryAcquireError};
use super::ledger::{Ledger, MAX_PERMITS, Request, Resized};
use mainspring_core::WaitList;
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::wait_list::{From, Kind, Queue, Why};

/// Nobody gets a permit any more.
const CLOSED: usize = 1;
/// Somebody waits, or permits are owed: whoever takes or gives comes to the lock.
const SLOW: usize = 2;
/// One permit.
const ONE: usize = 4;

/// The kind of a semaphore's wait list.
#[derive(Debug)]
pub(crate) struct Permits {
    /// Free permits in units of [`ONE`], [`CLOSED`], [`SLOW`].
    word: AtomicUsize,
    /// The largest capacity so far. Changed under the lock, and never smaller.
    largest: AtomicUsize,
    /// Touched under the lock alone.
    ledger: UnsafeCell<Ledger>,
}

// SAFETY: [semaphore.books] the ledger is touched only by whoever holds the list's lock, which a
// `Queue` proves; the rest are atomics.
unsafe impl Sync for Permits {}

/// What came of [`Permits::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "permits that were taken have to be given back"]
pub(crate) enum Take {
    /// They are the caller's.
    Taken,
    /// The semaphore is closed.
    Closed,
    /// Fewer are free.
    Short,
    /// The lock has to say who may have them.
    Locked,
}

impl Permits {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(crate) const fn new(permits: usize, is_strict: bool) -> Self {
        Self {
            word: AtomicUsize::new(permits * ONE),
            largest: AtomicUsize::new(first_limit(permits)),
            ledger: UnsafeCell::new(Ledger::new(permits, is_strict)),
        }
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(crate) fn new(permits: usize, is_strict: bool) -> Self {
        Self {
            word: AtomicUsize::new(permits * ONE),
            largest: AtomicUsize::new(first_limit(permits)),
            ledger: UnsafeCell::new(Ledger::new(permits, is_strict)),
        }
    }

    /// The same permits for another list, which replaces this one. Whoever is queued here was
    /// forgotten, and stays with the old one; SLOW, if it is set, is cleared by who comes first.
    pub(crate) fn moved(&self, queue: &mut Queue<'_, Self>) -> Self {
        Self {
            word: AtomicUsize::new(self.word.load(Relaxed)),
            largest: AtomicUsize::new(self.largest.load(Relaxed)),
            ledger: UnsafeCell::new(self.ledger(queue)),
        }
    }

    pub(crate) fn free(&self) -> usize {
        self.word.load(Relaxed) / ONE
    }

    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: [semaphore.closed] Acquire, pairs with `close`: what the closer did before is
        // seen by who learns of it. Relaxed would show the end before its reason.
        self.word.load(Acquire) & CLOSED != 0
    }

    /// Takes permits if that is one exchange of the word.
    #[inline]
    pub(crate) fn take(&self, wanted: usize) -> Take {
        // ORDERING: [semaphore.closed] Acquire, pairs with `close`, as in `is_closed`.
        let mut word = self.word.load(Acquire);
        loop {
            if word & CLOSED != 0 {
                return Take::Closed;
            }
            if word / ONE < wanted {
                return Take::Short;
            }
            if word & SLOW != 0 {
                return Take::Locked;
            }
            let rest = word - wanted * ONE;
            // ORDERING: [semaphore.permit] Acquire, pairs with `give`: what was done under the
            // permit is seen by who has it next. Relaxed would let both be at it at once. A failure
            // that finds CLOSED ends as the load above does.
            let swapped = self
                .word
                .compare_exchange_weak(word, rest, Acquire, Acquire);
            match swapped {
                Ok(_) => return Take::Taken,
                Err(found) => word = found,
            }
        }
    }

    /// Gives permits back. `true`: call [`settle`](Self::settle) under the lock.
    #[inline]
    #[must_use = "somebody may wait for them"]
    pub(crate) fn give(&self, permits: usize) -> bool {
        // ORDERING: [semaphore.permit] Release, pairs with `take` and `free_now`. Relaxed would let
        // the next holder begin before we have ended.
        let before = self.word.fetch_add(permits * ONE, Release);
        debug_assert!(
            before / ONE + permits <= MAX_PERMITS,
            "ledger.total: more came back than there are"
        );
        before & SLOW != 0
    }

    /// Whether a request can ever be met.
    pub(crate) fn admit(&self, wanted: usize) -> Result<(), AcquireError> {
        let capacity = self.largest.load(Relaxed);
        if wanted <= capacity {
            return Ok(());
        }
        Err(AcquireError::TooLarge {
            asked: wanted,
            capacity,
        })
    }

    /// Takes permits for one that will not wait, and that obeys the rule of those that do.
    pub(crate) fn try_take(list: &WaitList<Self>, wanted: usize) -> Result<(), TryAcquireError> {
        let permits = list.kind();
        if wanted == 0 && !permits.is_closed() {
            return Ok(());
        }
        match permits.take(wanted) {
            Take::Taken => Ok(()),
            Take::Closed => Err(TryAcquireError::Closed),
            Take::Short => {
                permits.admit(wanted)?;
                Err(TryAcquireError::NoPermits)
            }
            Take::Locked => list.with(|queue| permits.try_take_locked(queue, wanted)),
        }
    }

    #[cold]
    fn try_take_locked(
        &self,
        queue: &mut Queue<'_, Self>,
        wanted: usize,
    ) -> Result<(), TryAcquireError> {
        if self.is_closed() {
            return Err(TryAcquireError::Closed);
        }
        self.admit(wanted)?;
        let took = self.take_locked(queue, wanted);
        self.calm(queue);
        if took {
            Ok(())
        } else {
            Err(TryAcquireError::NoPermits)
        }
    }

    /// What a waiter's poll finds. `is_patient`: it must not be served now, only queued.
    pub(crate) fn look(
        &self,
        queue: &mut Queue<'_, Self>,
        request: &mut Request,
        why: Why,
        is_patient: bool,
    ) -> Option<Result<(), AcquireError>> {
        if matches!(why, Why::Offered(_)) {
            // A waiter that lost its offer on the way here may have been queued again.
            let is_slow = self.word.load(Relaxed) & SLOW != 0;
            if is_slow == queue.is_empty() {
                self.settle(queue);
            }
            return Some(Ok(()));
        }
        if self.is_closed() {
            return Some(Err(AcquireError::Closed));
        }
        if why == Why::First {
            request.passed = 0;
            if let Err(refused) = self.admit(request.wanted) {
                return Some(Err(refused));
            }
        }
        // One that is asked again has nobody in front of it; a newcomer has to pass.
        let takes = match why {
            Why::Again => Self::take_first,
            _ => Self::take_locked,
        };
        if is_patient {
            self.word.fetch_or(SLOW, Relaxed);
        } else if takes(self, queue, request.wanted) {
            self.settle(queue);
            return Some(Ok(()));
        }
        // CLAIM: [semaphore.slow] it is queued before the lock is released.
        self.with_ledger(queue, |ledger| ledger.note_waiting(request.wanted));
        None
    }

    /// Offers what is free to those that may have it, and says in the word whether the lock is
    /// still needed.
    pub(crate) fn settle(&self, queue: &mut Queue<'_, Self>) {
        if !queue.is_empty() || self.ledger(queue).has_debt() {
            let free = self.free_now(queue);
            let mut round = self.ledger(queue).scan(free);
            queue.wake_where(|request| round.visit(request));
            let granted = round.end();
            self.vanish(granted.permits);
            queue.peek(From::Oldest, |first| first.passed += granted.passed);
            if let Some(least) = granted.least {
                self.with_ledger(queue, |ledger| ledger.note_least(least));
            }
        }
        self.calm(queue);
    }

    pub(crate) fn close(&self, queue: &mut Queue<'_, Self>) {
        // ORDERING: [semaphore.closed] Release, pairs with `take` and `is_closed`. Relaxed would
        // let those that find it closed miss what was done before.
        // CLAIM: [semaphore.sticky] everything else adds or takes whole permits, or SLOW.
        self.word.fetch_or(CLOSED, Release);
        queue.close();
        self.calm(queue);
    }

    pub(crate) fn capacity(&self, queue: &Queue<'_, Self>) -> usize {
        self.ledger(queue).capacity()
    }

    pub(crate) fn add(&self, queue: &mut Queue<'_, Self>, permits: usize) -> Result<(), TooMany> {
        let free = self.with_ledger(queue, |ledger| ledger.add(permits))?;
        self.grow(queue, free);
        Ok(())
    }

    /// Forgets permits that are free, up to a number; says how many it were.
    pub(crate) fn forget_free(&self, queue: &mut Queue<'_, Self>, permits: usize) -> usize {
        let gone = self.free_now(queue).min(permits);
        self.with_ledger(queue, |ledger| ledger.forget(gone));
        self.vanish(gone);
        self.calm(queue);
        gone
    }

    /// Forgets permits that the caller holds.
    pub(crate) fn forget_held(&self, queue: &mut Queue<'_, Self>, permits: usize) {
        self.with_ledger(queue, |ledger| ledger.forget(permits));
        self.calm(queue);
    }

    pub(crate) fn resize(
        &self,
        queue: &mut Queue<'_, Self>,
        capacity: usize,
    ) -> Result<(), TooMany> {
        let free = self.free_now(queue);
        let resized = self.with_ledger(queue, |ledger| ledger.resize(capacity, free));
        match resized {
            Ok(Resized::Grown(free)) => self.grow(queue, free),
            Ok(Resized::Shrunk(gone)) => self.vanish(gone),
            Err(_) => {}
        }
        self.calm(queue);
        resized.map(|_| ())
    }

    fn grow(&self, queue: &mut Queue<'_, Self>, free: usize) {
        let capacity = self.ledger(queue).capacity();
        self.largest.fetch_max(capacity, Relaxed);
        self.word.fetch_add(free * ONE, Relaxed);
        self.settle(queue);
    }

    /// Takes permits for the first, if they are free. SLOW is set afterwards.
    fn take_first(&self, queue: &mut Queue<'_, Self>, wanted: usize) -> bool {
        let fits = wanted <= self.free_now(queue);
        if fits {
            self.vanish(wanted);
        }
        fits
    }

    /// Takes permits for one that is not in the queue, if they are free and those that wait allow
    /// it. SLOW is set afterwards.
    fn take_locked(&self, queue: &mut Queue<'_, Self>, wanted: usize) -> bool {
        if self.free_now(queue) < wanted {
            return false;
        }
        let ledger = self.ledger(queue);
        let allowed = queue.peek(From::Oldest, |first| ledger.may_pass(first, wanted));
        let may = allowed.unwrap_or(true);
        if may {
            self.vanish(wanted);
        }
        may
    }

    /// How many are free when all debts are paid. From here on permits leave the word only under
    /// the lock.
    fn free_now(&self, queue: &mut Queue<'_, Self>) -> usize {
        // ORDERING: [semaphore.permit] Acquire, pairs with `give`: whoever is served from what this
        // finds sees what the last holder did. Relaxed would let both be at it at once.
        let free = self.word.fetch_or(SLOW, Acquire) / ONE;
        let paid = self.with_ledger(queue, |ledger| ledger.pay(free));
        self.vanish(paid);
        free - paid
    }

    /// Takes permits that are free out of the word, which is SLOW: there can only be more by now.
    fn vanish(&self, permits: usize) {
        if permits > 0 {
            let before = self.word.fetch_sub(permits * ONE, Relaxed);
            debug_assert!(
                before & SLOW != 0 && before / ONE >= permits,
                "semaphore.slow: permits left the word meanwhile"
            );
        }
    }

    /// Opens the fast path if nobody needs the slow one.
    fn calm(&self, queue: &mut Queue<'_, Self>) {
        let is_slow = !queue.is_empty() || self.ledger(queue).has_debt();
        if !is_slow && self.word.load(Relaxed) & SLOW != 0 {
            // CLAIM: [semaphore.slow]
            self.word.fetch_and(!SLOW, Relaxed);
        }
    }

    fn ledger(&self, _locked: &Queue<'_, Self>) -> Ledger {
        self.ledger.with(|ledger| {
            // SAFETY: [semaphore.books] the queue says that the lock is held.
            unsafe { *ledger }
        })
    }

    fn with_ledger<R>(
        &self,
        _locked: &mut Queue<'_, Self>,
        change: impl FnOnce(&mut Ledger) -> R,
    ) -> R {
        self.ledger.with_mut(|ledger| {
            // SAFETY: [semaphore.books] the queue says that the lock is held, and `change`, which
            // does not get it, cannot come back here.
            change(unsafe { &mut *ledger })
        })
    }
}

/// A semaphore that begins without permits has no size that a request could exceed.
const fn first_limit(permits: usize) -> usize {
    if permits == 0 { MAX_PERMITS } else { permits }
}

impl Kind for Permits {
    type Key = Request;

    fn returned(&self, queue: &mut Queue<'_, Self>, request: &Request, _: From) {
        // CLAIM: [semaphore.conserved] all of it: a waiter has nothing but what it was offered.
        self.with_ledger(queue, |ledger| ledger.note_lost(request.wanted));
        self.word.fetch_add(request.wanted * ONE, Relaxed);
        self.settle(queue);
    }

    fn left(&self, queue: &mut Queue<'_, Self>, _: &Request) {
        self.settle(queue);
    }

    fn exchange(&self, queue: &mut Queue<'_, Self>, offered: &Request, wanted: &Request) -> bool {
        self.with_ledger(queue, |ledger| ledger.note_lost(offered.wanted));
        if wanted.wanted > offered.wanted {
            // CLAIM: [semaphore.slow] SLOW stays: if it is refused, the one that asks is queued.
            return self.take_locked(queue, wanted.wanted - offered.wanted);
        }
        self.word
            .fetch_add((offered.wanted - wanted.wanted) * ONE, Relaxed);
        self.settle(queue);
        true
    }
}
