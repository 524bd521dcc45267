//! The queues of the models: a few slots, each used once.
//!
//! # Invariants
//!
//! - **stand-in.once** — a slot is claimed by one push (the exchange on `tail`) and by one pop (the
//!   exchange on `head`).
//! - **stand-in.full** — a slot marked FULL holds a value; it is read by the pop that claimed it.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `stand-in.slot` | push | pop | the value |

use crate::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use crate::sync::thread;
use std::mem::MaybeUninit;

/// How many pushes one model makes at most.
const SLOTS: usize = 16;

struct Slot<T> {
    full: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
}

struct Slots<T> {
    head: AtomicUsize,
    tail: AtomicUsize,
    slots: Vec<Slot<T>>,
    capacity: usize,
}

// SAFETY: [stand-in.once] values are handed from the pushing thread to the popping one.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: [stand-in.once] as above; nobody gets a shared reference to a value.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    fn new(capacity: usize) -> Self {
        let slots = (0..SLOTS).map(|_| Slot {
            full: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        });
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            slots: slots.collect(),
            capacity,
        }
    }

    fn len(&self) -> usize {
        let head = self.head.load(Relaxed);
        self.tail.load(Relaxed).saturating_sub(head)
    }

    fn push(&self, value: T) -> Result<(), T> {
        let mut tail = self.tail.load(Relaxed);
        loop {
            if tail.saturating_sub(self.head.load(Relaxed)) >= self.capacity {
                return Err(value);
            }
            match self.tail.compare_exchange(tail, tail + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) => tail = found,
            }
        }
        assert!(tail < SLOTS, "a model pushed more than {SLOTS} values");
        let slot = &self.slots[tail];
        slot.value.with_mut(|cell| {
            // SAFETY: [stand-in.once] this push claimed the slot, and nobody reads it before it is
            // full.
            unsafe { &mut *cell }.write(value);
        });
        // ORDERING: [stand-in.slot] Release, pairs with the load in `pop`: the value is there.
        slot.full.swap(true, Release);
        Ok(())
    }

    fn pop(&self) -> Option<T> {
        let mut head = self.head.load(Relaxed);
        loop {
            if head >= self.tail.load(Relaxed) {
                return None;
            }
            match self.head.compare_exchange(head, head + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) => head = found,
            }
        }
        let slot = &self.slots[head];
        // ORDERING: [stand-in.slot] Acquire, pairs with the swap in `push`. The push that claimed
        // the slot may be on its way; crossbeam waits for it too.
        while !slot.full.load(Acquire) {
            thread::yield_now();
        }
        Some(slot.value.with_mut(|cell| {
            // SAFETY: [stand-in.once] this pop claimed the slot.
            let value = unsafe { &mut *cell };
            // SAFETY: [stand-in.full] the slot is full, and is not read again.
            unsafe { value.assume_init_read() }
        }))
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// crossbeam's unbounded queue, as far as a model needs it.
pub struct SegQueue<T>(Slots<T>);

impl<T> SegQueue<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self(Slots::new(usize::MAX))
    }

    /// Adds a value at the end.
    pub fn push(&self, value: T) {
        let pushed = self.0.push(value);
        assert!(pushed.is_ok(), "an unbounded queue is never full");
    }

    /// Takes the value at the front. What was pushed concurrently may or may not be seen.
    pub fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    /// How many values there were at some moment.
    pub fn len(&self) -> usize {
        self.0.len()
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

impl<T> std::fmt::Debug for SegQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("SegQueue { .. }")
    }
}

/// crossbeam's bounded queue, as far as a model needs it.
pub struct ArrayQueue<T>(Slots<T>);

impl<T> ArrayQueue<T> {
    /// An empty queue for `capacity` values.
    ///
    /// # Panics
    ///
    /// If `capacity` is zero.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "capacity must be non-zero");
        Self(Slots::new(capacity))
    }

    /// Adds a value at the end.
    ///
    /// # Errors
    ///
    /// A full queue gives it back.
    pub fn push(&self, value: T) -> Result<(), T> {
        self.0.push(value)
    }

    /// Takes the value at the front. What was pushed concurrently may or may not be seen.
    pub fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    /// For how many values there is room.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// How many values there were at some moment.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there was none at some moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there was no room at some moment.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity()
    }
}

impl<T> std::fmt::Debug for ArrayQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("ArrayQueue { .. }")
    }
}
