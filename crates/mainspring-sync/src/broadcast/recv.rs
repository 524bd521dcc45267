//! The receiving end: waiting for a message, as a future, a stream or a thread.

use super::Slow;
use super::error::{RecvError, TryRecvError};
use super::log::{Cursor, Owed};
use super::shared::Shared;
use crate::block;
use futures_core::{FusedStream, Stream};
use mainspring_core::CancelSafe;
use mainspring_core::budget;
use mainspring_core::payload::absorb;
use mainspring_core::sync::Arc;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Diagnosis, Holds, WaitList, Waiter};
use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The receiving end of a broadcast channel: it gets a clone of every message that is sent after
/// it subscribed.
///
/// `T` need not be `Clone` to hold a receiver, only to receive. A message is cloned while no lock
/// is held, and its last receiver gets the message itself when no other is still cloning it.
///
/// It is a [`Stream`] of `Result<T, RecvError>`: `Lagged` is an item in between, `Disconnected`
/// the last one, and closing ends it.
///
/// # Complexity
///
/// Receiving, and leaving, takes the channel's lock for a moment, however many receivers there are
/// and however far behind this one is. Nothing is allocated, but for the stream's place in the
/// queue, once, when it first has to wait.
///
/// # Clone
///
/// A clone stands where the original stands: it gets the same messages, is told the same losses,
/// and has the same policy. For one that only gets what is sent from now on, see
/// [`resubscribe`](Self::resubscribe).
///
/// # Dropping
///
/// Messages that only this receiver had not seen are dropped with it, without a lock, and senders
/// that only it held back go on. A receiver that is *forgotten* holds its messages for ever, and
/// with the policy [`Wait`](Slow::Wait) the senders.
pub struct Receiver<T> {
    /// First: it is to be gone from its list before the receiver leaves the channel's log.
    stream: StreamState,
    shared: Arc<Shared<T>>,
    cursor: Cursor,
}

/// What makes a receiver a stream.
#[derive(Default)]
struct StreamState {
    /// Made when the stream first has to wait, and kept.
    waiter: Option<Pin<Box<Waiter<Arc<WaitList>>>>>,
    has_ended: bool,
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, slow: Slow) -> Self {
        let cursor = shared.log().subscribe(slow);
        Self::at(shared, cursor)
    }

    fn at(shared: Arc<Shared<T>>, cursor: Cursor) -> Self {
        Self {
            stream: StreamState::default(),
            shared,
            cursor,
        }
    }

    /// A new receiver of the same channel and policy that gets what is sent from now on; also from
    /// one that was disconnected. On a closed channel it sees `Closed`.
    #[must_use]
    pub fn resubscribe(&self) -> Self {
        Self::new(Arc::clone(&self.shared), self.cursor.slow())
    }

    /// How many messages can be received without waiting. What was lost does not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.log().unread(&self.cursor)
    }

    /// Whether nothing can be received without waiting, but perhaps an error.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel was closed. What it keeps, and what a permit that is out will send,
    /// can still be received.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.log().is_closed()
    }

    /// Which receivers wait: for a person to read.
    ///
    /// A message wakes all of them, so that none is named for not coming. Whom the senders wait for
    /// when they wait for room is whoever has the largest [`len`](Self::len).
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.shared.receivers.diagnose()
    }

    /// Whether two handles belong to one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T: Clone> Receiver<T> {
    /// Waits for the next message.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: a message is taken in the poll that returns it, and the receiver keeps its position.
    ///
    /// # Errors
    ///
    /// [`RecvError::Lagged`] once after messages were lost to it, [`RecvError::Disconnected`] if
    /// that is its policy, [`RecvError::Closed`] when the channel was closed, everything was
    /// received and no permit is out.
    ///
    /// # Panics
    ///
    /// With a panic of `T`'s `Clone`, or of the waker of a sender that goes on: the receiver has
    /// moved past that message then.
    pub fn recv(&mut self) -> Recv<'_, T> {
        Recv {
            waiter: Waiter::new(&*self.shared.receivers, ()),
            shared: &self.shared,
            cursor: &mut self.cursor,
        }
    }

    /// Takes the next message if there is one.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if there is none yet, else as [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let (taken, owed) = self.shared.take(&mut self.cursor, false);
        pay_with_message(&self.shared, owed);
        taken.open()
    }

    /// As [`recv`](Self::recv), and blocks the thread meanwhile.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        block::wait(pin!(self.recv()))
    }

    /// As [`recv_blocking`](Self::recv_blocking), for `limit` at most.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if there was no message in time, else as [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_timeout(&mut self, limit: Duration) -> Result<T, TryRecvError> {
        match block::wait_for(pin!(self.recv()), limit) {
            Some(result) => result.map_err(TryRecvError::from),
            None => Err(TryRecvError::Empty),
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let cursor = self.shared.log().copy(&self.cursor);
        Self::at(Arc::clone(&self.shared), cursor)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Before what may panic: its waker is not to wait for that.
        self.stream = StreamState::default();
        let owed = self.shared.log().leave(&self.cursor);
        self.shared.pay(owed, None);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("channel", &*self.shared)
            .field("slow", &self.cursor.slow())
            .finish_non_exhaustive()
    }
}

impl<T: Clone> Stream for Receiver<T> {
    type Item = Result<T, RecvError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.stream.has_ended {
            return Poll::Ready(None);
        }
        let StreamState { waiter, has_ended } = &mut this.stream;
        let list = &this.shared.receivers;
        let next = poll_receive(&this.shared, &mut this.cursor, cx, move || {
            let make = || Box::pin(Waiter::new(Arc::clone(list), ()));
            waiter.get_or_insert_with(make).as_mut()
        });
        let item = match ready!(next) {
            Err(RecvError::Closed) => None,
            item => Some(item),
        };
        *has_ended = matches!(item, None | Some(Err(RecvError::Disconnected)));
        Poll::Ready(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None)
    }
}

impl<T: Clone> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        self.stream.has_ended
    }
}

/// The future of [`Receiver::recv`].
///
/// # Cancel safety
///
/// *Safe*: dropped before it is ready, it has taken nothing.
#[must_use = "futures do nothing unless polled"]
pub struct Recv<'a, T> {
    waiter: Waiter<&'a WaitList>,
    shared: &'a Shared<T>,
    cursor: &'a mut Cursor,
}

impl<T: Clone> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [broadcast.pinned] the waiter stays where it is; nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let Self {
            waiter,
            shared,
            cursor,
        } = this;
        // SAFETY: [broadcast.pinned] structural: `self` was pinned.
        let waiter = unsafe { Pin::new_unchecked(waiter) };
        poll_receive(shared, cursor, cx, || waiter)
    }
}

impl<T: Clone> CancelSafe for Recv<'_, T> {}

impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv")
            .field("channel", self.shared)
            .finish_non_exhaustive()
    }
}

/// Waits for the next thing that a receiver is to learn. The waiter is asked for only if the
/// receiver has to wait.
///
/// A spent budget needs no place in the queue first: each receiver has its own position, and
/// nobody can take a message from it.
fn poll_receive<'w, T: Clone, L>(
    shared: &Shared<T>,
    cursor: &mut Cursor,
    cx: &mut Context<'_>,
    waiter: impl FnOnce() -> Pin<&'w mut Waiter<L>>,
) -> Poll<Result<T, RecvError>>
where
    L: Holds<Kind = ()> + 'w,
{
    let unit = ready!(budget::poll_proceed(cx));
    let mut due = Due::new(shared);
    // A waiter that was woken stays released until it has to wait again.
    let (mut taken, owed) = shared.take(cursor, false);
    due.owed = owed;
    if taken.is_empty() {
        let waited = waiter().poll_wait(cx, |_, (), _| {
            let (looked, owed) = shared.take(cursor, true);
            due.owed = owed;
            (!looked.is_empty()).then_some(looked)
        });
        match waited {
            Poll::Ready(looked) => taken = looked,
            Poll::Pending => {
                wait::note(WaitKind::Receive, shared.number);
                return Poll::Pending;
            }
        }
    }
    unit.spend();
    drop(due);
    Poll::Ready(taken.open_waited())
}

/// What a receive owes to the senders: paid when this is dropped, on unwind too.
struct Due<'a, T> {
    shared: &'a Shared<T>,
    owed: Owed,
}

impl<'a, T> Due<'a, T> {
    fn new(shared: &'a Shared<T>) -> Self {
        let owed = Owed::default();
        Self { shared, owed }
    }
}

impl<T> Drop for Due<'_, T> {
    fn drop(&mut self) {
        pay_with_message(self.shared, std::mem::take(&mut self.owed));
    }
}

/// Pays what a receive owes, with the message in hand: a waker that panics must not take it along.
/// The hook has reported that panic.
fn pay_with_message<T>(shared: &Shared<T>, owed: Owed) {
    absorb(|| shared.pay(owed, None));
}
