//! The safe pair of handles on a [`Relay`] in an allocation of its own.

use super::{OnComplete, OnEnd, OnTake, Relay};
use crate::budget;
use crate::sync::Arc;
use crate::wait::{self, WaitKind};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Makes a relay and a handle for each of its sides.
///
/// Use it where completions come from a thread or a callback and one task takes them; embed a
/// [`Relay`] where both sides share memory already.
///
/// One allocation; dropping the producer ends, dropping the consumer closes.
///
/// ```
/// use mainspring_core::relay::{Rejected, pair};
///
/// let (mut producer, mut consumer) = pair::<&str, 1>();
/// assert_eq!(producer.complete("one"), Ok(()));
/// assert_eq!(producer.complete("two"), Err(Rejected::Full("two")));
/// assert_eq!(consumer.try_take(), Some("one"));
/// assert_eq!(consumer.try_take(), None);
/// ```
pub fn pair<T, const N: usize>() -> (Producer<T, N>, Consumer<T, N>) {
    let relay = Arc::new(Relay::new());
    (
        Producer {
            relay: Arc::clone(&relay),
        },
        Consumer { relay },
    )
}

/// The side that completes.
#[must_use = "dropping the producer ends the relay"]
pub struct Producer<T, const N: usize> {
    relay: Arc<Relay<T, N>>,
}

/// The side that takes.
#[must_use = "dropping the consumer closes the relay"]
pub struct Consumer<T, const N: usize> {
    relay: Arc<Relay<T, N>>,
}

/// Why [`Producer::complete`] did not queue the value, which it gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected<T> {
    /// As many values as fit are waiting to be taken.
    Full(T),
    /// The consumer was dropped or closed.
    Closed(T),
}

impl<T> Rejected<T> {
    /// Whether the same value may be queued later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// The value.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the relay is full",
            Self::Closed(_) => "the consumer wants no more values",
        })
    }
}

impl<T: fmt::Debug> Error for Rejected<T> {}

impl<T, const N: usize> Producer<T, N> {
    /// Queues `value` and wakes the consumer if it waits. The wake only schedules.
    ///
    /// # Errors
    ///
    /// The value comes back when there is no room or nobody wants it.
    ///
    /// # Panics
    ///
    /// When the consumer's waker panics. The value is queued all the same.
    #[inline]
    pub fn complete(&mut self, value: T) -> Result<(), Rejected<T>> {
        // SAFETY: [relay.slots] this handle is the one producer; it ends only when it is dropped.
        match unsafe { self.relay.complete(value) } {
            OnComplete::Queued => Ok(()),
            OnComplete::Wake(waker) => {
                waker.wake();
                Ok(())
            }
            OnComplete::Full(value) => Err(Rejected::Full(value)),
            OnComplete::Closed(value) => Err(Rejected::Closed(value)),
        }
    }

    /// Whether the consumer has closed. A hint.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.relay.is_closed()
    }
}

impl<T, const N: usize> Drop for Producer<T, N> {
    fn drop(&mut self) {
        // SAFETY: [relay.slots] this handle is the one producer and completes no more.
        match unsafe { self.relay.end() } {
            OnEnd::Ended => {}
            OnEnd::Wake(waker) => waker.wake(),
        }
    }
}

impl<T, const N: usize> Consumer<T, N> {
    /// Takes the oldest value, if one is there.
    #[inline]
    pub fn try_take(&mut self) -> Option<T> {
        // SAFETY: [relay.slots] this handle is the one consumer.
        match unsafe { self.relay.try_take() } {
            OnTake::Value(value) => Some(value),
            OnTake::Empty | OnTake::Ended => None,
        }
    }

    /// Takes the oldest value or parks the current task. `None` when the producer was dropped, or
    /// this side closed, and nothing is left.
    ///
    /// # Panics
    ///
    /// When the waker's `clone`, or the `drop` of the one it replaces, panics. No value is lost.
    #[inline]
    pub fn poll_take(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        // SAFETY: [relay.slots] this handle is the one consumer.
        unsafe { self.relay.poll_take(cx) }
    }

    /// Waits for the oldest value; `None` when none will come.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: a value is taken in the poll that returns it.
    pub fn take(&mut self) -> Take<'_, T, N> {
        Take { consumer: self }
    }

    /// Wants no more values: the producer gets every further one back. What is queued can still be
    /// taken.
    pub fn close(&mut self) {
        // SAFETY: [relay.slots] this handle is the one consumer.
        drop(unsafe { self.relay.close() });
    }
}

impl<T, const N: usize> Drop for Consumer<T, N> {
    fn drop(&mut self) {
        self.close();
        // Not left to the relay's drop, which a long-lived producer would put off.
        while let Some(value) = self.try_take() {
            drop(value);
        }
    }
}

/// The future of [`Consumer::take`].
///
/// # Cancel safety
///
/// *Safe*: dropped early it takes its waker with it and leaves every value queued.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Take<'a, T, const N: usize> {
    consumer: &'a mut Consumer<T, N>,
}

// A value leaves the queue only in the poll that returns it.
impl<T, const N: usize> crate::cancel_safe::CancelSafe for Take<'_, T, N> {}

impl<T, const N: usize> Future for Take<'_, T, N> {
    type Output = Option<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let unit = ready!(budget::poll_proceed(cx));
        let taken = self.consumer.poll_take(cx);
        match &taken {
            Poll::Ready(_) => unit.spend(),
            Poll::Pending => wait::note(WaitKind::Relay, 0),
        }
        taken
    }
}

impl<T, const N: usize> Drop for Take<'_, T, N> {
    fn drop(&mut self) {
        // SAFETY: [relay.slots] the borrowed handle is the one consumer.
        drop(unsafe { self.consumer.relay.disarm() });
    }
}

impl<T, const N: usize> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Producer").field(&self.relay).finish()
    }
}

impl<T, const N: usize> fmt::Debug for Consumer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Consumer").field(&self.relay).finish()
    }
}
