//! An intrusive doubly linked list over pinned nodes.
//!
//! The links live in the elements: linking and unlinking allocate nothing and take constant time,
//! wherever the element stands. This is the pure part: every change takes `&mut self` and nothing
//! here locks, wakes or frees. [`WaitList`](crate::WaitList) puts a lock around it.
//!
//! A [`List`] holds two pointers and may be moved. A [`Sentinel`] is one link that closes a ring of
//! nodes: under it a node has two neighbours always, so it can be unlinked by whoever holds the
//! lock, without knowing where the ring's owner stands.
//!
//! # Invariants
//!
//! - **list.linked** — a node that is reachable from a list or a sentinel is allocated, pinned, and
//!   reachable from exactly one of them, exactly once.
//! - **list.exclusive** — the links of linked nodes are touched only by whoever has `&mut` access
//!   to the list they are in, or holds the lock that stands for it.
//! - **list.mirror** — `a.next == b` if and only if `b.prev == a`; a list's first node has no
//!   `prev`, its last no `next`.
//! - **list.ring** — a node under a sentinel has two neighbours; the sentinel may be one of them
//!   or both.
//! - **list.whole-node** — a pointer to links that is not the sentinel's was made from a pointer to
//!   a whole [`Node`], of which the links are the first field.
//!
//! # Rejected
//!
//! A list that is a ring from the start, with its anchor in the list itself: a waiter that was
//! forgotten (leaked, not dropped) would keep a pointer to an anchor that may move. A `Vec` of
//! slots with a free list: one allocation that grows under the lock, and never shrinks while one
//! old waiter sits at its end.

mod sentinel;

pub use self::sentinel::Sentinel;

use crate::sync::cell::UnsafeCell;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::pin::Pin;
use std::ptr::NonNull;

#[derive(Clone, Copy)]
struct Neighbours {
    prev: Option<NonNull<Links>>,
    next: Option<NonNull<Links>>,
}

const ALONE: Neighbours = Neighbours {
    prev: None,
    next: None,
};

struct Links {
    cell: UnsafeCell<Neighbours>,
    _pinned: PhantomPinned,
}

impl Links {
    #[inline(always)]
    fn new() -> Self {
        Self {
            cell: UnsafeCell::new(ALONE),
            _pinned: PhantomPinned,
        }
    }

    fn load(&self) -> Neighbours {
        // SAFETY: [list.exclusive] only whoever owns the list reads or writes its nodes' links,
        // and no reference into the cell outlives this call.
        self.cell.with(|cell| unsafe { *cell })
    }

    fn store(&self, neighbours: Neighbours) {
        // SAFETY: [list.exclusive] as in `load`.
        self.cell.with_mut(|cell| unsafe { *cell = neighbours });
    }

    fn set_prev(&self, prev: Option<NonNull<Links>>) {
        let next = self.load().next;
        self.store(Neighbours { prev, next });
    }

    fn set_next(&self, next: Option<NonNull<Links>>) {
        let prev = self.load().prev;
        self.store(Neighbours { prev, next });
    }
}

/// What a [`List`] links: a value with its links in front.
///
/// The value is shared between the node's owner and the owner of the list, so it is only handed
/// out by shared reference; interior mutability is its own affair.
#[repr(C)]
pub struct Node<T> {
    links: Links,
    value: T,
}

impl<T> Node<T> {
    /// A node that is in no list.
    #[inline(always)]
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            links: Links::new(),
            value,
        }
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value, by exclusive reference, which also says that the node is in no list.
    #[inline]
    pub fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Node<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.value).finish()
    }
}

fn links_of<T>(node: NonNull<Node<T>>) -> NonNull<Links> {
    node.cast()
}

/// Reads a linked node's links.
///
/// # Safety
///
/// `links` is reachable from a list or a sentinel that the caller owns, or is about to be.
unsafe fn at<'a>(links: NonNull<Links>) -> &'a Links {
    // SAFETY: [list.linked] reachable means allocated; `Links` is only ever shared.
    unsafe { links.as_ref() }
}

/// A doubly linked list of nodes that somebody else owns.
///
/// Use it where elements leave from the middle and must not be searched for, and where adding one
/// may not allocate. Where elements only come and go at the ends, a `VecDeque` is faster: it does
/// not chase pointers.
///
/// Dropping a list does nothing to its nodes.
///
/// # Complexity
///
/// Going through [`iter`](Self::iter) apart, everything is O(1), and nothing allocates.
///
/// ```
/// use mainspring_core::list::{List, Node};
/// use std::ptr::NonNull;
///
/// let one = Box::pin(Node::new(1));
/// let two = Box::pin(Node::new(2));
/// let mut list = List::new();
/// // SAFETY: both nodes are pinned, in no list, and outlive it.
/// unsafe {
///     list.push_back(NonNull::from(&*one));
///     list.push_back(NonNull::from(&*two));
///     list.remove(NonNull::from(&*one));
/// }
/// let first = list.pop_front().unwrap();
/// // SAFETY: `two` is still alive.
/// assert_eq!(unsafe { first.as_ref() }.value(), &2);
/// assert!(list.is_empty());
/// ```
pub struct List<T> {
    head: Option<NonNull<Links>>,
    tail: Option<NonNull<Links>>,
    len: usize,
    nodes: PhantomData<NonNull<Node<T>>>,
}

impl<T> List<T> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            head: None,
            tail: None,
            len: 0,
            nodes: PhantomData,
        }
    }

    /// How many nodes are linked.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no node is linked.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        debug_assert_eq!(self.head.is_none(), self.len == 0, "list.linked: length");
        self.len == 0
    }

    /// The first node.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<NonNull<Node<T>>> {
        self.head.map(NonNull::cast)
    }

    /// The last node.
    #[inline]
    #[must_use]
    pub fn back(&self) -> Option<NonNull<Node<T>>> {
        self.tail.map(NonNull::cast)
    }

    /// Links a node at the end.
    ///
    /// # Safety
    ///
    /// `node` was made from a pointer or reference to the whole node, is in no list, and stays
    /// allocated at its address, with nobody else holding `&mut` to it, until it was unlinked.
    pub unsafe fn push_back(&mut self, node: NonNull<Node<T>>) {
        // SAFETY: [list.linked] the caller's contract; nothing is its successor.
        unsafe { self.link(self.tail, links_of(node), None) };
    }

    /// Links a node at the front.
    ///
    /// # Safety
    ///
    /// As for [`push_back`](Self::push_back).
    pub unsafe fn push_front(&mut self, node: NonNull<Node<T>>) {
        // SAFETY: [list.linked] the caller's contract; nothing is its predecessor.
        unsafe { self.link(None, links_of(node), self.head) };
    }

    /// Links a node in front of another one.
    ///
    /// # Safety
    ///
    /// As for [`push_back`](Self::push_back); `next` is in this list.
    pub unsafe fn insert_before(&mut self, next: NonNull<Node<T>>, node: NonNull<Node<T>>) {
        let next = links_of(next);
        // SAFETY: [list.linked] the caller says that `next` is in this list.
        let prev = unsafe { at(next) }.load().prev;
        // SAFETY: [list.mirror] `prev` and `next` are neighbours, read just now.
        unsafe { self.link(prev, links_of(node), Some(next)) };
    }

    /// Links `node` between two neighbours of this list.
    ///
    /// # Safety
    ///
    /// As for [`push_back`](Self::push_back); `prev` and `next` are neighbours in this list, and
    /// one that is missing means the list's end.
    unsafe fn link(
        &mut self,
        prev: Option<NonNull<Links>>,
        node: NonNull<Links>,
        next: Option<NonNull<Links>>,
    ) {
        // SAFETY: [list.linked] allocated by the caller's contract.
        unsafe { at(node) }.store(Neighbours { prev, next });
        match prev {
            // SAFETY: [list.linked] a neighbour in this list.
            Some(prev) => unsafe { at(prev) }.set_next(Some(node)),
            None => self.head = Some(node),
        }
        match next {
            // SAFETY: [list.linked] a neighbour in this list.
            Some(next) => unsafe { at(next) }.set_prev(Some(node)),
            None => self.tail = Some(node),
        }
        self.len += 1;
    }

    /// Unlinks a node, wherever it stands.
    ///
    /// # Safety
    ///
    /// `node` is in this list.
    pub unsafe fn remove(&mut self, node: NonNull<Node<T>>) {
        let node = links_of(node);
        // SAFETY: [list.linked] the caller says that it is in this list.
        let links = unsafe { at(node) };
        let Neighbours { prev, next } = links.load();
        links.store(ALONE);
        match prev {
            // SAFETY: [list.mirror] the neighbour of a linked node is linked.
            Some(prev) => unsafe { at(prev) }.set_next(next),
            None => {
                debug_assert_eq!(self.head, Some(node), "list.mirror: no predecessor");
                self.head = next;
            }
        }
        match next {
            // SAFETY: [list.mirror] the neighbour of a linked node is linked.
            Some(next) => unsafe { at(next) }.set_prev(prev),
            None => {
                debug_assert_eq!(self.tail, Some(node), "list.mirror: no successor");
                self.tail = prev;
            }
        }
        self.len -= 1;
    }

    /// Unlinks the first node.
    pub fn pop_front(&mut self) -> Option<NonNull<Node<T>>> {
        let node = self.front()?;
        // SAFETY: [list.linked] it is the first node of this list.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// Unlinks the last node.
    pub fn pop_back(&mut self) -> Option<NonNull<Node<T>>> {
        let node = self.back()?;
        // SAFETY: [list.linked] it is the last node of this list.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// Moves all nodes of `other` to the end of this list.
    pub fn append(&mut self, other: &mut Self) {
        let taken = std::mem::take(other);
        match (self.tail, taken.head) {
            (_, None) => {}
            (None, Some(_)) => *self = taken,
            (Some(tail), Some(head)) => {
                // SAFETY: [list.linked] the last node of this list.
                unsafe { at(tail) }.set_next(Some(head));
                // SAFETY: [list.linked] the first node of what was the other list.
                unsafe { at(head) }.set_prev(Some(tail));
                self.tail = taken.tail;
                self.len += taken.len;
            }
        }
    }

    /// Moves all nodes under `sentinel`, in order, and leaves this list empty.
    ///
    /// # Safety
    ///
    /// `sentinel` is empty, and is empty again before it is dropped. Whoever owned this list owns
    /// the ring: the same lock guards both.
    pub unsafe fn splice_under(&mut self, sentinel: Pin<&Sentinel<T>>) {
        debug_assert!(sentinel.is_empty(), "list.ring: the sentinel is in use");
        let taken = std::mem::take(self);
        let (Some(head), Some(tail)) = (taken.head, taken.tail) else {
            return;
        };
        let anchor = NonNull::from(&sentinel.get_ref().links);
        sentinel.links.store(Neighbours {
            prev: Some(tail),
            next: Some(head),
        });
        // SAFETY: [list.linked] the first node of what was this list.
        unsafe { at(head) }.set_prev(Some(anchor));
        // SAFETY: [list.linked] the last node of what was this list.
        unsafe { at(tail) }.set_next(Some(anchor));
    }

    /// The node behind another one.
    ///
    /// # Safety
    ///
    /// `node` is in this list.
    #[must_use]
    pub unsafe fn after(&self, node: NonNull<Node<T>>) -> Option<NonNull<Node<T>>> {
        // SAFETY: [list.linked] the caller says that it is in this list.
        let links = unsafe { at(links_of(node)) };
        links.load().next.map(NonNull::cast)
    }

    /// The node in front of another one.
    ///
    /// # Safety
    ///
    /// `node` is in this list.
    #[must_use]
    pub unsafe fn before(&self, node: NonNull<Node<T>>) -> Option<NonNull<Node<T>>> {
        // SAFETY: [list.linked] the caller says that it is in this list.
        let links = unsafe { at(links_of(node)) };
        links.load().prev.map(NonNull::cast)
    }

    /// The nodes from the first to the last.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter {
            next: self.head,
            list: PhantomData,
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("len", &self.len).finish()
    }
}

/// The nodes of a [`List`], first to last.
pub struct Iter<'a, T> {
    next: Option<NonNull<Links>>,
    list: PhantomData<&'a List<T>>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = NonNull<Node<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.next?;
        // SAFETY: [list.linked] the list is borrowed, so what it reaches stays linked.
        self.next = unsafe { at(node) }.load().next;
        Some(node.cast())
    }
}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
