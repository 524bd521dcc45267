//! Every primitive that fits goes through the conformance suite of mainspring-testkit, each case a
//! test of its own: `cargo test -p mainspring-sync conformance::mutex`.
//!
//! Cases that a primitive's shape rules out pass as skipped, and print why.
//!
//! # What does not fit
//!
//! - `Barrier`: who waits there is also who lets the others go, and the suite has waiters that have
//!   nobody released yet, as many as it likes.
//! - Senders of an unbounded channel: they do not wait, but for the 65,536th permit.
//! - `oneshot`, as a receiver: there is one, and the suite needs several. Its `closed` likewise.
//! - `OnceCell`, `Lazy`: the first who waits does the work that the others wait for.
//! - `upgrade` and `upgradable_read` of a lock: an upgradable guard borrows its lock, and the suite
//!   has to keep it beside the lock. The writers' and readers' queue is the same one.
//! - `watch`, `oneshot` and the lossy broadcast as channels of values: they do not keep three.
//! - Streams and sinks that are kept after a wait was dropped: one that is put aside keeps its
//!   place, and the suite's waiters never use theirs again. Each has an end of its own there; what
//!   is promised of an end that is kept is in `kept`.
//! - Requests of different weights in one semaphore: to the suite one grant lets one waiter go.
//!   Those of one weight, in pieces, go through it.

mod broadcast;
mod channels;
mod chaos;
mod everywhere;
mod kept;
mod locks;
mod semaphores;
mod signals;
#[cfg(feature = "sink")]
mod sinks;
mod spent;
mod values;

use mainspring_sync::channel;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

/// Polls once, for what is known not to wait.
fn now<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// The capacity of a channel that has none.
const UNBOUNDED: usize = usize::MAX;

/// More than a ring holds: linked blocks.
const LARGE: usize = 5_000;

/// A channel of each kind there is.
fn open<T>(capacity: usize) -> (channel::Sender<T>, channel::Receiver<T>) {
    match capacity {
        UNBOUNDED => channel::unbounded(),
        _ => channel::bounded(capacity),
    }
}

/// Something that one call at a time may use, and calls that come from inside of it may not: those
/// are owed, and made up for afterwards, each as what it was.
struct Lent<T> {
    slot: Mutex<Option<T>>,
    owed: Mutex<VecDeque<fn(&mut T)>>,
}

impl<T> Lent<T> {
    fn new(value: T) -> Self {
        Self {
            slot: Mutex::new(Some(value)),
            owed: Mutex::new(VecDeque::new()),
        }
    }

    fn call(&self, f: fn(&mut T)) {
        struct Back<'a, T>(&'a Lent<T>, Option<T>);
        impl<T> Drop for Back<'_, T> {
            fn drop(&mut self) {
                *self.0.slot.lock().unwrap() = self.1.take();
            }
        }
        self.owed.lock().unwrap().push_back(f);
        loop {
            let taken = self.slot.lock().unwrap().take();
            let Some(taken) = taken else { return };
            let mut back = Back(self, Some(taken));
            // The lock is free again when the call is made: it may call back.
            while let Some(owed) = self.next() {
                owed(back.1.as_mut().expect("it is put back at the end"));
            }
            drop(back);
            if self.owed.lock().unwrap().is_empty() {
                return;
            }
        }
    }

    fn next(&self) -> Option<fn(&mut T)> {
        self.owed.lock().unwrap().pop_front()
    }
}
