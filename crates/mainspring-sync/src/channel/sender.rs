//! The end that sends.

use super::many::SendMany;
use super::permit::{self, OwnedPermit, Permit, Reserve, ReserveOwned};
use super::ring::Push;
use super::send::Send;
use super::shared::Shared;
use super::sink::Node;
use super::until_closed::UntilClosed;
use super::words::Reserve as OnReserve;
use super::{SendError, SendTimeoutError, TryReserveError, TrySendError};
use crate::block;
use mainspring_core::payload::Steps;
use mainspring_core::sync::{Arc, hint, thread};
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// How often a blocking call looks for itself before it goes to sleep, without and with giving the
/// processor away. Falling asleep and being woken costs some microseconds, and what a peer does in
/// that time is many messages.
pub(crate) const SPINS: u32 = 64;
pub(crate) const YIELDS: u32 = 8;

/// The sending end of a channel. Clone it for each producer.
///
/// The channel is closed when the last one is dropped. Its methods can be called from any thread
/// and under any executor.
///
/// # Fairness
///
/// Senders that wait are granted room in the order in which they came, and a newcomer does not
/// overtake one that waits. Room that was granted is held for that sender, as a permit, until its
/// future is polled or dropped: a task that keeps a send and does not poll it keeps that room from
/// all others, in a channel of capacity 1 all there is. Only another send of the same task, and
/// [`force_send`](Self::force_send), take it over. Drop a send that lost a race.
pub struct Sender<T> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) sink: Node<T>,
}

impl<T> Sender<T> {
    pub(crate) fn first(shared: Arc<Shared<T>>) -> Self {
        Self {
            shared,
            sink: Node::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &Arc<Shared<T>> {
        &self.shared
    }

    /// What is shared, for a call that is not the sink's.
    #[inline(always)]
    fn otherwise(&self) -> &Arc<Shared<T>> {
        // CLAIM: [place.left]
        self.sink.leave();
        &self.shared
    }

    /// Sends a message, when there is room for it.
    ///
    /// Where the future may be dropped before it is ready, prefer [`reserve`](Self::reserve), which
    /// has no message to lose; or keep the message with [`Send::take`].
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: see [`Send`].
    ///
    /// # Errors
    ///
    /// The message, if the channel is closed.
    #[inline]
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send::new(self.otherwise(), value)
    }

    /// Sends a message if there is room and nobody waits for it.
    ///
    /// # Errors
    ///
    /// The message, and why it could not be sent.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.otherwise().push_patiently(value) {
            Push::Done(_) => Ok(()),
            Push::Closed(value) => Err(TrySendError::Closed(value)),
            Push::Full(value) | Push::Busy(value) | Push::Queue(value) => {
                Err(TrySendError::Full(value))
            }
        }
    }

    /// Sends a message from a thread, which sleeps until there is room for it.
    ///
    /// # Errors
    ///
    /// The message, if the channel is closed.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn send_blocking(&self, value: T) -> Result<(), SendError<T>> {
        block::refuse_inside_a_poll();
        match self.try_a_while(value) {
            Err(TrySendError::Full(value)) => block::wait(pin!(self.send(value))),
            Err(TrySendError::Closed(value)) => Err(SendError(value)),
            Ok(()) => Ok(()),
        }
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
    pub fn send_timeout(&self, value: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        block::refuse_inside_a_poll();
        let value = match self.try_a_while(value) {
            Err(TrySendError::Full(value)) => value,
            Err(TrySendError::Closed(value)) => return Err(SendTimeoutError::Closed(value)),
            Ok(()) => return Ok(()),
        };
        let mut send = pin!(self.send(value));
        match block::wait_for(send.as_mut(), limit) {
            Some(Ok(())) => Ok(()),
            Some(Err(SendError(value))) => Err(SendTimeoutError::Closed(value)),
            None => {
                let value = send.take();
                let value = value.expect("a send that is not ready has its message");
                Err(SendTimeoutError::Timeout(value))
            }
        }
    }

    fn try_a_while(&self, mut value: T) -> Result<(), TrySendError<T>> {
        let shared = self.otherwise();
        for turn in 0..SPINS + YIELDS {
            value = match shared.push(value) {
                Push::Done(_) => return Ok(()),
                Push::Closed(value) => return Err(TrySendError::Closed(value)),
                // Others wait: no use in waiting beside them.
                Push::Queue(value) => return Err(TrySendError::Full(value)),
                Push::Full(value) | Push::Busy(value) => value,
            };
            if turn < SPINS {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        Err(TrySendError::Full(value))
    }

    /// Holds room for one message, when there is some.
    ///
    /// # Cancel safety
    ///
    /// *Loses place*: see [`Reserve`].
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    ///
    /// ```
    /// use mainspring_sync::channel;
    ///
    /// let (tx, rx) = channel::bounded(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(tx.try_send(1).is_err());
    /// permit.send(2).unwrap();
    /// assert_eq!(rx.recv_blocking(), Ok(2));
    /// ```
    pub fn reserve(&self) -> Reserve<'_, T> {
        Reserve::new(self.otherwise())
    }

    /// Holds room for one message if there is some and nobody waits for it.
    ///
    /// # Errors
    ///
    /// Why it could not be held.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TryReserveError> {
        match self.otherwise().reserve_patiently() {
            OnReserve::Held => Ok(permit::held(&self.shared)),
            OnReserve::Closed => Err(TryReserveError::Closed),
            OnReserve::Full | OnReserve::Busy | OnReserve::Queue => Err(TryReserveError::Full),
        }
    }

    /// As [`reserve`](Self::reserve), for a permit that owns this sender and can be kept anywhere.
    ///
    /// # Cancel safety
    ///
    /// *Loses place*: see [`ReserveOwned`].
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    pub fn reserve_owned(self) -> ReserveOwned<T> {
        self.sink.leave();
        ReserveOwned::new(self)
    }

    /// As [`try_reserve`](Self::try_reserve), for a permit that owns this sender.
    ///
    /// # Errors
    ///
    /// The sender, and why room could not be held.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, (Self, TryReserveError)> {
        match self.otherwise().reserve_patiently() {
            OnReserve::Held => Ok(permit::held_by(self)),
            OnReserve::Closed => Err((self, TryReserveError::Closed)),
            OnReserve::Full | OnReserve::Busy | OnReserve::Queue => {
                Err((self, TryReserveError::Full))
            }
        }
    }

    /// Sends messages one after another, each when there is room for it; returns how many.
    ///
    /// Between two of them others may send.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: see [`SendMany`].
    ///
    /// # Errors
    ///
    /// The messages that were not sent, and how many were, if the channel is closed.
    pub fn send_many<I>(&self, messages: I) -> SendMany<'_, I::IntoIter>
    where
        I: IntoIterator<Item = T>,
    {
        SendMany::new(self.otherwise(), messages.into_iter())
    }

    /// Sends a message in any case but one: if the channel is full the oldest message has to go,
    /// and is returned.
    ///
    /// Senders that wait keep their places and go on waiting: the room is this message's, also room
    /// that was granted to one of them and that its future has not been polled for yet. It waits
    /// for nobody but, for the copy of one message, for a peer that is in the middle of one.
    ///
    /// # Errors
    ///
    /// The message, if the channel is closed; or, with [`TrySendError::Full`], if there is no
    /// message to replace because all room is held by permits. A send that was polled when its
    /// task's [budget](mainspring_core::budget) was spent holds one until its next poll.
    pub fn force_send(&self, value: T) -> Result<Option<T>, TrySendError<T>> {
        self.otherwise()
            .push_over(value)
            .map_err(|refused| match refused {
                Push::Closed(value) => TrySendError::Closed(value),
                Push::Full(value) | Push::Busy(value) | Push::Queue(value) => {
                    TrySendError::Full(value)
                }
                Push::Done(_) => unreachable!("a message that was sent was not refused"),
            })
    }

    /// Waits until the channel is closed, by whomever, or the last receiver is gone.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: see [`UntilClosed`].
    pub fn closed(&self) -> UntilClosed<'_, T> {
        UntilClosed::new(&self.shared)
    }

    /// Closes the channel: nothing more can be sent, what was sent is still received. Who waits,
    /// for room or for messages, is woken. `recv` waits for permits that are out.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Whether the channel is closed, by whomever.
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

    /// Which senders wait, and who was granted room and has not fetched it: for a person to read.
    ///
    /// There is no revocable channel, as there are revocable locks: a grant that is not fetched is
    /// passed on when its future is dropped, taken over by another one of the same task, and waits
    /// otherwise.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.shared.senders.diagnose()
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

    /// A handle that does not keep the channel open.
    #[must_use]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // The reference first: it aborts when there are too many, and there are never fewer of
        // these than of senders.
        let shared = Arc::clone(&self.shared);
        shared.add_sender();
        Self::first(shared)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut steps = Steps::default();
        steps.run(|| self.sink.clear());
        steps.run(|| self.shared.drop_sender());
        steps.finish();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("channel", &self.shared.number())
            .field("words", self.shared.words())
            .finish_non_exhaustive()
    }
}

/// A sender that does not keep the channel open.
pub struct WeakSender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, if there still is one.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let shared = Arc::clone(&self.shared);
        shared.add_sender_if_any().then(|| Sender::first(shared))
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender")
            .field("channel", &self.shared.number())
            .field("senders", &self.shared.senders())
            .finish_non_exhaustive()
    }
}
