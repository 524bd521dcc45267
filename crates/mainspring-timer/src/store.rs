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

use std::fmt;

/// Where an entry stands in its wheel: the tick it is due at and the slot it is linked into.
///
/// A store keeps one for each entry and never looks into it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stamp(u64);

impl Stamp {
    /// Not in a wheel: what a new entry starts with.
    pub const UNLINKED: Self = Self(0xFFFF);

    /// Both halves in one word: a tick has 48 bits, a slot's number far fewer than 16.
    #[inline]
    pub(crate) fn new(tick: u64, list: u16) -> Self {
        Self(tick << 16 | u64::from(list))
    }

    /// Whether the entry is in a wheel.
    #[inline]
    #[must_use]
    pub fn is_linked(self) -> bool {
        self.0 & 0xFFFF != 0xFFFF
    }

    /// The stamp as one word, for a store that keeps it in memory it shares with others.
    #[inline]
    #[must_use]
    pub fn into_bits(self) -> u64 {
        self.0
    }

    /// The stamp that [`into_bits`](Self::into_bits) gave.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn tick(self) -> u64 {
        self.0 >> 16
    }

    #[inline]
    pub(crate) fn list(self) -> u16 {
        self.0 as u16
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_linked() {
            return f.write_str("Stamp(unlinked)");
        }
        f.debug_struct("Stamp")
            .field("tick", &self.tick())
            .field("list", &self.list())
            .finish()
    }
}

/// Memory for the links of a wheel's entries: two neighbours and a [`Stamp`] each.
///
/// Implement it to put entries where they already live; use [`Slab`] otherwise.
///
/// # Contract
///
/// What was set is returned, for each entry apart, as long as the entry is in a wheel. The wheel
/// asks for the neighbours only of entries that it has linked, and it touches only entries that
/// were given to it.
pub trait Store {
    /// The name of an entry: an index or a pointer.
    type Id: Copy + PartialEq + fmt::Debug;

    /// The entry before `id`.
    fn prev(&self, id: Self::Id) -> Self::Id;
    /// The entry after `id`.
    fn next(&self, id: Self::Id) -> Self::Id;
    /// Where `id` stands.
    fn stamp(&self, id: Self::Id) -> Stamp;

    /// Makes `prev` the entry before `id`.
    fn set_prev(&mut self, id: Self::Id, prev: Self::Id);
    /// Makes `next` the entry after `id`.
    fn set_next(&mut self, id: Self::Id, next: Self::Id);
    /// Notes where `id` stands.
    fn set_stamp(&mut self, id: Self::Id, stamp: Stamp);
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
    prev: u32,
    next: u32,
    stamp: Stamp,
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
            prev: NONE,
            next: NONE,
            stamp: Stamp::UNLINKED,
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
    /// If the entry is still in a wheel: it has to be removed there first.
    pub fn take(&mut self, id: u32) -> Option<T> {
        let free = self.free.unwrap_or(NONE);
        let node = self.nodes.get_mut(id as usize)?;
        assert!(!node.stamp.is_linked(), "the entry is still in a wheel");
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
    fn stamp(&self, id: u32) -> Stamp {
        self.nodes[id as usize].stamp
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
    fn set_stamp(&mut self, id: u32, stamp: Stamp) {
        self.nodes[id as usize].stamp = stamp;
    }
}

#[cfg(test)]
mod tests;
