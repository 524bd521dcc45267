//! crossbeam's queues under shuttle, which cannot look into them: a deque behind a lock.
//!
//! Every call is one critical section, and taking the lock is a step of the scheduler: what other
//! threads do falls between any two calls. Not the models' stand-in, whose weak orderings mean
//! nothing where every operation is sequentially consistent, and which serves a few pushes only.

use crate::sync::Mutex;
use std::collections::VecDeque;
use std::fmt;

/// crossbeam's unbounded queue.
pub struct SegQueue<T>(Mutex<VecDeque<T>>);

impl<T> SegQueue<T> {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Adds a value at the end.
    pub fn push(&self, value: T) {
        self.0.lock().push_back(value);
    }

    /// Takes the value at the front.
    pub fn pop(&self) -> Option<T> {
        self.0.lock().pop_front()
    }

    /// How many values there were at some moment.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there was none at some moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for SegQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for SegQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SegQueue { .. }")
    }
}

/// crossbeam's bounded queue.
pub struct ArrayQueue<T> {
    values: Mutex<VecDeque<T>>,
    capacity: usize,
}

impl<T> ArrayQueue<T> {
    /// An empty queue for `capacity` values.
    ///
    /// # Panics
    ///
    /// If `capacity` is zero.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "capacity must be non-zero");
        Self {
            values: Mutex::new(VecDeque::with_capacity(capacity)),
            capacity,
        }
    }

    /// Adds a value at the end.
    ///
    /// # Errors
    ///
    /// A full queue gives it back.
    pub fn push(&self, value: T) -> Result<(), T> {
        let mut values = self.values.lock();
        if values.len() == self.capacity {
            return Err(value);
        }
        values.push_back(value);
        Ok(())
    }

    /// Takes the value at the front.
    pub fn pop(&self) -> Option<T> {
        self.values.lock().pop_front()
    }

    /// For how many values there is room.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many values there were at some moment.
    pub fn len(&self) -> usize {
        self.values.lock().len()
    }

    /// Whether there was none at some moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there was no room at some moment.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }
}

impl<T> fmt::Debug for ArrayQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("ArrayQueue { .. }")
    }
}
