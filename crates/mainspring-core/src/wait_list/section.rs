//! One locked section: from taking the lock to having woken everybody it concerns.

use super::entry::{Entry, Held, Place, State, Who};
use super::home::Core;
use super::inner::{Inner, Left};
use super::queue::Queue;
use super::{From, Kind};
use crate::WakeBatch;
use crate::list::{List, Sentinel};
use crate::payload::Steps;
use crate::sync::BriefGuard;
use crate::time::Nanos;
use std::pin::{Pin, pin};

/// How many wakers are collected before the lock is released to call them, and how many nodes
/// are released under one lock.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const BATCH: usize = WakeBatch::CAPACITY;

/// One, so that two waiters already take two rounds.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const BATCH: usize = 1;

/// Whether another waker can be collected.
pub(super) fn has_room(batch: &WakeBatch) -> bool {
    batch.len() < BATCH
}

/// The lock, held, and what is to be woken when it is released, which the drop does.
///
/// What foreign code gets to see is a [`Queue`], which borrows from it: whatever is done to that,
/// the section keeps its lock to the end.
pub(super) struct Section<'a, K: Kind> {
    core: &'a Core<K>,
    inner: Option<BriefGuard<'a, Inner<K>>>,
    round: List<Entry<K>>,
    /// Dropped last, when the lock is free: what is in it is woken by that.
    batch: WakeBatch,
}

impl<'a, K: Kind> Section<'a, K> {
    /// Always inlined: it is half a kilobyte, which would be copied to the caller.
    #[inline(always)]
    pub(super) fn new(core: &'a Core<K>) -> Self {
        Self {
            core,
            inner: Some(core.inner.lock()),
            round: List::new(),
            batch: WakeBatch::new(),
        }
    }

    pub(super) fn inner(&mut self) -> &mut Inner<K> {
        self.inner.as_mut().expect("the lock is held until the end")
    }

    pub(super) fn queue(&mut self) -> Queue<'_, K> {
        Queue {
            core: self.core,
            inner: self.inner.as_mut().expect("the lock is held until the end"),
            round: &mut self.round,
            batch: &mut self.batch,
        }
    }

    /// Whom an offer in the slot was made to, and when, if one lies there.
    #[inline]
    pub(super) fn lone(&mut self) -> Option<(Who, Nanos)> {
        (!self.core.lone.is_empty()).then_some(self.inner().lone)
    }

    /// Moves an offer that lies in the slot, and was made to the task that is being polled, to the
    /// others.
    fn recall_from(&mut self, who: Who) -> Option<Held<K>> {
        let core = self.core;
        if !self.lone().is_some_and(|(offered, _)| offered == who) {
            return None;
        }
        let node = core.lone.recall()?;
        // It was there before the others, or it would lie beside them.
        // SAFETY: [wait-list.lone] out of the slot by our exchange, so its owner, who is alive and
        // pinned, comes for the lock from here on.
        unsafe { self.inner().offered.push_front(node) };
        self.inner().held(Some(node))
    }

    /// Takes a node of the caller's out of wherever it is.
    #[inline]
    pub(super) fn unlink(&mut self, node: Held<K>) -> Left {
        let core = self.core;
        if core.lone.holds(node.node()) {
            core.lone.clear();
            let from = node.with(|state| {
                state.place = Place::Idle;
                state.from
            });
            return Left::Offered(from);
        }
        self.inner().unlink(node)
    }

    /// Whether an offer is out that may have been made to that task.
    #[inline]
    pub(super) fn may_have_offer(&mut self, who: Who) -> bool {
        self.inner().has_offers() || self.lone().is_some_and(|(offered, _)| offered == who)
    }

    /// Gives what was offered to another waiter of the same task to `node`, which is being polled
    /// and unlinked, or waits behind others. If it is taken over, `node` is unlinked.
    #[cold]
    pub(super) fn take_over(&mut self, node: Held<K>, who: Who) -> Option<From> {
        let recalled = self.recall_from(who);
        let loser = recalled.or_else(|| self.inner().offer_to(who))?;
        // Out of the queue while its key is lent to the kind, which can reach what is in there.
        let was_waiting = self.unlink(node) != Left::Idle;
        let kind = self.core.kind();
        let agreed = loser.with(|offered| {
            node.with(|wanted| kind.exchange(&mut self.queue(), &offered.key, &wanted.key))
        });
        if !agreed {
            if was_waiting {
                self.inner().enqueue(node);
            }
            return None;
        }
        let Left::Offered(from) = self.inner().unlink(loser) else {
            unreachable!("wait-list.hand-on: found among the offers");
        };
        self.inner().lapse(loser);
        Some(from)
    }

    /// Lets a waiter go that is dropped, and does for the others what that asks for. Returns what
    /// it was.
    pub(super) fn dismiss(&mut self, node: Held<K>) -> Left {
        let left = self.unlink(node);
        let kind = self.core.kind();
        match left {
            Left::Waiting => node.with(|state| kind.left(&mut self.queue(), &state.key)),
            Left::Offered(from) => {
                node.with(|state| kind.returned(&mut self.queue(), &state.key, from))
            }
            Left::Idle | Left::Lapsed | Left::Released => {}
        }
        left
    }

    /// Takes an offer back that was made before `began` and whose waiter was woken for it.
    pub(super) fn revoke(&mut self, node: Held<K>, began: u64) {
        let is_due = |state: &mut State<K>| state.place == Place::Offered && state.offer <= began;
        if !node.with(is_due) {
            return;
        }
        let Left::Offered(from) = self.inner().unlink(node) else {
            unreachable!("wait-list.revoke: it has an offer");
        };
        let kind = self.core.kind();
        node.with(|state| kind.returned(&mut self.queue(), &state.key, from));
        self.inner().lapse(node);
    }

    /// Collects in the caller's batch from here to [`leave_waking_to`](Self::leave_waking_to).
    pub(super) fn collect_in(&mut self, batch: &mut WakeBatch) {
        debug_assert!(self.batch.is_empty(), "wait-list.woken: two batches");
        std::mem::swap(&mut self.batch, batch);
    }

    /// Releases the lock and leaves the waking to the caller, who gave its batch. `true` if some
    /// did not fit: they are woken by whoever ends a locked section next.
    pub(super) fn leave_waking_to(mut self, batch: &mut WakeBatch) -> bool {
        debug_assert!(
            self.round.is_empty(),
            "wait-list.revoke: `returned` released all"
        );
        std::mem::swap(&mut self.batch, batch);
        let Some(mut guard) = self.inner.take_if(|_| self.round.is_empty()) else {
            return false;
        };
        wake_fresh(&mut guard, batch);
        !guard.fresh.is_empty()
    }

    /// Releases the lock and wakes in batches, locking again for each.
    #[cold]
    fn finish_in_batches(&mut self, guard: BriefGuard<'a, Inner<K>>) {
        let sentinel = pin!(Sentinel::new());
        let sentinel = sentinel.into_ref();
        // SAFETY: [wait-list.newcomers] the lock guards the ring as it guarded the lists, and the
        // loop below ends only when the sentinel is empty: whatever unwinds in it is caught.
        unsafe { self.round.splice_under(sentinel) };
        let mut locked = Some(guard);
        let mut steps = Steps::default();
        loop {
            let mut guard = locked.take().unwrap_or_else(|| self.core.inner.lock());
            release_some(&mut guard, sentinel, &mut self.batch);
            wake_fresh(&mut guard, &mut self.batch);
            let is_done = sentinel.is_empty() && guard.fresh.is_empty();
            drop(guard);
            steps.run(|| self.batch.wake_all());
            if is_done {
                break;
            }
        }
        steps.finish();
    }
}

impl<K: Kind> Drop for Section<'_, K> {
    #[inline]
    fn drop(&mut self) {
        let Some(guard) = self.inner.take() else {
            return;
        };
        if self.round.is_empty() && guard.fresh.is_empty() {
            // The batch, a field, is dropped after this and wakes what it holds.
            drop(guard);
        } else {
            self.finish_in_batches(guard);
        }
    }
}

/// Releases a batch of those under the sentinel and collects their wakers.
fn release_some<K: Kind>(
    _locked: &mut Inner<K>,
    sentinel: Pin<&Sentinel<Entry<K>>>,
    batch: &mut WakeBatch,
) {
    for _ in 0..BATCH {
        if !has_room(batch) {
            return;
        }
        let Some(node) = sentinel.pop_front() else {
            return;
        };
        // SAFETY: [wait-list.node] it was linked until now, and the lock is held.
        let node = unsafe { Held::new(node) };
        let waker = node.with(|state| {
            state.place = Place::Released;
            state.waker.take()
        });
        node.release();
        if let Some(waker) = waker {
            let pushed = batch.push(waker);
            debug_assert!(pushed.is_ok(), "wait-list.woken: the batch was full");
        }
    }
}

/// Collects wakers of those that were offered something and are not yet woken.
fn wake_fresh<K: Kind>(inner: &mut Inner<K>, batch: &mut WakeBatch) {
    while has_room(batch) {
        let Some(node) = inner.fresh.pop_front() else {
            return;
        };
        // SAFETY: [wait-list.node] it was linked until now, and the lock is held.
        let held = unsafe { Held::new(node) };
        let waker = held.with(|state| {
            state.place = Place::Offered;
            state.waker.take()
        });
        // SAFETY: [wait-list.node] pinned and alive while linked; it has just left `fresh`.
        unsafe { inner.offered.push_back(node) };
        if let Some(waker) = waker {
            let pushed = batch.push(waker);
            debug_assert!(pushed.is_ok(), "wait-list.woken: the batch was full");
        }
    }
}
