//! What the lock guards: four lists, and the moves between them.

use super::entry::{Entry, Held, Place};
use super::{From, Kind};
use crate::list::{List, Node, Sentinel};
use std::fmt;
use std::ptr::NonNull;

/// Everything that the lock guards.
pub(super) struct Inner<K: Kind> {
    pub(super) waiting: List<Entry<K>>,
    pub(super) fresh: List<Entry<K>>,
    pub(super) offered: List<Entry<K>>,
    pub(super) lapsed: List<Entry<K>>,
    arrivals: u64,
    /// How many releases of all there were.
    pub(super) epoch: u64,
    pub(super) closed: bool,
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
            arrivals: 0,
            epoch: 0,
            closed: false,
        }
    }

    pub(super) fn fields(&self, out: &mut fmt::DebugStruct<'_, '_>) {
        out.field("waiting", &self.waiting.len())
            .field("offered", &(self.offered.len() + self.fresh.len()))
            .field("lapsed", &self.lapsed.len())
            .field("closed", &self.closed);
    }

    pub(super) fn counts(&self) -> (usize, usize, bool) {
        (self.waiting.len(), self.lapsed.len(), self.closed)
    }

    /// The nodes with an offer out, oldest offer first among those already woken.
    pub(super) fn offers(&self) -> impl Iterator<Item = Held<K>> {
        let nodes = self.offered.iter().chain(self.fresh.iter());
        // SAFETY: [wait-list.node] linked, and `Inner` is only reached through the lock.
        nodes.map(|node| unsafe { Held::new(node) })
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
        let (place, epoch, from) = node.with(|state| {
            let place = std::mem::replace(&mut state.place, Place::Idle);
            (place, state.epoch, state.from)
        });
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

    /// Puts a node into the queue, at the place that its arrival gives it.
    pub(super) fn enqueue(&mut self, node: Held<K>) {
        let arrival = node.with(|state| {
            debug_assert_eq!(state.place, Place::Idle, "wait-list.state: linked twice");
            state.place = Place::Waiting;
            state.epoch = self.epoch;
            state.arrival
        });
        node.note_linked();
        let arrived = |node: Held<K>| node.with(|state| state.arrival);
        let next = match (self.first(From::Oldest), self.first(From::Newest)) {
            (Some(oldest), _) if arrived(oldest) > arrival => Some(oldest),
            (_, Some(newest)) if arrived(newest) > arrival => {
                // Rare: it lost an offer that had been made out of turn.
                let mut younger = self.waiting.iter();
                let node = younger.find(|node| {
                    // SAFETY: [wait-list.node] linked, and the lock is held.
                    arrived(unsafe { Held::new(*node) }) > arrival
                });
                self.held(node)
            }
            _ => None,
        };
        match next {
            // SAFETY: [wait-list.node] pinned and alive while linked; `next` is in this list.
            Some(next) => unsafe { self.waiting.insert_before(next.node(), node.node()) },
            // SAFETY: [wait-list.node] pinned and alive while linked.
            None => unsafe { self.waiting.push_back(node.node()) },
        }
        debug_assert!(
            self.first(From::Oldest).map(arrived) <= self.first(From::Newest).map(arrived),
            "wait-list.order: out of the order of arrival"
        );
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
    pub(super) fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}
