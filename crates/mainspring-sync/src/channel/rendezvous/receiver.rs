//! The end that receives.

use super::Recv;
use super::meeting::{self, Table, Taken};
use super::recv::{Blocked, Encounter};
use crate::block;
use crate::channel::place::Place;
use crate::channel::{Closed, RecvTimeoutError, TryRecvError};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use mainspring_core::payload::{Steps, absorb};
use mainspring_core::sync::Arc;
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// The receiving end of a rendezvous channel. Clone it for each consumer: each message goes to one
/// of them.
///
/// When the last one is dropped the channel is closed, and senders that wait get their messages
/// back. It is also a [`Stream`], which ends with the channel.
///
/// # Fairness
///
/// Receivers that wait are woken in the order in which they came, one for each message. A message
/// that is there belongs to whoever asks first; one that was woken and finds nothing goes back to
/// its place. Of the receivers that wait the first thread that is blocked is served before tasks.
///
/// # As a stream
///
/// A stream's place in the queue is the receiver's own, so that the receiver can be moved; it is
/// allocated at the first poll, and at the first after it was left. A `next` that is dropped while
/// it waits loses no message and leaves the place behind. What is told to it from then on is found
/// by the next call of this receiver, whatever that is: every other way to receive leaves the place
/// first, and passes on to the other receivers what it was told. So does dropping the receiver.
///
/// **A receiver that is put aside** after such a `next`, neither used nor dropped, is told of one
/// message more while others wait. That message is there for whoever asks, and the next sender
/// wakes the next receiver; but a clone that sleeps is not woken for this one, whose sender waits.
/// Where that matters wait with [`recv`](Self::recv): its place goes when its future is dropped.
pub struct Receiver<T> {
    /// Before `table`, to which it leads: dropped first.
    stream: Place<Encounter<T, Arc<Table<T>>>>,
    /// The stream has said so.
    has_ended: bool,
    table: Arc<Table<T>>,
}

impl<T> Receiver<T> {
    pub(super) fn of(table: Arc<Table<T>>) -> Self {
        Self {
            stream: Place::new(),
            has_ended: false,
            table,
        }
    }

    /// What is shared, for a call that is not the stream's.
    fn otherwise(&self) -> &Arc<Table<T>> {
        // CLAIM: [place.left]
        self.stream.leave();
        &self.table
    }

    #[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
    pub(super) fn waiting(&self) -> (usize, usize) {
        meeting::waiting(&self.table)
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> Blocked<'_, T> {
        Blocked::new(&self.table)
    }

    /// Receives the message of the sender that has waited longest, when there is one.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: see [`Recv`].
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    pub fn recv(&self) -> Recv<'_, T> {
        Recv::new(self.otherwise())
    }

    /// Receives the message of the sender that has waited longest, if one waits.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if no sender waits.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let taken = self.otherwise().with(|queue| {
            let taken = meeting::take_oldest(queue);
            let otherwise = if queue.is_closed() {
                TryRecvError::Closed
            } else {
                TryRecvError::Empty
            };
            taken.ok_or(otherwise)
        });
        taken.map(|Taken { message, sender }| {
            if let Some(sender) = sender {
                // A panic of it, which the hook has reported, takes no message along.
                absorb(|| sender.wake());
            }
            message
        })
    }

    /// Receives a message on a thread, which sleeps until there is one.
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_blocking(&self) -> Result<T, Closed> {
        block::refuse_inside_a_poll();
        block::wait(pin!(Blocked::new(self.otherwise())))
    }

    /// As [`recv_blocking`](Self::recv_blocking), for `limit` at most.
    ///
    /// # Errors
    ///
    /// Why there is no message.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        block::refuse_inside_a_poll();
        let mut blocked = pin!(Blocked::new(self.otherwise()));
        match block::wait_for(blocked.as_mut(), limit) {
            Some(received) => received.map_err(|Closed| RecvTimeoutError::Closed),
            // A message may have been put into our hands as the limit passed.
            None => blocked.give_up().ok_or(RecvTimeoutError::Timeout),
        }
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
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let table = &this.table;
        let make = || Encounter::of_a_task(Arc::clone(table));
        let received = this.stream.wait(make, |encounter| encounter.poll(cx));
        this.has_ended = matches!(received, Poll::Ready(Err(Closed)));
        received.map(Result::ok)
    }
}

impl<T> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        // What the channel is now, the stream may not have said yet.
        self.has_ended
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let table = Arc::clone(&self.table);
        meeting::add_receiver(&table);
        Self::of(table)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut steps = Steps::default();
        // What the stream was told goes to the next receiver, before there may be none.
        steps.run(|| self.stream.clear());
        steps.run(|| meeting::drop_receiver(&self.table));
        steps.finish();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("channel", &meeting::number(&self.table))
            .field("ends", self.table.kind())
            .finish_non_exhaustive()
    }
}
