//! Wakers for tests that count.

use std::sync::Arc;
// DOOR: counts what the test observes; no protocol of ours.
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};

/// Counts the calls of its waker, which is of a task of its own.
#[derive(Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    pub(crate) fn calls(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

pub(crate) fn counted() -> (Arc<Counter>, Waker) {
    let counter = Arc::new(Counter::default());
    (Arc::clone(&counter), Waker::from(counter))
}

/// Counters and wakers of so many tasks.
pub(crate) fn tasks<const N: usize>() -> [(Arc<Counter>, Waker); N] {
    std::array::from_fn(|_| counted())
}
