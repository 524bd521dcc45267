//! One value, once, from one sender to one receiver.
//!
//! The protocol is that of core's completion: this file gives it a channel's names, errors and
//! blocking forms.
//!
//! # Rejected
//!
//! A word of its own with a bit for each side: it takes two read-modify-writes where the handshake
//! takes one, and the bits are where the known holes of oneshot channels were.

mod error;

pub use self::error::{RecvError, RecvTimeoutError, TryRecvError};

use crate::block;
use mainspring_core::handshake::completion::{TryTakeError, WithCancel};
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::{CancelSafe, Completer, Completion, budget, completion_with_cancel};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Makes a connected pair.
///
/// Use it for one answer to one question. Where the answer is wanted by several, or again and
/// again, use a [`watch`](crate::watch) or a channel; a value that is set once and read by many is
/// a [`SetOnce`](crate::SetOnce).
///
/// # Guarantees
///
/// - A value that was sent is received, handed back, or dropped, exactly once, whatever is closed
///   or dropped at the same moment.
/// - What the sender did before it sent is seen by whoever receives.
/// - Either side that goes releases its waker at once, and a value that nobody will take is dropped
///   with the receiver.
///
/// # Complexity
///
/// One allocation for the pair. Sending is one compare-exchange, waiting another; no locks.
///
/// ```
/// use mainspring_sync::oneshot;
/// use std::thread;
///
/// let (sender, receiver) = oneshot::channel();
/// let answering = thread::spawn(move || sender.send(42));
/// assert_eq!(receiver.recv_blocking(), Ok(42));
/// assert_eq!(answering.join().unwrap(), Ok(()));
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (completer, completion) = completion_with_cancel();
    (Sender { completer }, Receiver { completion })
}

/// The sending side of a [`channel`]. Dropping it tells the receiver that nothing will come.
#[must_use = "dropping the sender tells the receiver that no value comes"]
pub struct Sender<T> {
    completer: Completer<T, WithCancel>,
}

impl<T> Sender<T> {
    /// Sends the value. Never waits.
    ///
    /// `Ok` says that the receiver was there, not that it has taken the value: it may be dropped
    /// with it.
    ///
    /// # Errors
    ///
    /// The value comes back when the receiver was dropped or closed.
    ///
    /// # Panics
    ///
    /// When the receiver's waker panics. The value has been sent all the same.
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        self.completer.complete(value)
    }

    /// Whether the receiver was dropped or closed, so that a value would only come back.
    ///
    /// It may become true right afterwards. One load.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.completer.is_cancelled()
    }

    /// Waits until the receiver is dropped or closed.
    ///
    /// Use it beside the work whose result would be sent, to stop early.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing and can be called again.
    pub fn closed(&mut self) -> Closed<'_, T> {
        Closed { sender: self }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("is_closed", &self.is_closed())
            .finish()
    }
}

/// The future of [`Sender::closed`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing but the borrow.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a, T> {
    sender: &'a mut Sender<T>,
}

impl<T> CancelSafe for Closed<'_, T> {}

impl<T> Future for Closed<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // There is no queue whose order a poll without budget could upset.
        let unit = ready!(budget::poll_proceed(cx));
        if self.sender.completer.poll_cancelled(cx).is_pending() {
            wait::note(WaitKind::Completion, 0);
            return Poll::Pending;
        }
        unit.spend();
        Poll::Ready(())
    }
}

/// The receiving side of a [`channel`]: a future of the value.
///
/// It resolves to the value, or to [`RecvError`] when the sender was dropped without sending.
/// Polled after that it is ready with the error again: nothing more will come.
///
/// # Cancel safety
///
/// *Safe* when it is awaited as `&mut receiver`: an await that is dropped early leaves the value
/// for the next one. Dropping the receiver itself *loses value*: what has been sent is dropped with
/// it, unless [`close`](Self::close) took it out first.
#[must_use = "futures do nothing unless polled"]
pub struct Receiver<T> {
    completion: Completion<T, WithCancel>,
}

impl<T> Receiver<T> {
    /// Takes the value if it has been sent, without waiting. A parked task stays parked.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] while the sender exists, [`TryRecvError::Closed`] when nothing will
    /// come: the sender was dropped, the value was taken, or the receiver closed.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.completion.try_take().map_err(|error| match error {
            TryTakeError::Pending => TryRecvError::Empty,
            TryTakeError::Dropped => TryRecvError::Closed,
        })
    }

    /// Blocks this thread until the value is sent.
    ///
    /// # Errors
    ///
    /// [`RecvError`] when nothing will come.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_blocking(mut self) -> Result<T, RecvError> {
        block::wait(Pin::new(&mut self))
    }

    /// Blocks this thread until the value is sent, for `limit` at most. The receiver is good for
    /// another attempt.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] when the limit has passed, [`RecvTimeoutError::Closed`] when
    /// nothing will come.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn recv_timeout(&mut self, limit: Duration) -> Result<T, RecvTimeoutError> {
        match block::wait_for(Pin::new(self), limit) {
            None => Err(RecvTimeoutError::Timeout),
            Some(received) => received.map_err(|RecvError| RecvTimeoutError::Closed),
        }
    }

    /// Stops waiting: from now on the sender gets its value back. One that was sent before is
    /// returned.
    ///
    /// # Panics
    ///
    /// When the waker of a sender in [`closed`](Sender::closed) panics. The receiver is closed.
    pub fn close(&mut self) -> Option<T> {
        self.completion.close()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let received = ready!(Pin::new(&mut self.completion).poll(cx));
        Poll::Ready(received.map_err(|_| RecvError))
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
