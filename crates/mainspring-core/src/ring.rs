//! A fixed ring: a first-in first-out queue that is allocated once and says so when it is full.
//!
//! # Invariants
//!
//! - **ring.bound** — no more than `capacity` elements are stored, so the buffer never grows and
//!   never moves.
//! - **ring.kept** — a push that finds the ring full changes nothing and hands its value back.
//!
//! # Rejected
//!
//! Free-running indices taken modulo the capacity: when the index wraps around, `usize::MAX` and 0
//! fall on slots that are not neighbours, unless the capacity is a power of two. Slots of
//! `MaybeUninit` with unsafe code of our own: the standard library's `VecDeque` is exactly this
//! ring, with the growing left out.

use std::collections::{VecDeque, vec_deque};
use std::error::Error;
use std::fmt;

/// A queue with a fixed capacity, which may be any number.
///
/// Use it where a bound is part of the design: inboxes, histories, free lists. Where the oldest
/// element may be given up for the newest, use [`push_over`](Self::push_over).
///
/// Every operation is O(1) and nothing but [`new`](Self::new) allocates.
///
/// ```
/// use mainspring_core::ring::{Full, Ring};
///
/// let mut ring = Ring::new(2);
/// ring.push('a').unwrap();
/// ring.push('b').unwrap();
/// assert_eq!(ring.push('c'), Err(Full('c')));
/// assert_eq!(ring.pop(), Some('a'));
/// ring.push('c').unwrap();
/// assert_eq!(ring.iter().collect::<String>(), "bc");
/// ```
#[derive(Clone)]
pub struct Ring<T> {
    slots: VecDeque<T>,
    capacity: usize,
}

impl<T> Ring<T> {
    /// An empty ring for `capacity` elements; with 0 every push finds it full.
    ///
    /// # Panics
    ///
    /// If `capacity` elements take more than `isize::MAX` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            slots: VecDeque::with_capacity(capacity),
            capacity,
        }
    }

    /// Adds an element at the end.
    ///
    /// # Errors
    ///
    /// [`Full`] with the element in it if there is no room; the ring is unchanged.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), Full<T>> {
        let room = self.slots.capacity();
        if self.is_full() {
            debug_assert_eq!(
                self.len(),
                self.capacity,
                "ring.kept: full is not more than full"
            );
            return Err(Full(value));
        }
        self.slots.push_back(value);
        debug_assert_eq!(self.slots.capacity(), room, "ring.bound: the buffer grew");
        Ok(())
    }

    /// Adds an element at the end and returns what had to go for it: the oldest element of a full
    /// ring, or the new one itself when the capacity is 0.
    #[inline]
    #[must_use = "the element that went is dropped here"]
    pub fn push_over(&mut self, value: T) -> Option<T> {
        match self.push(value) {
            Ok(()) => None,
            Err(Full(value)) => match self.slots.pop_front() {
                None => Some(value),
                gone => {
                    self.slots.push_back(value);
                    gone
                }
            },
        }
    }

    /// Takes the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.slots.pop_front()
    }

    /// The oldest element.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<&T> {
        self.slots.front()
    }

    /// How many elements are stored.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many elements can be stored.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether nothing is stored.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the next push will be refused.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.capacity
    }

    /// The elements, oldest first.
    pub fn iter(&self) -> vec_deque::Iter<'_, T> {
        self.slots.iter()
    }

    /// Takes all elements out, oldest first. Those that the iterator was not asked for are
    /// dropped with it.
    pub fn drain(&mut self) -> vec_deque::Drain<'_, T> {
        self.slots.drain(..)
    }
}

impl<'a, T> IntoIterator for &'a Ring<T> {
    type Item = &'a T;
    type IntoIter = vec_deque::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// There was no room; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> Full<T> {
    /// Whether the same push may succeed later: yes, once something was popped.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        true
    }
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring is full")
    }
}

impl<T> Error for Full<T> {}

#[cfg(test)]
mod tests;
