//! The one offer that its waiter can take without the lock.
//!
//! Offers lie in a list, for a waiter of the same task to find. The first one, while there is no
//! other, lies in a slot instead: nearly always its own waiter takes it, without the lock. A waiter
//! of the same task that would have it, which holds the lock, moves it to the list first.
//!
//! Those two are polls of one task, which come one after the other: then the owner empties the slot
//! by a store. Where the task is told by its waker alone, two threads may poll at once with wakers
//! that compare equal, and one exchange decides.

use super::Kind;
use super::entry::Entry;
use crate::list::Node;
use crate::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

/// The slot. Filled under the lock and only while it is empty; emptied under the lock, or by the
/// owner of the node in it.
pub(super) struct Lone<K: Kind>(AtomicPtr<Node<Entry<K>>>);

// A pointer in it leads to what a panic leaves whole: nodes, under the list's lock.
impl<K: Kind> UnwindSafe for Lone<K> {}
impl<K: Kind> RefUnwindSafe for Lone<K> {}

impl<K: Kind> Lone<K> {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(super) const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Under the lock: nothing is in it, and nobody else will change that.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }

    /// Under the lock, while it is empty, and as the last access to the node.
    #[inline]
    pub(super) fn put(&self, node: NonNull<Node<Entry<K>>>) {
        debug_assert!(self.is_empty(), "wait-list.lone: two offers in one slot");
        // A store is enough although owners exchange the slot: an exchange that succeeds empties
        // it, and it was empty when we looked; nobody fills it but under the lock.
        // ORDERING: [wait-list.slot] Release, pairs with `take`: the owner may free the node
        // then. Relaxed would let that overtake our last access to it.
        self.0.store(node.as_ptr(), Release);
    }

    /// For the node's owner, without the lock: takes its offer, if it lies here. `is_alone`: this
    /// is a poll of the task that the offer was made to.
    #[inline]
    pub(super) fn take(&self, node: NonNull<Node<Entry<K>>>, is_alone: bool) -> bool {
        let (node, none) = (node.as_ptr(), ptr::null_mut());
        // ORDERING: [wait-list.slot] Acquire, pairs with `put`, as said there.
        if self.0.load(Acquire) != node {
            return false;
        }
        if is_alone {
            // CLAIM: [wait-list.lone] only another poll of this task recalls it, and there is none
            // while this one lasts; and it is not filled before it was seen empty.
            self.0.store(none, Relaxed);
            return true;
        }
        // CLAIM: [wait-list.hand-on] one exchange wins: ours, or one that recalls it.
        // Relaxed: what `put` carries has been acquired above.
        let taken = self.0.compare_exchange(node, none, Relaxed, Relaxed);
        taken.is_ok()
    }

    /// Whether that node lies here. Exact for its owner under the lock: what was put here under it
    /// is seen, and another node at the same place was taken out before its memory was given up.
    #[inline]
    pub(super) fn holds(&self, node: NonNull<Node<Entry<K>>>) -> bool {
        self.0.load(Relaxed) == node.as_ptr()
    }

    /// For the node's owner, under the lock: takes it out. Nobody else can reach it now.
    #[inline]
    pub(super) fn clear(&self) {
        self.0.store(ptr::null_mut(), Relaxed);
    }

    /// Under the lock: takes out what lies here, whoever owns it.
    #[inline]
    pub(super) fn recall(&self) -> Option<NonNull<Node<Entry<K>>>> {
        if self.is_empty() {
            return None;
        }
        // Relaxed: it was put there under the lock that we hold.
        NonNull::new(self.0.swap(ptr::null_mut(), Relaxed))
    }
}
