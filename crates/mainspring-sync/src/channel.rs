//! Channels: messages from many senders to many receivers, in first-in first-out order.
//!
//! [`bounded`] makes one that holds so many messages; who sends to a full one waits. [`unbounded`]
//! makes one that is never full. Any number of senders and receivers may share it, as tasks under
//! any executor or as threads that block: the two ends need not be of one kind. One that holds
//! none, so that a sender meets its receiver, is a [`rendezvous`](mod@rendezvous).
//!
//! ```
//! use mainspring_sync::channel;
//! use std::thread;
//!
//! let (tx, rx) = channel::bounded(16);
//! let producer = thread::spawn(move || {
//!     for number in 1..=100 {
//!         tx.send_blocking(number).unwrap();
//!     }
//! });
//! let mut sum = 0;
//! while let Ok(number) = rx.recv_blocking() {
//!     sum += number;
//! }
//! producer.join().unwrap();
//! assert_eq!(sum, 5_050);
//! ```
//!
//! # Guarantees
//!
//! - A message is received, handed back or dropped exactly once, whatever is dropped when. It is
//!   sent only by a call or a poll that says so.
//! - Messages of one sender arrive in the order in which they were sent; all messages are received
//!   in the order in which they went in.
//! - As many are woken as there are messages, or places, to be had; closing wakes all. One that is
//!   dropped after it was woken passes that on.
//! - Closing is for ever. What was sent before is received, what comes after is handed back, and
//!   a receiver is told of the end when there is nothing left and nobody holds a permit.
//! - The messages in a channel are dropped as soon as its last receiver is.
//!
//! # Complexity and allocation
//!
//! A channel is two allocations. Sending and receiving are O(1), one compare-exchange each,
//! allocate nothing, and take a lock only to wait or to wake. One of more than 4,096 messages, or
//! without a bound, takes its memory in blocks of 32 as they come in, keeps at most two that are
//! empty, and takes a short lock where a block begins or ends; receiving from it is two
//! compare-exchanges.
//!
//! A task of the family that finds no message, or no room, while the other side has been woken and
//! did not look yet, lets that run first, once a call, and only then waits: two tasks of one thread
//! that take turns pass their messages without a lock and without a waker. Under a foreign executor
//! it waits at once, and so it does while others of its own side wait.
//!
//! A task of the family that sends or receives in a loop yields after so many messages (its
//! [budget](mainspring_core::budget)); under a foreign executor it does not.

mod ask;
mod blocks;
mod error;
mod late;
mod many;
mod permit;
mod place;
mod reach;
mod receiver;
mod recv;
pub mod rendezvous;
mod replace;
mod ring;
mod send;
mod sender;
mod shape;
mod shared;
mod side;
mod sink;
mod store;
mod until_closed;
mod words;

pub use self::error::{
    Closed, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TryReserveError,
    TrySendError,
};
pub use self::many::{SendMany, SendManyError, Unsent};
pub use self::permit::{OwnedPermit, Permit, Reserve, ReserveOwned};
pub use self::receiver::{Drain, Receiver};
pub use self::recv::{Recv, RecvMany};
pub use self::send::Send;
pub use self::sender::{Sender, WeakSender};
pub use self::until_closed::UntilClosed;

use self::shared::Shared;
use self::store::Store;
use mainspring_core::sync::Arc;

/// A channel that holds `capacity` messages at most.
///
/// A capacity of `usize::MAX` is no bound at all: the channel is an [`unbounded`] one, and says
/// `None` when it is asked for its [`capacity`](Sender::capacity).
///
/// With a capacity of 1, senders and receivers that give up their waits early, and try again, pass
/// the one place along by a wake each, and what gets through is a task's turn a message. Where
/// throughput counts, take a capacity that covers a burst.
///
/// # Panics
///
/// With `MS0016` if `capacity` is 0: a channel that keeps nothing, whose sender meets its receiver,
/// is of another kind, a [`rendezvous`](fn@rendezvous). Also if up to 4,096 messages, which are
/// allocated at once, take more memory than the allocator has.
///
/// ```
/// use mainspring_sync::channel;
///
/// let (tx, rx) = channel::bounded(2);
/// tx.try_send('a').unwrap();
/// tx.try_send('b').unwrap();
/// assert!(tx.try_send('c').unwrap_err().is_full());
/// assert_eq!(rx.try_recv(), Ok('a'));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Ok('b'));
/// assert!(rx.try_recv().unwrap_err().is_closed());
/// ```
#[must_use]
#[track_caller]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "MS0016: a channel of capacity 0 can hold no message; for a sender that meets its receiver \
         use `channel::rendezvous` (docs/errors.md)"
    );
    channel(Store::bounded(capacity))
}

/// A channel that holds any number of messages, as far as the memory reaches: no send ever waits.
///
/// Use it where the number of messages is bounded by something else, or where the sender must not
/// wait: in a destructor, in a callback of a foreign library. Elsewhere take [`bounded`]: with a
/// receiver that is slower than its senders this one grows until the memory is gone, and each
/// message is older than the last.
///
/// [`Sender::try_send`] is the plain way to send; it is never refused for want of room. At most
/// 65,535 permits can be out at a time; who asks for more waits.
///
/// ```
/// use mainspring_sync::channel;
///
/// let (tx, rx) = channel::unbounded();
/// for number in 0..10_000 {
///     tx.try_send(number).unwrap();
/// }
/// assert_eq!((rx.len(), rx.capacity()), (10_000, None));
/// assert!(rx.drain().eq(0..10_000));
/// ```
#[must_use]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    channel(Store::unbounded())
}

/// A channel that keeps nothing: a send is done when a receiver has taken its message.
///
/// Its ends are [types of their own](mod@rendezvous), which also says when to use it.
///
/// ```
/// use mainspring_sync::channel;
/// use std::thread;
///
/// let (tx, rx) = channel::rendezvous();
/// let receiver = thread::spawn(move || rx.recv_blocking());
/// tx.send_blocking("met").unwrap();
/// assert_eq!(receiver.join().unwrap(), Ok("met"));
/// ```
#[must_use]
pub fn rendezvous<T>() -> (rendezvous::Sender<T>, rendezvous::Receiver<T>) {
    rendezvous::ends()
}

fn channel<T>(store: Store<T>) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(store));
    (Sender::first(Arc::clone(&shared)), Receiver::first(shared))
}

#[cfg(test)]
mod tests;
