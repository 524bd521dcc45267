//! The door in the model's build: a queue under loom's eyes with the contract that crossbeam
//! publishes and nothing more.
//!
//! What is pushed happens before it is popped or stolen, and that is all: no lock, no fence, and a
//! length that may be late for everybody but the owner, as crossbeam's two indices may be. No
//! protocol may rest on finding nothing without a fence between the push and the look.

use super::Stolen;
use mainspring_core::sync::Arc;
use mainspring_core::sync::queue::SegQueue;

/// The owner's end.
pub(crate) struct Local<T>(Arc<SegQueue<T>>);

impl<T> Local<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(SegQueue::new()))
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.clone())
    }

    pub(crate) fn push(&self, value: T) {
        self.0.push(value);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A thief's end.
pub(crate) struct Stealer<T>(Arc<SegQueue<T>>);

impl<T> Stealer<T> {
    pub(crate) fn steal_half(&self, into: &Local<T>) -> Stolen<T> {
        let half = self.0.len().div_ceil(2);
        if half == 0 {
            return Stolen::Nothing;
        }
        let mut stolen = (0..half).map_while(|_| self.0.pop());
        let Some(one) = stolen.next() else {
            return Stolen::Retry;
        };
        stolen.for_each(|value| into.push(value));
        Stolen::One(one)
    }

    pub(crate) fn steal_one(&self) -> Option<T> {
        self.0.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
