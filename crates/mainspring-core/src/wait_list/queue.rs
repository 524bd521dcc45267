//! What may be done to the queue while the lock is held.

use super::entry::{Entry, Held, Place};
use super::home::Core;
use super::inner::{Inner, Left};
use super::section::has_room;
use super::{From, Kind, revoke};
use crate::WakeBatch;
use crate::list::List;
use crate::poll;
use std::fmt;
use std::task::Waker;

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

/// The queue of a [`WaitList`](super::WaitList) while its lock is held: what
/// [`with`](super::WaitList::with) lends, and a waiter's look, and the methods of a [`Kind`].
pub struct Queue<'q, K: Kind> {
    pub(super) core: &'q Core<K>,
    pub(super) inner: &'q mut Inner<K>,
    /// Those that a release of all in this section has to wake.
    pub(super) round: &'q mut List<Entry<K>>,
    pub(super) batch: &'q mut WakeBatch,
}

impl<'q, K: Kind> Queue<'q, K> {
    /// The words that the primitive shares with its fast path.
    #[inline]
    pub fn kind(&self) -> &'q K {
        self.core.kind()
    }

    /// How many wait with no offer made to them, not counting the caller's own waiter in a look.
    /// Those that lost an offer and were not polled since do not count: nobody has to queue
    /// behind them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.waiting.len()
    }

    /// Whether nobody waits, in the sense of [`len`](Self::len).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.waiting.is_empty()
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.closed
    }

    /// Calls `f` with the key of the waiter at that end; `None` if nobody waits.
    ///
    /// `f` may move something out of the key or into it, and must drop nothing that is a user's.
    pub fn peek<R>(&mut self, from: From, f: impl FnOnce(&mut K::Key) -> R) -> Option<R> {
        let node = self.inner.first(from)?;
        Some(node.with(|state| f(&mut state.key)))
    }

    /// Makes an offer to the waiter at that end. `false` if nobody waits.
    ///
    /// An offer may mean no more than "look again": its waiter goes back to its place if it looks
    /// in vain, and another one is told if it is dropped.
    pub fn wake_one(&mut self, from: From) -> bool {
        let Some(node) = self.inner.first(from) else {
            return false;
        };
        self.offer(node, from);
        true
    }

    /// Lets the waiter at that end go, for good: it leaves the queue with nothing in its hands, and
    /// finds so without the lock ([`Waiter::take_release`](super::Waiter::take_release)). `false`
    /// if nobody waits.
    ///
    /// For a primitive that tells its waiters to look, and whose waiters pass that on by
    /// themselves if they are dropped before they did: nothing can be taken back from one that its
    /// task does not poll. One that waits again is a newcomer.
    pub fn release_one(&mut self, from: From) -> bool {
        if !has_room(self.batch) {
            // It would have to be kept for the next round, like an offer: then be one.
            return self.wake_one(from);
        }
        let Some(node) = self.inner.first(from) else {
            return false;
        };
        self.inner.dequeue(node);
        let waker = node.with(|state| {
            state.place = Place::Released;
            state.waker.take()
        });
        // CLAIM: [wait-list.node] from here it is its owner's alone.
        node.release();
        if let Some(waker) = waker {
            self.wake_later(waker);
        }
        true
    }

    /// Takes back the offer that was made last and was not taken up: what it carried is the
    /// caller's. Its waiter keeps its place, and is asked again when it is polled. `false` if no
    /// offer is out.
    ///
    /// For a caller that goes before all who wait. It serves nobody else: the kind's
    /// [`returned`](Kind::returned) is not asked.
    pub fn take_back(&mut self) -> bool {
        debug_assert!(K::IS_TAKEN_BACK, "wait-list.lone: the kind has not said so");
        // The one in the slot was made before the others.
        let last = self.inner.last_offer().or_else(|| self.recall());
        let Some(node) = last else {
            return false;
        };
        // CLAIM: [wait-list.hand-on] here it comes back, to the caller.
        let left = self.inner.unlink(node);
        debug_assert!(
            matches!(left, Left::Offered(_)),
            "wait-list.hand-on: taken back from one that had none"
        );
        self.inner.lapse(node);
        true
    }

    /// Moves an offer that lies in the slot to the others, if its waiter has not taken it.
    #[cold]
    fn recall(&mut self) -> Option<Held<K>> {
        let node = self.core.lone.recall()?;
        // SAFETY: [wait-list.lone] out of the slot by our exchange, so its owner, who is alive and
        // pinned, comes for the lock from here on.
        unsafe { self.inner.offered.push_back(node) };
        self.inner.last_offer()
    }

    /// Goes through the waiters from the oldest and makes offers to those that `fits` picks.
    /// Returns how many. O(n) in the waiters gone through.
    pub fn wake_where(&mut self, mut fits: impl FnMut(&mut K::Key) -> Scan) -> usize {
        let mut offers = 0;
        let mut next = self.inner.first(From::Oldest);
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
        self.inner.epoch += 1;
        self.round.append(&mut self.inner.lapsed);
        self.round.append(&mut self.inner.waiting);
    }

    /// Marks the list as closed, for good, and releases everybody.
    pub fn close(&mut self) {
        self.inner.closed = true;
        self.wake_all();
    }

    fn after(&mut self, node: Held<K>) -> Option<Held<K>> {
        // SAFETY: [wait-list.state] the scan visits waiting nodes and asks before it moves one.
        let next = unsafe { self.inner.waiting.after(node.node()) };
        self.inner.held(next)
    }

    fn offer(&mut self, node: Held<K>, from: From) {
        self.inner.dequeue(node);
        let number = if self.core.is_revocable() {
            revoke::number_of_offer()
        } else {
            0
        };
        let has_room = has_room(self.batch);
        let since = poll::turn_now();
        let (is_woken, waker, who) = node.with(|state| {
            state.from = from;
            state.offer = number;
            state.since = since;
            let is_woken = has_room || state.waker.is_none();
            state.place = if is_woken {
                Place::Offered
            } else {
                Place::Fresh
            };
            let waker = if has_room { state.waker.take() } else { None };
            (is_woken, waker, state.who)
        });
        let is_only = self.inner.offered.is_empty() && self.inner.fresh.is_empty();
        if is_woken && is_only && !self.core.is_revocable() && self.core.lone.is_empty() {
            self.inner.lone = (who, since);
            self.core.lone.put(node.node());
        } else {
            let list = if is_woken {
                &mut self.inner.offered
            } else {
                &mut self.inner.fresh
            };
            // SAFETY: [wait-list.node] pinned and alive while linked; it has just left the queue.
            unsafe { list.push_back(node.node()) };
        }
        if let Some(waker) = waker {
            self.wake_later(waker);
        }
    }

    fn wake_later(&mut self, waker: Waker) {
        let pushed = self.batch.push(waker);
        debug_assert!(pushed.is_ok(), "wait-list.woken: the batch was full");
    }
}

impl<K: Kind> fmt::Debug for Queue<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Queue");
        self.inner.fields(&mut out, &self.core.lone);
        out.finish_non_exhaustive()
    }
}
