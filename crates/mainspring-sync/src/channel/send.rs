//! Sending one message.

use super::ask::Ask;
use super::reach::Reach;
use super::ring::Push;
use super::shared::Shared;
use super::{Closed, SendError};
use mainspring_core::budget;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of [`Sender::send`](super::Sender::send).
///
/// # Cancel safety
///
/// *Loses value*: the message is dropped with it, unless [`take`](Self::take) gets it back first.
/// A message is sent only by the poll that returns `Ready`. It also loses its place in the queue.
#[must_use = "futures do nothing unless polled"]
pub struct Send<'a, T> {
    ask: Ask<&'a Shared<T>>,
    value: Option<T>,
}

impl<'a, T> Send<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>, value: T) -> Self {
        Self {
            ask: Ask::new(shared),
            value: Some(value),
        }
    }

    /// Gives up: leaves the queue and returns the message, or `None` if it was sent or returned.
    ///
    /// ```
    /// use mainspring_sync::channel;
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    ///
    /// let (tx, _rx) = channel::bounded(1);
    /// tx.try_send("first").unwrap();
    /// let mut send = pin!(tx.send("second"));
    /// assert!(send.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// assert_eq!(send.as_mut().take(), Some("second"));
    /// ```
    #[must_use = "the message is dropped here"]
    pub fn take(self: Pin<&mut Self>) -> Option<T> {
        let (ask, value) = self.split();
        let value = value.take();
        ask.leave();
        value
    }

    fn split(self: Pin<&mut Self>) -> (Pin<&mut Ask<&'a Shared<T>>>, &mut Option<T>) {
        // SAFETY: [ask.pinned] `ask` is pinned with us, the message is not.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [ask.pinned] a projection; there is no `Drop` that would move it.
        let ask = unsafe { Pin::new_unchecked(&mut this.ask) };
        (ask, &mut this.value)
    }
}

const OVER: &str = "MS0017: a `Send` was polled after its message was gone (docs/errors.md)";

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready, or after [`take`](Self::take).
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (ask, slot) = self.split();
        let value = slot.take();
        let mut value = value.expect(OVER);
        if ask.is_fresh() && !budget::is_spent() {
            value = match ask.reach().push(value) {
                Push::Done(_) => {
                    budget::consume();
                    return Poll::Ready(Ok(()));
                }
                Push::Closed(value) => return Poll::Ready(Err(SendError(value))),
                Push::Full(value) | Push::Busy(value) | Push::Queue(value) => value,
            };
        }
        // Back where a waker that panics leaves it to be dropped, or taken.
        *slot = Some(value);
        poll_queued(ask, slot, cx)
    }
}

/// Asks for room, then sends what is in `slot`. Out of line: what need not wait stays small.
#[inline(never)]
pub(crate) fn poll_queued<T>(
    mut ask: Pin<&mut Ask<&Shared<T>>>,
    slot: &mut Option<T>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), SendError<T>>> {
    let granted = match ask.as_mut().poll_queued(cx) {
        Poll::Ready(granted) => granted,
        Poll::Pending => return Poll::Pending,
    };
    let value = slot.take().expect("the message waits for its room");
    Poll::Ready(match granted {
        Ok(()) => {
            let shared = *ask.reach();
            ask.spend();
            shared.redeem(value).map_err(SendError)
        }
        Err(Closed) => Err(SendError(value)),
    })
}

impl<T> fmt::Debug for Send<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send")
            .field("channel", &self.ask.reach().shared().number())
            .field("has_message", &self.value.is_some())
            .finish_non_exhaustive()
    }
}
