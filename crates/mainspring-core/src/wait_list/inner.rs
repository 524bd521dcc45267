//! What the lock guards: four lists, and the moves between them.

use super::entry::{Entry, Held, Place, Who};
use super::index::Index;
use super::lone::Lone;
use super::{From, Kind, visits};
use crate::list::{List, Node, Sentinel};
use crate::time::Nanos;
use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

/// Up to so many offers are looked through; beyond that they are indexed.
#[cfg(not(any(test, all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const FEW: usize = 32;

/// One, so that two offers already are.
#[cfg(any(test, all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const FEW: usize = 1;

/// Everything that the lock guards.
pub(super) struct Inner<K: Kind> {
    pub(super) waiting: List<Entry<K>>,
    pub(super) fresh: List<Entry<K>>,
    pub(super) offered: List<Entry<K>>,
    pub(super) lapsed: List<Entry<K>>,
    /// Those of `fresh` and `offered` that a search has come past.
    index: Index<K>,
    /// Whom the last offer in the slot was made to, and when. It may have been taken.
    pub(super) lone: (Who, Nanos),
    arrivals: u64,
    /// How many releases of all there were.
    pub(super) epoch: u64,
    pub(super) closed: bool,
    /// Whether this is what a list has left behind: nothing is in it.
    pub(super) is_retired: bool,
}

/// How a node left its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// It was in none.
    Idle,
    /// It was waiting.
    Waiting,
    /// It had an offer from this end.
    Offered(From),
    /// It had lost an offer.
    Lapsed,
    /// A release of all had it in its hands, or was done with it.
    Released,
}

impl<K: Kind> Inner<K> {
    pub(super) const fn new() -> Self {
        Self {
            waiting: List::new(),
            fresh: List::new(),
            offered: List::new(),
            lapsed: List::new(),
            index: Index::new(),
            lone: (Who::NOBODY, Nanos::ZERO),
            arrivals: 0,
            epoch: 0,
            closed: false,
            is_retired: false,
        }
    }

    /// Leaves nothing behind but the word that this is no list any more.
    pub(super) fn retire(&mut self) -> Self {
        let mut left = Self::new();
        left.is_retired = true;
        std::mem::replace(self, left)
    }

    pub(super) fn fields(&self, out: &mut fmt::DebugStruct<'_, '_>, lone: &Lone<K>) {
        let offered = self.offered.len() + self.fresh.len() + usize::from(!lone.is_empty());
        out.field("waiting", &self.waiting.len())
            .field("offered", &offered)
            .field("lapsed", &self.lapsed.len())
            .field("closed", &self.closed);
    }

    pub(super) fn counts(&self) -> (usize, usize, bool) {
        (self.waiting.len(), self.lapsed.len(), self.closed)
    }

    /// Whether an offer lies in the lists.
    #[inline]
    pub(super) fn has_offers(&self) -> bool {
        !self.offered.is_empty() || !self.fresh.is_empty()
    }

    /// The nodes with an offer out, oldest offer first among those already woken.
    pub(super) fn offers(&self) -> impl Iterator<Item = Held<K>> {
        let nodes = self.offered.iter().chain(self.fresh.iter());
        // SAFETY: [wait-list.node] linked, and `Inner` is only reached through the lock.
        nodes.map(|node| unsafe { Held::new(node) })
    }

    /// A node with an offer that was made to that task.
    ///
    /// A search comes past each offer once: those that it passes in vain are indexed, and later
    /// ones begin at the newest and end at the last that is not. A few that stand among others that
    /// are, because these were woken later, are reached over them, each of which moves once.
    pub(super) fn offer_to(&mut self, who: Who) -> Option<Held<K>> {
        let mut rest = self.offered.len() + self.fresh.len() - self.index.len();
        if self.index.len() == 0 && rest <= FEW {
            return self.offers().find(|node| {
                visits::note();
                node.with(|state| state.who == who)
            });
        }
        let mut found = self.index.find(who);
        if found.is_some() {
            return found;
        }
        for list in [&self.fresh, &self.offered] {
            let mut next = list.back();
            while let (Some(node), 1..) = (next, rest) {
                // SAFETY: [wait-list.node] it is in this list, which is only looked through.
                next = unsafe { list.before(node) };
                visits::note();
                // SAFETY: [wait-list.node] linked, and `Inner` is only reached through the lock.
                let node = unsafe { Held::new(node) };
                let (other, is_indexed) = node.with(|state| (state.who, state.is_indexed));
                if is_indexed {
                    continue;
                }
                // CLAIM: [index.offer] it is in one of these lists.
                self.index.insert(node);
                rest -= 1;
                if other == who {
                    found = Some(node);
                }
            }
        }
        debug_assert_eq!(rest, 0, "index.offer: one that is not among the offers");
        found
    }

    /// The node whose offer was made last.
    pub(super) fn last_offer(&self) -> Option<Held<K>> {
        self.held(self.fresh.back().or_else(|| self.offered.back()))
    }

    pub(super) fn held(&self, node: Option<NonNull<Node<Entry<K>>>>) -> Option<Held<K>> {
        // SAFETY: [wait-list.node] the callers take it from a list of this queue; `Inner` is only
        // reached through the lock.
        node.map(|node| unsafe { Held::new(node) })
    }

    pub(super) fn first(&self, from: From) -> Option<Held<K>> {
        self.held(match from {
            From::Oldest => self.waiting.front(),
            From::Newest => self.waiting.back(),
        })
    }

    /// Takes a node out of whatever list it is in.
    pub(super) fn unlink(&mut self, node: Held<K>) -> Left {
        let (place, epoch, from, is_indexed) = node.with(|state| {
            let place = std::mem::replace(&mut state.place, Place::Idle);
            (place, state.epoch, state.from, state.is_indexed)
        });
        if is_indexed {
            self.index.remove(node);
        }
        let list = match place {
            Place::Idle => return Left::Idle,
            Place::Released => return Left::Released,
            Place::Waiting | Place::Lapsed if epoch != self.epoch => {
                // SAFETY: [wait-list.newcomers] it was linked before the last release of all, which
                // moved it under its sentinel; the lock is the ring's too.
                unsafe { Sentinel::unlink(node.node()) };
                return Left::Released;
            }
            Place::Waiting => &mut self.waiting,
            Place::Lapsed => &mut self.lapsed,
            Place::Fresh => &mut self.fresh,
            Place::Offered => &mut self.offered,
        };
        // SAFETY: [wait-list.state] `place` says which list it is in, and both change together.
        unsafe { list.remove(node.node()) };
        match place {
            Place::Waiting => Left::Waiting,
            Place::Lapsed => Left::Lapsed,
            _ => Left::Offered(from),
        }
    }

    /// Takes a node out of the queue, where it is.
    pub(super) fn dequeue(&mut self, node: Held<K>) {
        node.with(|state| {
            debug_assert_eq!(
                (state.place, state.epoch),
                (Place::Waiting, self.epoch),
                "wait-list.hand-on: chosen, and does not wait"
            );
            state.place = Place::Idle;
        });
        // SAFETY: [wait-list.state] the callers found it in the queue, under this lock.
        unsafe { self.waiting.remove(node.node()) };
    }

    /// Whether a node is in the queue, and not at its front.
    pub(super) fn is_behind(&self, node: Held<K>) -> bool {
        let is_waiting =
            node.with(|state| state.place == Place::Waiting && state.epoch == self.epoch);
        is_waiting && self.waiting.front() != Some(node.node())
    }

    /// Whether somebody is in the queue who came before a node that is not in it.
    pub(super) fn is_preceded(&self, node: Held<K>) -> bool {
        let arrival = node.with(|state| state.arrival);
        let oldest = self.first(From::Oldest);
        oldest.is_some_and(|oldest| oldest.with(|state| state.arrival) < arrival)
    }

    /// Puts a newcomer's node at the end of the queue, with the waker that its poll was made with.
    #[inline]
    pub(super) fn join(&mut self, node: Held<K>, who: Who, waker: Waker) {
        let arrival = self.arrive();
        let old = node.with(|state| {
            debug_assert_eq!(state.place, Place::Idle, "wait-list.state: linked twice");
            state.place = Place::Waiting;
            state.epoch = self.epoch;
            state.arrival = arrival;
            state.who = who;
            state.waker.replace(waker)
        });
        debug_assert!(
            old.is_none(),
            "wait-list.outside: an idle waiter with a waker"
        );
        node.note_linked();
        // SAFETY: [wait-list.node] pinned and alive while linked.
        unsafe { self.waiting.push_back(node.node()) };
    }

    /// Puts a node into the queue, at the place that its arrival gives it.
    pub(super) fn enqueue(&mut self, node: Held<K>) {
        let arrival = node.with(|state| {
            debug_assert_eq!(state.place, Place::Idle, "wait-list.state: linked twice");
            state.place = Place::Waiting;
            state.epoch = self.epoch;
            state.arrival
        });
        node.note_linked();
        let newest = self.first(From::Newest);
        if newest.is_none_or(|newest| newest.arrival() < arrival) {
            // SAFETY: [wait-list.node] pinned and alive while linked.
            unsafe { self.waiting.push_back(node.node()) };
        } else {
            self.enqueue_again(node, arrival);
        }
        debug_assert!(
            self.first(From::Oldest).map(Held::arrival)
                <= self.first(From::Newest).map(Held::arrival),
            "wait-list.order: out of the order of arrival"
        );
    }

    /// Links a node in front of the first that came later: it had an offer, and is back.
    #[cold]
    fn enqueue_again(&mut self, node: Held<K>, arrival: u64) {
        // The front, unless it lost an offer that had been made out of turn.
        let next = self.waiting.iter().find(|node| {
            visits::note();
            // SAFETY: [wait-list.node] linked, and the lock is held.
            unsafe { Held::<K>::new(*node) }.arrival() > arrival
        });
        match next {
            // SAFETY: [wait-list.node] pinned and alive while linked; `next` is in this list.
            Some(next) => unsafe { self.waiting.insert_before(next, node.node()) },
            None => unreachable!("wait-list.order: the newest came later"),
        }
    }

    /// Puts a node that lost its offer aside until it is polled, or back if it was never woken.
    pub(super) fn lapse(&mut self, node: Held<K>) {
        if node.with(|state| state.waker.is_some()) {
            return self.enqueue(node);
        }
        node.with(|state| {
            state.place = Place::Lapsed;
            state.epoch = self.epoch;
        });
        // SAFETY: [wait-list.node] pinned and alive while linked; it is in no list now.
        unsafe { self.lapsed.push_back(node.node()) };
    }

    /// The next place in the order of arrival.
    #[inline]
    pub(super) fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}
