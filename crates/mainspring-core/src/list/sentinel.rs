//! A ring of nodes, each of which leaves without its owner's help.

use super::{ALONE, Links, Node, at, links_of};
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;

/// The one link of a ring that is no node: what [`splice_under`](super::List::splice_under) moves
/// nodes under.
///
/// A node under a sentinel is unlinked by [`unlink`](Self::unlink) without a reference to the
/// sentinel, which typically stands on another thread's stack. It must be empty before it is
/// dropped, which its owner ensures.
pub struct Sentinel<T> {
    pub(super) links: Links,
    nodes: PhantomData<NonNull<Node<T>>>,
}

impl<T> Sentinel<T> {
    /// A sentinel that nothing is under.
    #[must_use]
    pub fn new() -> Self {
        Self {
            links: Links::new(),
            nodes: PhantomData,
        }
    }

    /// The sentinel as its neighbours name it.
    fn anchor(&self) -> NonNull<Links> {
        NonNull::from(&self.links)
    }

    /// Whether no node is under it. The caller owns the ring.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let next = self.links.load().next;
        next.is_none() || next == Some(self.anchor())
    }

    /// Unlinks the first node under it. The caller owns the ring.
    pub fn pop_front(self: Pin<&Self>) -> Option<NonNull<Node<T>>> {
        let first = self.links.load().next?;
        if first == self.anchor() {
            return None;
        }
        let node = first.cast();
        // SAFETY: [list.whole-node] it is the sentinel's neighbour and not the sentinel, so it is a
        // node in its ring.
        unsafe { Self::unlink(node) };
        Some(node)
    }

    /// Unlinks a node from the ring it is in.
    ///
    /// # Safety
    ///
    /// `node` is under a sentinel, and the caller owns that ring.
    pub unsafe fn unlink(node: NonNull<Node<T>>) {
        let node = links_of(node);
        // SAFETY: [list.linked] the caller says that it is in a ring.
        let links = unsafe { at(node) };
        let (Some(prev), Some(next)) = (links.load().prev, links.load().next) else {
            debug_assert!(false, "list.ring: a node without neighbours");
            return;
        };
        links.store(ALONE);
        // SAFETY: [list.ring] the neighbour of a node in a ring is a node in it or its sentinel.
        unsafe { at(prev) }.set_next(Some(next));
        // SAFETY: [list.ring] as above.
        unsafe { at(next) }.set_prev(Some(prev));
    }
}

impl<T> Default for Sentinel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Sentinel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel").finish_non_exhaustive()
    }
}
