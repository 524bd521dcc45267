//! The queue under the lock, and the end of a locked section, where the waking is done.

use super::entry::{Entry, Held, Place, State, Who};
use super::inner::{Inner, Left};
use super::revoke;
use super::{From, Kind, WaitList};
use crate::WakeBatch;
use crate::list::{List, Sentinel};
use crate::poll;
use crate::sync::MutexGuard;
use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::task::Waker;
use std::thread;

/// How many wakers are collected before the lock is released to call them, and how many nodes
/// are released under one lock.
#[cfg(not(all(mainspring_loom, feature = "loom")))]
const BATCH: usize = WakeBatch::CAPACITY;

/// One, so that two waiters already take two rounds.
#[cfg(all(mainspring_loom, feature = "loom"))]
const BATCH: usize = 1;

fn has_room(batch: &WakeBatch) -> bool {
    batch.len() < BATCH
}

/// Whether [`Queue::wake_where`] offers to a waiter, and goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the scan needs an answer for each waiter"]
pub enum Scan {
    /// Make it an offer, and go on.
    Offer,
    /// Leave it, and go on.
    Skip,
    /// Leave it, and end.
    Stop,
}

/// The queue of a [`WaitList`] while its lock is held.
///
/// Dropping it releases the lock and then wakes whoever was offered something or released, in
/// batches of [`WakeBatch::CAPACITY`].
#[must_use = "the queue is locked while this lives"]
pub struct Queue<'a, K: Kind> {
    list: &'a WaitList<K>,
    inner: Option<MutexGuard<'a, Inner<K>>>,
    /// Those that a release of all in this section has to wake.
    round: List<Entry<K>>,
    /// Dropped last, when the lock is free: what is in it is woken by that.
    batch: WakeBatch,
}

impl<'a, K: Kind> Queue<'a, K> {
    /// Always inlined: it is half a kilobyte, which would be copied to the caller.
    #[inline(always)]
    pub(super) fn new(list: &'a WaitList<K>) -> Self {
        Self {
            list,
            inner: Some(list.inner.lock()),
            round: List::new(),
            batch: WakeBatch::new(),
        }
    }

    pub(super) fn inner(&mut self) -> &mut Inner<K> {
        self.inner.as_mut().expect("the lock is held until the end")
    }

    fn inner_ref(&self) -> &Inner<K> {
        self.inner.as_ref().expect("the lock is held until the end")
    }

    /// The words that the primitive shares with its fast path.
    #[inline]
    pub fn kind(&self) -> &'a K {
        &self.list.kind
    }

    /// How many wait with no offer made to them, not counting the caller's own waiter in a look.
    /// Those that lost an offer and were not polled since do not count: nobody has to queue
    /// behind them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner_ref().waiting.len()
    }

    /// Whether nobody waits, in the sense of [`len`](Self::len).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner_ref().waiting.is_empty()
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner_ref().closed
    }

    /// Calls `f` with the key of the waiter at that end; `None` if nobody waits.
    ///
    /// `f` may move something out of the key or into it, and must drop nothing that is a user's.
    pub fn peek<R>(&mut self, from: From, f: impl FnOnce(&mut K::Key) -> R) -> Option<R> {
        let node = self.inner().first(from)?;
        Some(node.with(|state| f(&mut state.key)))
    }

    /// Makes an offer to the waiter at that end. `false` if nobody waits.
    ///
    /// An offer may mean no more than "look again": its waiter goes back to its place if it looks
    /// in vain, and another one is told if it is dropped.
    pub fn wake_one(&mut self, from: From) -> bool {
        let Some(node) = self.inner().first(from) else {
            return false;
        };
        self.offer(node, from);
        true
    }

    /// Goes through the waiters from the oldest and makes offers to those that `fits` picks.
    /// Returns how many. O(n) in the waiters gone through.
    pub fn wake_where(&mut self, mut fits: impl FnMut(&mut K::Key) -> Scan) -> usize {
        let mut offers = 0;
        let mut next = self.inner().first(From::Oldest);
        while let Some(node) = next {
            // Before the offer, which takes the node out of the list.
            next = self.after(node);
            match node.with(|state| fits(&mut state.key)) {
                Scan::Offer => {
                    self.offer(node, From::Oldest);
                    offers += 1;
                }
                Scan::Skip => {}
                Scan::Stop => break,
            }
        }
        offers
    }

    /// Releases everybody who waits now: when they are polled, their look is asked with
    /// [`Why::Released`](super::Why::Released). Who comes later, even before the last of them was
    /// woken, is not among them.
    pub fn wake_all(&mut self) {
        let inner = self.inner.as_mut().expect("the lock is held until the end");
        inner.epoch += 1;
        self.round.append(&mut inner.lapsed);
        self.round.append(&mut inner.waiting);
    }

    /// Marks the list as closed, for good, and releases everybody.
    pub fn close(&mut self) {
        self.inner().closed = true;
        self.wake_all();
    }

    fn after(&mut self, node: Held<K>) -> Option<Held<K>> {
        let inner = self.inner();
        // SAFETY: [wait-list.state] the scan visits waiting nodes and asks before it moves one.
        let next = unsafe { inner.waiting.after(node.node()) };
        inner.held(next)
    }

    fn offer(&mut self, node: Held<K>, from: From) {
        let left = self.inner().unlink(node);
        debug_assert_eq!(
            left,
            Left::Waiting,
            "wait-list.hand-on: offered to one that does not wait"
        );
        let number = if self.list.revocable {
            revoke::number_of_offer()
        } else {
            0
        };
        let has_room = has_room(&self.batch);
        let (place, waker) = node.with(|state| {
            state.from = from;
            state.offer = number;
            state.since = poll::turn_now();
            state.place = if has_room || state.waker.is_none() {
                Place::Offered
            } else {
                Place::Fresh
            };
            let waker = if has_room { state.waker.take() } else { None };
            (state.place, waker)
        });
        let inner = self.inner();
        let list = if place == Place::Fresh {
            &mut inner.fresh
        } else {
            &mut inner.offered
        };
        // SAFETY: [wait-list.node] pinned and alive while linked; it has just left the queue.
        unsafe { list.push_back(node.node()) };
        if let Some(waker) = waker {
            self.wake_later(waker);
        }
    }

    fn wake_later(&mut self, waker: Waker) {
        let pushed = self.batch.push(waker);
        debug_assert!(pushed.is_ok(), "wait-list.woken: the batch was full");
    }

    /// Gives what was offered to another waiter of the same task to `node`, which is being polled
    /// and unlinked, or waits behind others. If it is taken over, `node` is unlinked.
    pub(super) fn take_over(&mut self, node: Held<K>, who: Who) -> Option<From> {
        let same = |other: &Held<K>| other.with(|state| state.who == Some(who));
        let loser = self.inner().offers().find(same)?;
        // Out of the queue while its key is lent to the kind, which can reach what is in there.
        let was_waiting = self.inner().unlink(node) != Left::Idle;
        let kind = self.kind();
        let agreed = loser
            .with(|offered| node.with(|wanted| kind.exchange(self, &offered.key, &wanted.key)));
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

    /// Lets a waiter go that is dropped, and does for the others what that asks for.
    pub(super) fn dismiss(&mut self, node: Held<K>) {
        let left = self.inner().unlink(node);
        let kind = self.kind();
        match left {
            Left::Waiting => node.with(|state| kind.left(self, &state.key)),
            Left::Offered(from) => node.with(|state| kind.returned(self, &state.key, from)),
            Left::Idle | Left::Lapsed | Left::Released => {}
        }
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
        let kind = self.kind();
        node.with(|state| kind.returned(self, &state.key, from));
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
    fn finish_in_batches(&mut self, guard: MutexGuard<'a, Inner<K>>) {
        let sentinel = pin!(Sentinel::new());
        let sentinel = sentinel.into_ref();
        // SAFETY: [wait-list.newcomers] the lock guards the ring as it guarded the lists, and the
        // loop below ends only when the sentinel is empty: whatever unwinds in it is caught.
        unsafe { self.round.splice_under(sentinel) };
        let mut locked = Some(guard);
        let mut panicked = None;
        loop {
            let mut guard = locked.take().unwrap_or_else(|| self.list.inner.lock());
            release_some(&mut guard, sentinel, &mut self.batch);
            wake_fresh(&mut guard, &mut self.batch);
            let is_done = sentinel.is_empty() && guard.fresh.is_empty();
            drop(guard);
            let batch = AssertUnwindSafe(&mut self.batch);
            let result = panic::catch_unwind(|| { batch }.wake_all());
            keep_first(&mut panicked, result);
            if is_done {
                break;
            }
        }
        match panicked {
            Some(payload) if !thread::panicking() => panic::resume_unwind(payload),
            // A second unwind would abort.
            Some(payload) => discard(payload),
            None => {}
        }
    }
}

fn keep_first(first: &mut Option<Box<dyn Any + Send>>, result: thread::Result<()>) {
    if let Err(payload) = result {
        if first.is_none() {
            *first = Some(payload);
        } else {
            discard(payload);
        }
    }
}

/// Drops what a panic carried. That is foreign code, and may panic again: then it is left alone.
pub(super) fn discard(payload: Box<dyn Any + Send>) {
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
    std::mem::forget(dropped);
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

impl<K: Kind> Drop for Queue<'_, K> {
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

impl<K: Kind> fmt::Debug for Queue<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Queue");
        self.inner_ref().fields(&mut out);
        out.finish_non_exhaustive()
    }
}
