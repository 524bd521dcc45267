//! The end that receives.

use super::place::Place;
use super::recv::{Pull, Recv, RecvMany};
use super::ring::Pop;
use super::sender::{SPINS, YIELDS};
use super::shared::Shared;
use super::{Closed, RecvTimeoutError, TryRecvError};
use crate::block;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use mainspring_core::payload::Steps;
use mainspring_core::sync::{Arc, hint, thread};
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// The receiving end of a channel. Clone it for each consumer: each message goes to one of them.
///
/// When the last one is dropped the channel is closed, and the messages in it are dropped at once.
/// It is also a [`Stream`], which ends with the channel.
///
/// # Fairness
///
/// Receivers that wait are woken in the order in which they came, one for each message. A message
/// that is there belongs to whoever asks first; one that was woken and finds nothing goes back to
/// its place.
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
/// message more while others wait. That message stays in the channel for whoever asks, and the next
/// one wakes the next receiver; but a clone that sleeps is not woken for this one. Where that
/// matters wait with [`recv`](Self::recv): its place goes when its future is dropped.
pub struct Receiver<T> {
    /// Before `shared`, to which it leads: dropped first.
    stream: Place<Pull<Arc<Shared<T>>>>,
    /// The stream has said so.
    has_ended: bool,
    shared: Arc<Shared<T>>,
}

impl<T> Receiver<T> {
    pub(crate) fn first(shared: Arc<Shared<T>>) -> Self {
        Self {
            stream: Place::new(),
            has_ended: false,
            shared,
        }
    }

    /// What is shared, for a call that is not the stream's.
    #[inline(always)]
    fn otherwise(&self) -> &Arc<Shared<T>> {
        // CLAIM: [place.left]
        self.stream.leave();
        &self.shared
    }

    #[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
    pub(crate) fn shared(&self) -> &Shared<T> {
        &self.shared
    }

    /// Receives the oldest message, when there is one.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: see [`Recv`].
    ///
    /// # Errors
    ///
    /// If the channel is closed, there is no message and nobody holds a permit.
    #[inline]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv::new(self.otherwise())
    }

    /// Receives the oldest message if there is one.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if there is none now, also while a closed channel has permits out,
    /// or while the sender of the oldest message has been interrupted in the middle of writing it.
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.otherwise().pop_patiently() {
            Pop::Got(value, _) => Ok(value),
            Pop::Empty | Pop::Busy => Err(TryRecvError::Empty),
            Pop::Closed => Err(TryRecvError::Closed),
        }
    }

    /// Receives a message on a thread, which sleeps until there is one.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_blocking(&self) -> Result<T, Closed> {
        block::refuse_inside_a_poll();
        match self.try_a_while() {
            Some(received) => received,
            None => block::wait(pin!(self.recv())),
        }
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
        let received = self
            .try_a_while()
            .or_else(|| block::wait_for(pin!(self.recv()), limit));
        match received {
            Some(received) => received.map_err(|Closed| RecvTimeoutError::Closed),
            None => Err(RecvTimeoutError::Timeout),
        }
    }

    fn try_a_while(&self) -> Option<Result<T, Closed>> {
        let shared = self.otherwise();
        for turn in 0..SPINS + YIELDS {
            match shared.pop() {
                Pop::Got(value, _) => return Some(Ok(value)),
                Pop::Closed => return Some(Err(Closed)),
                Pop::Empty | Pop::Busy => {}
            }
            if turn < SPINS {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        None
    }

    /// Receives messages into `buffer`, at its end: waits for the first one, then takes those that
    /// are there, `most` at most. Returns how many; 0 only if `most` is.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: see [`RecvMany`].
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_many<'a>(&'a self, buffer: &'a mut Vec<T>, most: usize) -> RecvMany<'a, T> {
        RecvMany::new(self.otherwise(), buffer, most)
    }

    /// Takes the messages that are there, without waiting: an iterator that ends at the first
    /// moment at which there is none. Senders that are quick can keep it going: `take(n)` ends it.
    ///
    /// Each call of `next` takes one message; those that are not asked for stay.
    pub fn drain(&self) -> Drain<'_, T> {
        Drain {
            shared: self.otherwise(),
        }
    }

    /// Closes the channel: nothing more can be sent, what was sent is still received. Who waits,
    /// for room or for messages, is woken. `recv` waits for permits that are out.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Whether the channel is closed, by whomever. There may be messages in it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.words().is_closed()
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.words().len()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room: messages and permits make up the capacity.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.shared.words().has_no_room()
    }

    /// Which receivers wait: for a person to read.
    ///
    /// No message is kept for a receiver that was woken, so that none is named for not fetching it:
    /// whoever looks first has it.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.shared.receivers.diagnose()
    }

    /// How many messages there can be; `None` if there is no bound, or one of `usize::MAX`.
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        self.shared.words().capacity()
    }

    /// Whether both are ends of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How many senders there are.
    #[must_use]
    pub fn sender_count(&self) -> usize {
        self.shared.senders()
    }

    /// How many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers()
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let shared = &this.shared;
        let make = || Pull::new(Arc::clone(shared));
        let received = this.stream.wait(make, |pull| pull.poll(cx));
        this.has_ended = matches!(received, Poll::Ready(Err(Closed)));
        received.map(Result::ok)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Other receivers may take what is there.
        (0, None)
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
        let shared = Arc::clone(&self.shared);
        shared.add_receiver();
        Self::first(shared)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut steps = Steps::default();
        // What the stream was told goes to the next receiver, before there may be none.
        steps.run(|| self.stream.clear());
        steps.run(|| self.shared.drop_receiver());
        steps.finish();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("channel", &self.shared.number())
            .field("words", self.shared.words())
            .finish_non_exhaustive()
    }
}

/// The messages that are in a channel: see [`Receiver::drain`].
pub struct Drain<'a, T> {
    shared: &'a Shared<T>,
}

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match self.shared.pop_patiently() {
            Pop::Got(value, _) => Some(value),
            Pop::Empty | Pop::Busy | Pop::Closed => None,
        }
    }
}

impl<T> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("channel", &self.shared.number())
            .finish()
    }
}
