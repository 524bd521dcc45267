//! Who is inside, in one word; and who may enter next.

use mainspring_core::WaitList;
use mainspring_core::budget;
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{From, Holds, Kind, Queue, Scan, Waiter, Why};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A writer is inside.
const WRITER: usize = 1;
/// A reader that may become a writer is inside, beside other readers.
const UPGRADABLE: usize = 2;
/// Somebody waits: whoever enters does so under the lock, whoever leaves comes to it.
const SLOW: usize = 4;
/// The upgradable reader waits for the others to leave: nobody enters before it.
const UPGRADING: usize = 8;
/// One reader.
const READER: usize = 16;
/// How many readers enter. Downgrades may add a few more, which the word has room for.
pub(crate) const MAX_READERS: usize = usize::MAX / READER / 2;

/// What somebody wants to be inside as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Read,
    Write,
    Upgradable,
    /// From an upgradable reader, which the asking one is, to a writer.
    Upgrade,
}

impl Want {
    /// What entering adds to the word, modulo its size; leaving takes it off again.
    #[inline]
    pub(super) const fn weight(self) -> usize {
        match self {
            Self::Read => READER,
            Self::Write => WRITER,
            Self::Upgradable => UPGRADABLE,
            Self::Upgrade => WRITER.wrapping_sub(UPGRADABLE),
        }
    }

    /// Whether one more fits beside those inside.
    #[inline]
    pub(super) const fn fits(self, word: usize) -> bool {
        match self {
            Self::Read => word & WRITER == 0 && word / READER < MAX_READERS,
            Self::Write => word & (WRITER | UPGRADABLE) == 0 && word < READER,
            // It may become a reader.
            Self::Upgradable => word & (WRITER | UPGRADABLE) == 0 && word / READER < MAX_READERS,
            Self::Upgrade => word & WRITER == 0 && word < READER,
        }
    }
}

/// The kind of a read-write lock's wait list.
#[derive(Debug)]
pub(crate) struct Turns(AtomicUsize);

impl Turns {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The same for another list, which replaces this one.
    pub(crate) fn moved(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Relaxed)))
    }

    /// How many readers are inside, and whether a writer is.
    pub(crate) fn inside(&self) -> (usize, bool) {
        let word = self.0.load(Relaxed);
        let upgradable = usize::from(word & UPGRADABLE != 0);
        (word / READER + upgradable, word & WRITER != 0)
    }

    /// Enters if nobody waits and it is one exchange of the word.
    #[inline]
    pub(crate) fn enter(&self, want: Want) -> bool {
        let mut word = self.0.load(Relaxed);
        while word & SLOW == 0 && want.fits(word) {
            let inside = word.wrapping_add(want.weight());
            // ORDERING: [rwlock.turn] Acquire, pairs with `leave` and `become_less`: what those
            // did who were inside before is seen. Relaxed would let both be at it at once.
            match self.0.compare_exchange_weak(word, inside, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    /// Enters past those that wait, if those inside allow it.
    pub(crate) fn enter_past(list: &WaitList<Self>, want: Want) -> bool {
        list.kind().enter(want) || list.with(|queue| queue.kind().enter_locked(queue, want))
    }

    /// Enters under the lock, without a look at those that wait. It does not set SLOW, which would
    /// turn others away who try meanwhile.
    #[cold]
    fn enter_locked(&self, _locked: &Queue<'_, Self>, want: Want) -> bool {
        let mut word = self.0.load(Relaxed);
        while want.fits(word) {
            let inside = word.wrapping_add(want.weight());
            // ORDERING: [rwlock.turn] Acquire, pairs with `leave` and `become_less`, as in `enter`:
            // who has just left may not have come to the lock yet. Relaxed would show half of what
            // it did.
            match self.0.compare_exchange_weak(word, inside, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    /// Leaves, and lets in who waits.
    #[inline]
    pub(crate) fn leave(list: &WaitList<Self>, was: Want) {
        // ORDERING: [rwlock.turn] Release, pairs with `enter` and `now`. Relaxed would let the next
        // one begin before we have ended.
        let before = list.kind().0.fetch_sub(was.weight(), Release);
        let readers = before / READER;
        let is_last = was != Want::Read || readers == 1 || readers >= MAX_READERS;
        if before & SLOW != 0 && is_last {
            serve(list);
        }
    }

    /// Stays inside as something that excludes less.
    pub(crate) fn become_less(list: &WaitList<Self>, was: Want, is: Want) {
        let change = is.weight().wrapping_sub(was.weight());
        // ORDERING: [rwlock.turn] Release, pairs with `enter` and `now`: readers see what the
        // writer did before it became one of them. Relaxed would show them half of it.
        if list.kind().0.fetch_add(change, Release) & SLOW != 0 {
            serve(list);
        }
    }

    /// What a waiter's poll finds. `is_patient`: it must not enter now, only queue.
    fn look(
        &self,
        queue: &mut Queue<'_, Self>,
        want: Want,
        why: Why,
        is_patient: bool,
    ) -> Option<()> {
        if matches!(why, Why::Offered(_)) {
            // A waiter that lost its offer on the way here may have been queued again.
            let is_slow = self.0.load(Relaxed) & SLOW != 0;
            if is_slow == queue.is_empty() {
                self.settle(queue);
            }
            return Some(());
        }
        let word = self.now(queue);
        let is_next = match want {
            Want::Upgrade => true,
            _ => word & UPGRADING == 0 && (why == Why::Again || queue.is_empty()),
        };
        if is_next && !is_patient && want.fits(word) {
            self.0.fetch_add(want.weight(), Relaxed);
            self.settle(queue);
            return Some(());
        }
        if want == Want::Upgrade {
            self.0.fetch_or(UPGRADING, Relaxed);
        }
        // CLAIM: [rwlock.slow] it is queued before the lock is released.
        None
    }

    /// Lets in those whose turn it is, and says in the word whether the lock is still needed.
    fn settle(&self, queue: &mut Queue<'_, Self>) {
        if !queue.is_empty() {
            let mut word = self.now(queue);
            let mut added = 0_usize;
            queue.wake_where(|want| {
                // CLAIM: [rwlock.order] in the order of arrival, but for the one upgrade.
                if word & UPGRADING != 0 && *want != Want::Upgrade {
                    return Scan::Skip;
                }
                if !want.fits(word) {
                    return Scan::Stop;
                }
                let mut change = want.weight();
                if *want == Want::Upgrade {
                    change = change.wrapping_sub(word & UPGRADING);
                }
                word = word.wrapping_add(change);
                added = added.wrapping_add(change);
                Scan::Offer
            });
            if added != 0 {
                self.0.fetch_add(added, Relaxed);
            }
        }
        self.calm(queue);
    }

    /// An upgrade waits: it is the next, wherever it stands in the queue.
    fn insist(&self, queue: &mut Queue<'_, Self>) {
        if self.0.load(Relaxed) & WRITER == 0 {
            self.0.fetch_or(UPGRADING, Relaxed);
            self.settle(queue);
        }
    }

    /// Who is inside now. From here on others enter under the lock only; they may still leave.
    fn now(&self, _locked: &Queue<'_, Self>) -> usize {
        // ORDERING: [rwlock.turn] Acquire, pairs with `leave` and `become_less`: whoever is let in
        // because of what this finds sees what was done before. Relaxed would not show it.
        self.0.fetch_or(SLOW, Acquire) | SLOW
    }

    /// Opens the fast path if nobody needs the slow one.
    fn calm(&self, queue: &mut Queue<'_, Self>) {
        if queue.is_empty() && self.0.load(Relaxed) & (SLOW | UPGRADING) == SLOW {
            // CLAIM: [rwlock.slow]
            self.0.fetch_and(!SLOW, Relaxed);
        }
    }
}

#[cold]
fn serve(list: &WaitList<Turns>) {
    list.with(|queue| queue.kind().settle(queue));
}

impl Kind for Turns {
    type Key = Want;

    fn returned(&self, queue: &mut Queue<'_, Self>, was: &Want, _: From) {
        // An upgrade that comes back leaves an upgradable reader, whom the future still holds.
        self.0.fetch_sub(was.weight(), Relaxed);
        self.settle(queue);
    }

    fn left(&self, queue: &mut Queue<'_, Self>, was: &Want) {
        if *was == Want::Upgrade {
            self.0.fetch_and(!UPGRADING, Relaxed);
        }
        self.settle(queue);
    }

    fn exchange(&self, queue: &mut Queue<'_, Self>, offered: &Want, wanted: &Want) -> bool {
        let word = self.now(queue);
        let without = word.wrapping_sub(offered.weight());
        if !wanted.fits(without) {
            // CLAIM: [rwlock.slow] SLOW stays: the one that asks is queued.
            return false;
        }
        let change = wanted.weight().wrapping_sub(offered.weight());
        self.0.fetch_add(change, Relaxed);
        if *wanted == Want::Upgrade {
            self.0.fetch_and(!UPGRADING, Relaxed);
        }
        self.settle(queue);
        true
    }
}

/// Somebody who wants to enter: what the futures are made of.
pub(crate) struct Entering<L: Holds<Kind = Turns>> {
    waiter: Waiter<L>,
    want: Want,
    /// It was polled, and is not done.
    has_begun: bool,
}

impl<L: Holds<Kind = Turns>> Entering<L> {
    #[inline]
    pub(crate) fn new(holder: L, want: Want) -> Self {
        Self {
            waiter: Waiter::new(holder, want),
            want,
            has_begun: false,
        }
    }

    #[inline]
    pub(crate) fn holder(&self) -> &L {
        self.waiter.holder()
    }

    /// `Ready`: the caller is inside, and has to see that it leaves.
    #[inline]
    pub(crate) fn poll_enter(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let is_spent = budget::is_spent();
        if !is_spent && !self.has_begun && self.holder().list().kind().enter(self.want) {
            budget::consume();
            return Poll::Ready(());
        }
        self.as_mut().poll_queue(cx, is_spent)
    }

    #[cold]
    fn poll_queue(self: Pin<&mut Self>, cx: &mut Context<'_>, is_spent: bool) -> Poll<()> {
        // SAFETY: [rwlock.pinned] the waiter is not moved out of; the rest is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [rwlock.pinned] a projection of the pinned field.
        let mut waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        // With the budget spent it takes its place all the same: who comes next is behind it.
        let result = waiter.as_mut().poll_wait(cx, |queue, want, why| {
            queue.kind().look(queue, *want, why, is_spent)
        });
        this.has_begun = result.is_pending();
        if result.is_ready() {
            budget::consume();
            return result;
        }
        let list = waiter.holder().list();
        wait::note(WaitKind::Lock, number(list));
        if this.want == Want::Upgrade {
            list.with(|queue| queue.kind().insist(queue));
        } else if is_spent {
            serve(list);
        }
        if is_spent && budget::poll_proceed(cx).is_ready() {
            // The budget was lent anew meanwhile, by a waker that polled something.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// What a wait reason calls a list.
pub(crate) fn number(list: &WaitList<Turns>) -> u64 {
    std::ptr::from_ref(list).addr() as u64
}
