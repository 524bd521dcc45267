//! Every message to every receiver.
//!
//! - [`lossy`]: sending never waits. A receiver that is slower than the senders is overtaken, and
//!   told how many messages it lost.
//! - [`lossless`]: sending waits for the slowest receiver; each receiver chooses with [`Slow`]
//!   whether it wants to be waited for, or to be overtaken, disconnected, or shown the newest only.
//!
//! Use it for events, chat rooms, market data: where everybody is to see everything, or at least
//! to know what was missed. Where each message is for *one* receiver, use a channel; where only
//! the latest value counts for everybody, a watch is smaller.
//!
//! ```
//! use mainspring_sync::broadcast::{self, RecvError, Slow};
//!
//! let (sender, mut all) = broadcast::lossless(2);
//! let mut some = sender.subscribe_with(Slow::Lag);
//! for line in ["one", "two", "three"] {
//!     sender.try_send(line).unwrap();
//!     assert_eq!(all.recv_blocking(), Ok(line));
//! }
//! assert_eq!(some.recv_blocking(), Err(RecvError::Lagged(1)));
//! assert_eq!(some.recv_blocking(), Ok("two"));
//!
//! // One that waits for nobody: the oldest message goes when there is no room.
//! let (sender, mut receiver) = broadcast::lossy(1);
//! sender.send(1).unwrap();
//! sender.send(2).unwrap();
//! assert_eq!(receiver.recv_blocking(), Err(RecvError::Lagged(1)));
//! assert_eq!(receiver.recv_blocking(), Ok(2));
//! drop(sender);
//! assert_eq!(receiver.recv_blocking(), Err(RecvError::Closed));
//! ```
//!
//! # Invariants
//!
//! - **broadcast.flags** — who goes to wait says so in the log, under the lock under which it found
//!   nothing; who changes that takes the word from the log under the same lock, and wakes.
//! - **broadcast.fifo** — a sender takes room only when nobody waits in front of it; room that
//!   becomes free is set aside for as many as there is room for.
//! - **broadcast.once** — a message reaches each receiver at most once, and is the sender's again
//!   if it was refused.
//! - **broadcast.outside** — no waker is woken, and no message dropped or cloned, under the lock.
//! - **broadcast.pinned** — a waiter inside a future is pinned structurally.
//!
//! There are no edges: one short lock carries everything. The lock of a list of waiters is taken
//! before it, never after.
//!
//! # Rejected
//!
//! Cloning in the slot, under a lock of the slot's: `Clone` is code of the user's, which may send
//! on this very channel. Cloning in the slot without one, several receivers at a time, with
//! `T: Send` alone: unsound (RUSTSEC-2025-0023). Lending the value out of the slot to one receiver
//! at a time: the others would wait for a foreign `Clone`. So each message has a cell of its own,
//! an `Arc`, which receivers take under the lock and open without it. The cost: an allocation a
//! message, and `T: Send + Sync` to share a channel between threads. The gain: no user code under
//! a lock, the last receiver takes the message without cloning it, and a slow `Clone` holds up
//! nobody.
//!
//! "No receivers" as a closed state: a channel that re-opens when somebody subscribes has to tell
//! old and new receivers apart. They are two things here: closed is for good, a lack of receivers
//! is an error of the send that finds it.

mod error;
mod log;
mod recv;
mod send;
mod sender;
mod shared;

pub use self::error::{RecvError, SendError, TryRecvError, TrySendError};
pub use self::recv::{Receiver, Recv};
pub use self::send::{Closed, Permit, Reserve, Send};
pub use self::sender::{LossySender, Sender};

/// What becomes of a receiver that does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Slow {
    /// It is overtaken: the oldest messages go, and it is told how many it lost.
    Lag,
    /// Senders wait for it.
    Wait,
    /// It is disconnected when a message that it has not seen has to go, and told so.
    Disconnect,
    /// It does not have to keep up: it only ever sees the newest message, and nothing is kept for
    /// it but that one.
    Latest,
}

impl Slow {
    /// How many there are.
    const COUNT: usize = 4;
}

/// A channel that keeps the last `capacity` messages for receivers that are slow, and never holds
/// up the senders.
///
/// # Complexity
///
/// The slots are allocated here, at once; each message allocates its cell.
///
/// # Panics
///
/// With `MS0016` if `capacity` is 0, or its slots take more memory than the allocator has.
#[must_use]
#[track_caller]
pub fn lossy<T>(capacity: usize) -> (LossySender<T>, Receiver<T>) {
    let sender = LossySender::new(capacity);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// A channel whose senders wait when a receiver is `capacity` messages behind, if it is one that
/// wants to be waited for: the first receiver, returned here, does. Others choose:
/// [`Sender::subscribe_with`].
///
/// ```
/// use mainspring_sync::broadcast;
///
/// let (sender, mut slow) = broadcast::lossless(1);
/// sender.try_send('a').unwrap();
/// assert!(sender.try_send('b').is_err_and(|error| error.is_full()));
/// assert_eq!(slow.try_recv(), Ok('a'));
/// sender.try_send('b').unwrap();
/// ```
///
/// # Complexity
///
/// The slots are allocated here, at once; each message allocates its cell.
///
/// # Panics
///
/// With `MS0016` if `capacity` is 0, or its slots take more memory than the allocator has.
#[must_use]
#[track_caller]
pub fn lossless<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(capacity);
    let receiver = sender.subscribe();
    (sender, receiver)
}

#[cfg(test)]
mod tests;
