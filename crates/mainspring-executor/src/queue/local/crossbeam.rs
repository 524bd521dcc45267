//! The door in every build but the model's.

use super::Stolen;
use crossbeam_deque::{Steal, Stealer as Theirs, Worker};

/// The owner's end.
pub(crate) struct Local<T>(Worker<T>);

impl<T> Local<T> {
    pub(crate) fn new() -> Self {
        Self(Worker::new_fifo())
    }

    /// An end for thieves.
    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.stealer())
    }

    /// Puts one at the back. Amortised O(1); allocates when it grows.
    #[inline]
    pub(crate) fn push(&self, value: T) {
        self.0.push(value);
    }

    /// Takes the oldest.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A thief's end.
pub(crate) struct Stealer<T>(Theirs<T>);

impl<T> Stealer<T> {
    /// Steals up to half: one for the caller, the rest into its queue.
    pub(crate) fn steal_half(&self, into: &Local<T>) -> Stolen<T> {
        // CLAIM: [deque.half] [deque.once] crossbeam's contract: half, at most 32, and by an
        // exchange that one thief wins.
        match self.0.steal_batch_and_pop(&into.0) {
            Steal::Empty => Stolen::Nothing,
            Steal::Retry => Stolen::Retry,
            Steal::Success(one) => Stolen::One(one),
        }
    }

    /// Steals one, for who has no queue. `None` also if somebody else was faster.
    pub(crate) fn steal_one(&self) -> Option<T> {
        self.0.steal().success()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
