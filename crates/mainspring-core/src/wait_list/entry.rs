//! What a node of the wait list holds, and the checked way to it.

use super::index::Sides;
use super::{From, Kind};
use crate::list::Node;
use crate::poll;
use crate::sync::atomic::{
    AtomicU8,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use crate::time::Nanos;
use std::ptr::{self, NonNull};
use std::task::{RawWakerVTable, Waker};

/// Never linked, or unlinked by its owner. Written by the owner.
const IDLE: u8 = 0;
/// Others may reach the node: the truth is in its state, under the lock. Written by the owner.
const LINKED: u8 = 1;
/// Unlinked by a release of all; nobody else will touch the node. Written by the notifier.
const RELEASED: u8 = 2;

/// Which list of the queue a node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In none.
    Idle,
    /// In the queue, or under the sentinel of a release whose epoch has passed.
    Waiting,
    /// Offered something, and not woken yet: its waker is still here.
    Fresh,
    /// Offered something, and woken.
    Offered,
    /// Woken for an offer that it then lost, and not polled since. In no queue for offers, but a
    /// release of all reaches it.
    Lapsed,
    /// Released by a release of all, and woken for it.
    Released,
}

/// Where no table is: for the roots of ours.
const ROOT: *const RawWakerVTable = ptr::without_provenance(1);

/// Who polls a waiter. Two words, and not an enum of them, so that they are moved as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    /// The number of a task or root of ours, else where a waker points; compared and never
    /// followed.
    what: u64,
    /// What the waker calls; null for a task of ours, [`ROOT`] for the root of a `block_on`.
    table: *const RawWakerVTable,
}

impl Who {
    /// Of a waiter that was never polled, which is in no list.
    pub(super) const NOBODY: Self = Self::task(0);

    const fn task(task: u64) -> Self {
        Self {
            what: task,
            table: ptr::null(),
        }
    }

    #[inline]
    pub(super) fn of(waker: &Waker) -> Self {
        match poll::stamp() {
            Some(stamp) if poll::is_root() => Self {
                what: stamp.task,
                table: ROOT,
            },
            Some(stamp) => Self::task(stamp.task),
            None => Self {
                what: waker.data().addr() as u64,
                table: waker.vtable(),
            },
        }
    }

    /// The number of the task or root, if it is one of ours.
    pub(super) fn number(self) -> Option<u64> {
        let is_ours = self.table.is_null() || self.is_root();
        is_ours.then_some(self.what)
    }

    /// Both words, which together tell it from every other one.
    pub(super) fn words(self) -> (u64, u64) {
        (self.what, self.table.addr() as u64)
    }

    /// Whether it is the root of a `block_on` of ours.
    pub(super) fn is_root(self) -> bool {
        ptr::eq(self.table, ROOT)
    }
}

pub(super) struct State<K: Kind> {
    pub(super) place: Place,
    /// The order of arrival.
    pub(super) arrival: u64,
    /// The list's count of releases when the node was linked.
    pub(super) epoch: u64,
    pub(super) waker: Option<Waker>,
    pub(super) who: Who,
    /// From which end the offer was made.
    pub(super) from: From,
    /// Whether the index of offers has it.
    pub(super) is_indexed: bool,
    /// What hangs below it there.
    pub(super) sides: Sides<K>,
    /// The number of the offer, in a revocable list.
    pub(super) offer: u64,
    /// The turn clock of whoever made the offer.
    pub(super) since: Nanos,
    pub(super) key: K::Key,
}

pub(super) struct Entry<K: Kind> {
    phase: AtomicU8,
    state: UnsafeCell<State<K>>,
}

impl<K: Kind> Entry<K> {
    /// Always inlined, as what is around it: it is built where it stays.
    #[inline(always)]
    pub(super) fn new(key: K::Key) -> Self {
        Self {
            phase: AtomicU8::new(IDLE),
            state: UnsafeCell::new(State {
                place: Place::Idle,
                arrival: 0,
                epoch: 0,
                waker: None,
                who: Who::NOBODY,
                from: From::Oldest,
                is_indexed: false,
                sides: [None; 2],
                offer: 0,
                since: Nanos::ZERO,
                key,
            }),
        }
    }

    /// Whether nobody else knows the node: it was not linked since it was last idle. For the owner.
    pub(super) fn is_idle(&self) -> bool {
        self.phase.load(Relaxed) == IDLE
    }

    /// Whether a release of all reached the node, and has let go of it. For the owner.
    pub(super) fn was_released(&self) -> bool {
        // ORDERING: [wait-list.released] Acquire, pairs with the store in `release`. The owner may
        // free the node when it reads RELEASED here; Relaxed would let that overtake the
        // notifier's last access to the node.
        self.phase.load(Acquire) == RELEASED
    }

    pub(super) fn key_mut(&mut self) -> &mut K::Key {
        self.state.with_mut(|state| {
            // SAFETY: [wait-list.state] exclusive access says that nobody else reaches the node.
            let state = unsafe { &mut *state };
            &mut state.key
        })
    }
}

/// A node that may be touched.
///
/// It exists only where the lock of the node's list is held, and only while the node is linked or
/// the node's owner is the one at work.
pub(super) struct Held<K: Kind>(NonNull<Node<Entry<K>>>);

impl<K: Kind> Clone for Held<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind> Copy for Held<K> {}

impl<K: Kind> PartialEq for Held<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K: Kind> Held<K> {
    /// # Safety
    ///
    /// While the result is used, the node is alive and the lock of its list is held.
    pub(super) unsafe fn new(node: NonNull<Node<Entry<K>>>) -> Self {
        Self(node)
    }

    pub(super) fn node(self) -> NonNull<Node<Entry<K>>> {
        self.0
    }

    fn entry<'a>(self) -> &'a Entry<K> {
        // SAFETY: [wait-list.node] alive by the contract of `new`; nodes are only ever shared.
        unsafe { self.0.as_ref() }.value()
    }

    /// Calls `f` with the state. `f` must not come back for the state of the same node.
    pub(super) fn with<R>(self, f: impl FnOnce(&mut State<K>) -> R) -> R {
        self.entry().state.with_mut(|state| {
            // SAFETY: [wait-list.state] the lock is held by the contract of `new`, so nobody else
            // is at this state; the callers below never nest two accesses to one node.
            f(unsafe { &mut *state })
        })
    }

    /// Its place in the order of arrival.
    #[inline]
    pub(super) fn arrival(self) -> u64 {
        self.with(|state| state.arrival)
    }

    /// Whether it is in no list, and nobody else's. For the owner.
    #[inline]
    pub(super) fn is_idle(self) -> bool {
        self.entry().is_idle()
    }

    pub(super) fn note_linked(self) {
        self.entry().phase.store(LINKED, Relaxed);
    }

    pub(super) fn note_idle(self) {
        self.entry().phase.store(IDLE, Relaxed);
    }

    /// Lets go of a node that was unlinked for good: nobody but its owner touches it again.
    pub(super) fn release(self) {
        // ORDERING: [wait-list.released] Release, pairs with the load in `was_released`. Relaxed
        // would let the owner free the node before our accesses to it are done.
        self.entry().phase.store(RELEASED, Release);
    }
}
