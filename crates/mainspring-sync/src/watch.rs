//! The latest value, for any number of receivers.
//!
//! # The word
//!
//! ```text
//!  63                                  2   1        0
//! ┌────────────────────────────────────┬───────┬────────┐
//! │ version: how often it was changed  │ WAITS │ CLOSED │
//! └────────────────────────────────────┴───────┴────────┘
//! ```
//!
//! # Invariants
//!
//! - **watch.version** — the version changes under the value's write lock: under either of its
//!   locks, value and version belong together.
//! - **watch.waits** — WAITS is set whenever the list's lock is free and somebody waits who has not
//!   been released; it is changed under that lock alone, in the word whose change it waits for.
//! - **watch.sent** — a value that was sent stays until the next one, whether there are receivers
//!   or not; the old one is dropped by its sender, with nothing locked.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `watch.change` | `publish`, `close` | `look`, `is_closed` | what the sender did before |
//! | `watch.senders` | each sender's drop | the last sender's drop | what the senders did |
//!
//! # Rejected
//!
//! A pointer that is swapped, with the old value kept for its readers: it would need no lock, and
//! an allocation and a count a value; a borrow is short. Waiting lists in shards: waking in batches
//! without the lock made the difference that shards would make.

mod guard;
mod receiver;
mod sender;
mod version;

pub use self::guard::Ref;
pub use self::receiver::{Changed, Receiver, RecvError, WaitFor};
pub use self::sender::{Closed, Sender};

use self::version::Version;
use crate::wait_group::count::Count;
use mainspring_core::sync::atomic::AtomicUsize;
use mainspring_core::sync::{Arc, RwLock};
use mainspring_core::wait_list::WaitList;

/// Makes a channel that holds `value`, which its receiver has seen.
///
/// Use it for what only the latest state of matters: configuration, progress, a shutdown flag. A
/// receiver that is slow misses values and never holds up a sender. Where each value matters, use
/// a channel; where it is set once, a [`SetOnce`](crate::SetOnce).
///
/// # Guarantees
///
/// - A receiver that waits is told of every change it has not seen, of many at once if it is slow;
///   the last value is told before the end of the senders.
/// - What a sender did before it sent is seen by whoever is told of it.
/// - A value that is sent is kept, also while there is no receiver.
/// - Values are replaced and dropped, and tasks woken, with nothing locked. A closure that is given
///   the value runs with it locked, and one that panics leaves the channel usable.
///
/// # Complexity
///
/// One allocation for the channel. Sending is a short lock and one read-modify-write, and O(n) in
/// those who wait; asking whether something has changed is one load.
///
/// ```
/// use mainspring_sync::watch;
/// use std::thread;
///
/// let (sender, mut receiver) = watch::channel(0);
/// let counting = thread::spawn(move || {
///     for value in 1..=3 {
///         sender.send(value);
///     }
/// });
/// while receiver.changed_blocking().is_ok() {
///     let latest = *receiver.borrow();
///     assert!((1..=3).contains(&latest)); // not every one of them, necessarily
/// }
/// assert_eq!(*receiver.borrow(), 3);
/// counting.join().unwrap();
/// ```
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

struct Shared<T> {
    value: RwLock<T>,
    /// Who waits for a change, and the version.
    changes: WaitList<Version>,
    /// Who waits until the receivers have gone, and how many there are.
    receivers: Count,
    senders: AtomicUsize,
}

impl<T> Shared<T> {
    fn new(value: T) -> Arc<Self> {
        Arc::new(Self {
            value: RwLock::new(value),
            changes: WaitList::new(Version::new()),
            receivers: Count::new(0),
            senders: AtomicUsize::new(1),
        })
    }

    fn version(&self) -> &Version {
        self.changes.kind()
    }
}

#[cfg(test)]
mod tests;
