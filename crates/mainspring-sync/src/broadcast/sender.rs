//! The sending ends: one that never waits, and one that waits for slow receivers.

use super::Slow;
use super::error::{SendError, TrySendError};
use super::recv::Receiver;
use super::send::{Closed, Reserve, Send};
use super::shared::{Message, Shared};
use crate::block;
use mainspring_core::sync::Arc;
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// What both kinds of sender hold: the channel is closed when the last one goes.
struct Handle<T>(Arc<Shared<T>>);

impl<T> Handle<T> {
    #[track_caller]
    fn new(capacity: usize) -> Self {
        Self(Arc::new(Shared::new(capacity)))
    }

    fn subscribe(&self, slow: Slow) -> Receiver<T> {
        Receiver::new(Arc::clone(&self.0), slow)
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        self.0.log().add_sender();
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        let owed = self.0.log().remove_sender();
        self.0.pay(owed, None);
    }
}

/// The sending end of a [`lossy`](super::lossy) channel: it never waits.
///
/// # Complexity
///
/// A send takes the channel's lock for a moment, allocates the message's cell, and wakes the
/// receivers that wait, in batches, when the lock is free.
pub struct LossySender<T> {
    handle: Handle<T>,
}

impl<T> LossySender<T> {
    /// The sender of a channel that has no receiver yet.
    ///
    /// # Panics
    ///
    /// With `MS0016` if `capacity` is 0, or its slots take more memory than the allocator has.
    #[must_use]
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self {
            handle: Handle::new(capacity),
        }
    }

    /// Sends a message to every receiver. If the channel is full, its oldest message goes: those
    /// who have not seen it are told that they [lag](super::RecvError::Lagged).
    ///
    /// # Errors
    ///
    /// [`SendError`] with the message in it if the channel is closed or nobody receives.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, or of the `Drop` of a message that went; everybody was
    /// woken then.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let sent = self.shared().send(Message::new(value));
        sent.map_err(|(back, why)| SendError::new(unshared(back), why))
    }

    /// A new receiver: it gets what is sent from now on.
    ///
    /// A channel whose receivers have all left is not closed: it works again from here on. One
    /// that was closed stays so, and the new receiver sees `Closed`.
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        self.handle.subscribe(Slow::Lag)
    }

    /// How many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared().log().receivers()
    }

    /// How many messages are kept that some receiver has not seen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared().log().len()
    }

    /// Whether no receiver has anything left to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages are kept at most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared().log().capacity()
    }

    /// Closes the channel for all its senders, for good. What was sent can still be received. It
    /// is closed as well when the last sender is dropped.
    pub fn close(&self) {
        self.shared().close();
    }

    /// Whether a message would be refused now: the channel was closed, which is for good, or it
    /// has no receiver, which ends when somebody subscribes.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared().log().refusal().is_some()
    }

    /// Waits until [`is_closed`](Self::is_closed): nobody is interested any more. A moment without
    /// receivers that is over when this future is polled goes unnoticed.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: there is nothing to lose.
    pub fn closed(&self) -> Closed<'_, T> {
        Closed::new(self.shared())
    }

    /// Whether two handles belong to one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle.0, &other.handle.0)
    }

    fn shared(&self) -> &Shared<T> {
        &self.handle.0
    }
}

impl<T> Clone for LossySender<T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
        }
    }
}

impl<T> fmt::Debug for LossySender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LossySender")
            .field("channel", self.shared())
            .finish_non_exhaustive()
    }
}

/// The sending end of a [`lossless`](super::lossless) channel: it waits for those receivers that
/// asked for it.
///
/// # Guarantees
///
/// Senders that wait are served first come, first served, and nobody passes them: while one waits,
/// [`try_send`](Self::try_send) is told `Full`. As many are woken as there is room for, and that
/// room is set aside for them. One that is woken, and neither polled again nor dropped, keeps it,
/// unless its task polls another send of this channel, which takes it over.
///
/// # Complexity
///
/// That of [`LossySender`]; a send that has to wait takes a second lock.
pub struct Sender<T> {
    handle: Handle<T>,
}

impl<T> Sender<T> {
    /// The sender of a channel that has no receiver yet.
    ///
    /// # Panics
    ///
    /// With `MS0016` if `capacity` is 0, or its slots take more memory than the allocator has.
    #[must_use]
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self {
            handle: Handle::new(capacity),
        }
    }

    /// Sends a message to every receiver, and waits for room if one holds the senders back.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: dropped before it is ready, it drops the message, which no receiver has seen
    /// then. [`Send::take`] gets it back first; [`reserve`](Self::reserve) waits without one.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the message in it if the channel is closed or nobody receives, also if
    /// that comes to pass while it waits.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, or of the `Drop` of a message that went; everybody was
    /// woken then.
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send::new(self.shared(), value)
    }

    /// Sends a message if it need not wait.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] with the message in it.
    ///
    /// # Panics
    ///
    /// As [`send`](Self::send).
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let sent = self.shared().send(Message::new(value));
        sent.map_err(|(back, why)| TrySendError::new(unshared(back), why))
    }

    /// Waits for room for one message and sets it aside: the permit's
    /// [`send`](super::Permit::send) does not wait.
    ///
    /// # Cancel safety
    ///
    /// *Loses place*: dropped before it is ready, it leaves the queue, and nothing else is lost.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed or nobody receives.
    pub fn reserve(&self) -> Reserve<'_, T> {
        Reserve::new(self.shared())
    }

    /// As [`send`](Self::send), and blocks the thread meanwhile.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn send_blocking(&self, value: T) -> Result<(), SendError<T>> {
        block::wait(pin!(self.send(value)))
    }

    /// As [`send_blocking`](Self::send_blocking), for `limit` at most.
    ///
    /// # Errors
    ///
    /// [`TrySendError::Full`] if there was no room in time, else as [`send`](Self::send); the
    /// message comes back.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn send_timeout(&self, value: T, limit: Duration) -> Result<(), TrySendError<T>> {
        let mut send = pin!(self.send(value));
        match block::wait_for(send.as_mut(), limit) {
            Some(result) => result.map_err(TrySendError::from),
            None => match send.take() {
                Some(value) => Err(TrySendError::Full(value)),
                None => unreachable!("a send that is not ready has its message"),
            },
        }
    }

    /// A new receiver that holds senders back when it is slow: it gets all that is sent from now
    /// on.
    ///
    /// A channel whose receivers have all left is not closed: it works again from here on. One
    /// that was closed stays so, and the new receiver sees `Closed`.
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        self.subscribe_with(Slow::Wait)
    }

    /// As [`subscribe`](Self::subscribe), for a receiver with another policy.
    #[must_use]
    pub fn subscribe_with(&self, slow: Slow) -> Receiver<T> {
        self.handle.subscribe(slow)
    }

    /// How many receivers there are; those that were disconnected do not count.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared().log().receivers()
    }

    /// How many messages are kept that some receiver has not seen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared().log().len()
    }

    /// Whether no receiver has anything left to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages are kept at most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared().log().capacity()
    }

    /// Closes the channel for all its senders, for good. What was sent, and what a permit that is
    /// out will send, can still be received; sends that wait get their messages back. It is closed
    /// as well when the last sender is dropped.
    pub fn close(&self) {
        self.shared().close();
    }

    /// Whether a message would be refused now, whatever room there is: the channel was closed,
    /// which is for good, or it has no receiver, which ends when somebody subscribes.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared().log().refusal().is_some()
    }

    /// Waits until [`is_closed`](Self::is_closed): nobody is interested any more. A moment without
    /// receivers that is over when this future is polled goes unnoticed.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: there is nothing to lose.
    pub fn closed(&self) -> Closed<'_, T> {
        Closed::new(self.shared())
    }

    /// Which senders wait, and who was offered room and has not taken it: for a person to read.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.shared().senders.diagnose()
    }

    /// Whether two handles belong to one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle.0, &other.handle.0)
    }

    fn shared(&self) -> &Shared<T> {
        &self.handle.0
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("channel", self.shared())
            .finish_non_exhaustive()
    }
}

/// A message that was refused: no receiver has ever had it.
pub(super) fn unshared<T>(message: Message<T>) -> T {
    match Message::try_unwrap(message) {
        Ok(value) => value,
        // CLAIM: [broadcast.once] it never was in the log.
        Err(_) => unreachable!("a refused message is nobody else's"),
    }
}
