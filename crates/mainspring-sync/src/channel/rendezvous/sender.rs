//! The end that sends.

use super::meeting::{self, Table};
use super::{Send, UntilClosed};
use crate::block;
use crate::channel::{SendError, SendTimeoutError, TrySendError};
use mainspring_core::sync::Arc;
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// The sending end of a rendezvous channel. Clone it for each producer.
///
/// The channel is closed when the last one is dropped. Its methods can be called from any thread
/// and under any executor. There is nothing to reserve: what takes a message is not room, but a
/// receiver.
///
/// # Fairness
///
/// The messages of senders that wait are taken in the order in which they came, and a newcomer does
/// not overtake one that waits.
pub struct Sender<T> {
    table: Arc<Table<T>>,
}

impl<T> Sender<T> {
    pub(super) fn of(table: Arc<Table<T>>) -> Self {
        Self { table }
    }

    /// Sends a message: waits until a receiver has taken it.
    ///
    /// Where the future may be dropped before it is ready, keep the message with [`Send::take`].
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: see [`Send`].
    ///
    /// # Errors
    ///
    /// The message, if the channel is closed before it was taken.
    pub fn send(&self, message: T) -> Send<'_, T> {
        Send::new(&self.table, message)
    }

    /// Sends a message if a thread is blocked in
    /// [`recv_blocking`](super::Receiver::recv_blocking) or
    /// [`recv_timeout`](super::Receiver::recv_timeout) and no sender waits.
    ///
    /// It does not succeed into a task that waits, which may be dropped and would take the message
    /// along.
    ///
    /// # Errors
    ///
    /// The message, and why it could not be sent: [`TrySendError::Full`] if no thread is blocked.
    ///
    /// ```
    /// use mainspring_sync::channel;
    ///
    /// let (tx, rx) = channel::rendezvous();
    /// assert!(tx.try_send(1).unwrap_err().is_full());
    /// drop(rx);
    /// assert!(tx.try_send(1).unwrap_err().is_closed());
    /// ```
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.table.with(|queue| {
            let is_closed = queue.is_closed();
            meeting::hand(queue, message).map_err(|message| {
                if is_closed {
                    TrySendError::Closed(message)
                } else {
                    TrySendError::Full(message)
                }
            })
        })
    }

    /// Sends a message from a thread, which sleeps until it was taken.
    ///
    /// # Errors
    ///
    /// The message, if the channel is closed before it was taken.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn send_blocking(&self, message: T) -> Result<(), SendError<T>> {
        block::wait(pin!(self.send(message)))
    }

    /// As [`send_blocking`](Self::send_blocking), for `limit` at most.
    ///
    /// # Errors
    ///
    /// The message, and why it could not be sent.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn send_timeout(&self, message: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        let mut send = pin!(self.send(message));
        match block::wait_for(send.as_mut(), limit) {
            Some(Ok(())) => Ok(()),
            Some(Err(SendError(message))) => Err(SendTimeoutError::Closed(message)),
            None => match send.take() {
                Some(message) => Err(SendTimeoutError::Timeout(message)),
                // It was taken as the limit passed.
                None => Ok(()),
            },
        }
    }

    /// Waits until the channel is closed, by whomever, or the last receiver is gone.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: see [`UntilClosed`].
    pub fn closed(&self) -> UntilClosed<'_, T> {
        UntilClosed::new(&self.table)
    }

    /// Closes the channel: nothing more is sent. Senders that wait get their messages back, and
    /// receivers that wait are told.
    pub fn close(&self) {
        meeting::close(&self.table);
    }

    /// Whether the channel is closed, by whomever.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        meeting::is_closed(&self.table)
    }

    /// Which receivers wait, and which were told of a message and have not come for it: for a
    /// person to read. Either end says the same: to a sender nothing is offered, its message is
    /// taken.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.table.diagnose()
    }

    /// Whether both are ends of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
    }

    /// How many senders there are.
    #[must_use]
    pub fn sender_count(&self) -> usize {
        meeting::senders(&self.table)
    }

    /// How many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        meeting::receivers(&self.table)
    }

    /// A handle that does not keep the channel open.
    #[must_use]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            table: Arc::clone(&self.table),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // The reference first: it aborts when there are too many, and there are never fewer of
        // these than of senders.
        let table = Arc::clone(&self.table);
        meeting::add_sender(&table);
        Self::of(table)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        meeting::drop_sender(&self.table);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("channel", &meeting::number(&self.table))
            .field("ends", self.table.kind())
            .finish_non_exhaustive()
    }
}

/// A sender that does not keep the channel open.
pub struct WeakSender<T> {
    table: Arc<Table<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, if there still is one.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let table = Arc::clone(&self.table);
        meeting::add_sender_if_any(&table).then(|| Sender::of(table))
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
        }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender")
            .field("channel", &meeting::number(&self.table))
            .field("ends", self.table.kind())
            .finish_non_exhaustive()
    }
}
