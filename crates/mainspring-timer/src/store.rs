//! Where a wheel's entries keep their links.
//!
//! The wheel is one algorithm for two homes: entries that lie in a table and are named by an
//! index, and entries that lie inside the futures that wait and are named by a pointer. [`Store`]
//! is what differs between them; [`Slab`] is the table.
//!
//! # Rejected
//!
//! A wheel over pointers alone: its property tests and its users would need `unsafe`. A wheel
//! over a table alone: one more allocation and one more indirection for every sleep.

use mainspring_core::time::Nanos;
use std::fmt;

/// Which list of its wheel an entry is in.
///
/// A store keeps one for each entry and never looks into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Place(u16);

impl Place {
    /// In no list: what a new entry starts with.
    pub const NONE: Self = Self(0);

    /// The place as a number below 2^16, for a store that keeps it in memory of its own kind.
    #[inline]
    #[must_use]
    pub const fn into_bits(self) -> u16 {
        self.0
    }

    /// The place that [`into_bits`](Self::into_bits) gave.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// Memory for a wheel's entries: a deadline, two neighbours and a [`Place`] each.
///
/// Implement it to put entries where they already live; use [`Slab`] otherwise.
///
/// # Contract
///
/// What was set is returned, for each entry apart, as long as the entry is in a wheel. One thing
/// may change meanwhile: the deadline may become later. The old place of the entry honours that
/// when it comes up, so extending costs the wheel nothing.
///
/// The wheel asks for the neighbours only of entries that it has linked, and touches only entries
/// that were given to it.
pub trait Store {
    /// The name of an entry: an index or a pointer.
    type Id: Copy + PartialEq + fmt::Debug;

    /// When `id` is due.
    fn deadline(&self, id: Self::Id) -> Nanos;
    /// The entry before `id`.
    fn prev(&self, id: Self::Id) -> Self::Id;
    /// The entry after `id`.
    fn next(&self, id: Self::Id) -> Self::Id;
    /// The list that `id` is in.
    fn place(&self, id: Self::Id) -> Place;

    /// Notes when `id` is due: what [`Wheel::insert`](crate::Wheel::insert) was given.
    fn set_deadline(&mut self, id: Self::Id, deadline: Nanos);
    /// Gives `id`, which has no neighbours yet, both of them.
    fn set_neighbours(&mut self, id: Self::Id, prev: Self::Id, next: Self::Id);
    /// Makes `prev` the entry before `id`.
    fn set_prev(&mut self, id: Self::Id, prev: Self::Id);
    /// Makes `next` the entry after `id`.
    fn set_next(&mut self, id: Self::Id, next: Self::Id);
    /// Notes the list that `id` is in.
    fn set_place(&mut self, id: Self::Id, place: Place);
}

/// A table of entries, each with a value, named by `u32` indices that are used again.
///
/// # Trade-offs
///
/// 24 bytes an entry beside the value. The table grows like a `Vec` and never shrinks by itself.
/// An index says nothing about its age: whoever gives indices away keeps a generation beside them.
///
/// # Examples
///
/// ```
/// use mainspring_timer::Slab;
///
/// let mut slab = Slab::new();
/// let a = slab.add("a");
/// assert_eq!(slab.value(a), Some(&"a"));
/// assert_eq!(slab.take(a), Some("a"));
/// assert_eq!(slab.take(a), None);
/// ```
#[derive(Clone)]
pub struct Slab<T> {
    nodes: Vec<Node<T>>,
    /// The head of the list of free nodes, linked through `next`.
    free: Option<u32>,
    len: usize,
}

#[derive(Clone)]
struct Node<T> {
    deadline: Nanos,
    prev: u32,
    next: u32,
    place: Place,
    value: Option<T>,
}

/// Ends the list of free nodes. No node has this index.
const NONE: u32 = u32::MAX;

impl<T> Slab<T> {
    /// An empty table. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: None,
            len: 0,
        }
    }

    /// Adds a value and names it. Amortised O(1).
    ///
    /// # Panics
    ///
    /// With 2^32 − 1 values in the table, and if memory runs out.
    pub fn add(&mut self, value: T) -> u32 {
        let node = Node {
            deadline: Nanos::ZERO,
            prev: NONE,
            next: NONE,
            place: Place::NONE,
            value: Some(value),
        };
        let id = match self.free {
            Some(id) => {
                let slot = &mut self.nodes[id as usize];
                self.free = (slot.next != NONE).then_some(slot.next);
                *slot = node;
                id
            }
            None => {
                assert!(
                    self.nodes.len() < NONE as usize,
                    "a slab holds at most 2^32 - 1 values"
                );
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        self.len += 1;
        id
    }

    /// Takes a value out and frees its index. `None` if there is no such value.
    ///
    /// # Panics
    ///
    /// With `MS0018` if the entry is still in a wheel: it has to be removed there first.
    pub fn take(&mut self, id: u32) -> Option<T> {
        let free = self.free.unwrap_or(NONE);
        let node = self.nodes.get_mut(id as usize)?;
        assert!(
            node.place == Place::NONE,
            "MS0018: the entry is still in a wheel (docs/errors.md)"
        );
        let value = node.value.take()?;
        node.next = free;
        self.free = Some(id);
        self.len -= 1;
        Some(value)
    }

    /// The value named `id`, if there is one.
    #[must_use]
    pub fn value(&self, id: u32) -> Option<&T> {
        self.nodes.get(id as usize)?.value.as_ref()
    }

    /// The value named `id`, if there is one.
    #[must_use]
    pub fn value_mut(&mut self, id: u32) -> Option<&mut T> {
        self.nodes.get_mut(id as usize)?.value.as_mut()
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T> Store for Slab<T> {
    type Id = u32;

    #[inline]
    fn prev(&self, id: u32) -> u32 {
        self.nodes[id as usize].prev
    }

    #[inline]
    fn next(&self, id: u32) -> u32 {
        self.nodes[id as usize].next
    }

    #[inline]
    fn place(&self, id: u32) -> Place {
        self.nodes[id as usize].place
    }

    #[inline]
    fn deadline(&self, id: u32) -> Nanos {
        self.nodes[id as usize].deadline
    }

    #[inline]
    fn set_neighbours(&mut self, id: u32, prev: u32, next: u32) {
        let node = &mut self.nodes[id as usize];
        node.prev = prev;
        node.next = next;
    }

    #[inline]
    fn set_prev(&mut self, id: u32, prev: u32) {
        self.nodes[id as usize].prev = prev;
    }

    #[inline]
    fn set_next(&mut self, id: u32, next: u32) {
        self.nodes[id as usize].next = next;
    }

    #[inline]
    fn set_place(&mut self, id: u32, place: Place) {
        self.nodes[id as usize].place = place;
    }

    #[inline]
    fn set_deadline(&mut self, id: u32, deadline: Nanos) {
        self.nodes[id as usize].deadline = deadline;
    }
}

#[cfg(test)]
mod tests;
