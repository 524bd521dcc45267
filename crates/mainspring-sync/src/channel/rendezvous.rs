//! Channels that keep nothing: a sender meets a receiver, and waits until it does.
//!
//! [`channel::rendezvous`](fn@super::rendezvous) makes one. A message stays with its sender until a
//! receiver takes it, and only then is the send done: when `send` says so, the message has been
//! received. Nothing is ever in between, to be lost with a task that has ended or a process that
//! has crashed.
//!
//! # When to use it, and when not
//!
//! Use it where a sender has to know that its message was received, or must not get ahead of its
//! receiver by even one message. Each message costs a lock on each side, and at least one of the
//! two sides sleeps for it: where only the throughput counts, a [`bounded`](super::bounded) channel
//! is the better one, and already with room for a few messages. For one answer to one question use
//! a [`oneshot`](crate::oneshot).
//!
//! ```
//! use mainspring_sync::channel;
//! use std::thread;
//!
//! let (tx, rx) = channel::rendezvous();
//! let producer = thread::spawn(move || {
//!     for number in 1..=100 {
//!         // Returns when the other thread has the number.
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
//! - A message is received, handed back or dropped exactly once, whatever is dropped when.
//! - `Ok` from a send means that a receiver has the message: a poll that returned it, or a thread
//!   that was blocked and is about to return with it.
//! - Messages are received in the order in which their sends were first polled.
//! - As many receivers are woken as there are messages to take; closing wakes all. A receiver that
//!   is dropped after it was woken passes that on.
//! - Closing is for ever, and nothing is sent after it: who waits with a message gets it back.
//!
//! # Tasks and threads that block
//!
//! A message is only put into other hands when they are certain to take it. A thread inside
//! [`recv_blocking`](Receiver::recv_blocking) or [`recv_timeout`](Receiver::recv_timeout) is: a
//! send to it is done at once, and [`try_send`](Sender::try_send) can succeed. A task that waits in
//! [`recv`](Receiver::recv) may yet be dropped, so it is woken and takes the message itself.
//!
//! # Complexity and allocation
//!
//! A channel is one allocation. Sending and receiving are O(1), and allocate nothing; only while
//! threads are blocked beside tasks that wait, a sender looks through the tasks for a thread.

mod letter;
mod meeting;
mod receiver;
mod recv;
mod send;
mod sender;
mod until_closed;

pub use self::receiver::Receiver;
pub use self::recv::Recv;
pub use self::send::Send;
pub use self::sender::{Sender, WeakSender};
pub use self::until_closed::UntilClosed;

use mainspring_core::sync::Arc;

pub(super) fn ends<T>() -> (Sender<T>, Receiver<T>) {
    let table = Arc::new(meeting::table());
    (Sender::of(Arc::clone(&table)), Receiver::of(table))
}

#[cfg(test)]
mod tests;
