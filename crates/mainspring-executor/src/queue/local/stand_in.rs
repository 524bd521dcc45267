//! The door in the model's build: a queue under loom's eyes with the contract that crossbeam
//! publishes and nothing more.
//!
//! What is pushed happens before it is popped or stolen. Its length is a relaxed number beside it,
//! which may be late, as crossbeam's two indices may be: no protocol may rest on reading zero
//! without a fence between the push and the look.

use super::Stolen;
use mainspring_core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use mainspring_core::sync::{Arc, Mutex};
use std::collections::VecDeque;

struct Shared<T> {
    values: Mutex<VecDeque<T>>,
    len: AtomicUsize,
}

/// The owner's end.
pub(crate) struct Local<T>(Arc<Shared<T>>);

impl<T> Local<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            values: Mutex::new(VecDeque::new()),
            len: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.clone())
    }

    pub(crate) fn push(&self, value: T) {
        self.0.values.lock().push_back(value);
        self.0.len.fetch_add(1, Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        let value = self.0.values.lock().pop_front()?;
        self.0.len.fetch_sub(1, Relaxed);
        Some(value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len.load(Relaxed)
    }
}

/// A thief's end.
pub(crate) struct Stealer<T>(Arc<Shared<T>>);

impl<T> Stealer<T> {
    pub(crate) fn steal_half(&self, into: &Local<T>) -> Stolen<T> {
        let mut values = self.0.values.lock();
        let many = values.len().div_ceil(2);
        let mut stolen: VecDeque<T> = values.drain(..many).collect();
        drop(values);
        let Some(one) = stolen.pop_front() else {
            return Stolen::Nothing;
        };
        self.0.len.fetch_sub(many, Relaxed);
        for value in stolen {
            into.push(value);
        }
        Stolen::One(one)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len.load(Relaxed)
    }
}
