//! Sending a row of messages; what was not sent comes back.

use super::Closed;
use super::ask::Ask;
use super::reach::Reach;
use super::ring::Push;
use super::send::poll_queued;
use super::shared::Shared;
use mainspring_core::budget;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The messages that were not sent: the one whose turn it was, and those after it.
///
/// An iterator over them.
pub struct Unsent<I: Iterator> {
    next: Option<I::Item>,
    rest: I,
}

impl<I: Iterator> Iterator for Unsent<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.next.take().or_else(|| self.rest.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let one = usize::from(self.next.is_some());
        let (least, most) = self.rest.size_hint();
        (
            least.saturating_add(one),
            most.and_then(|most| most.checked_add(one)),
        )
    }
}

impl<I: Iterator> fmt::Debug for Unsent<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsent")
            .field("size_hint", &self.size_hint())
            .finish_non_exhaustive()
    }
}

/// The channel was closed before all messages were sent.
pub struct SendManyError<I: Iterator> {
    /// How many were sent.
    pub sent: usize,
    /// Those that were not.
    pub unsent: Unsent<I>,
}

impl<I: Iterator> SendManyError<I> {
    /// Whether the same call may succeed later: no.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl<I: Iterator> fmt::Debug for SendManyError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendManyError")
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

impl<I: Iterator> fmt::Display for SendManyError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the channel was closed after {} messages", self.sent)
    }
}

impl<I: Iterator> Error for SendManyError<I> {}

/// The future of [`Sender::send_many`](super::Sender::send_many).
///
/// # Cancel safety
///
/// *Loses value*: the messages that were not sent are dropped with it, unless
/// [`take`](Self::take) gets them back first. Those that were sent stay sent.
#[must_use = "futures do nothing unless polled"]
pub struct SendMany<'a, I: Iterator> {
    ask: Ask<&'a Shared<I::Item>>,
    next: Option<I::Item>,
    /// `None`: it is done.
    rest: Option<I>,
    sent: usize,
}

impl<'a, I: Iterator> SendMany<'a, I> {
    pub(crate) fn new(shared: &'a Shared<I::Item>, messages: I) -> Self {
        Self {
            ask: Ask::new(shared),
            next: None,
            rest: Some(messages),
            sent: 0,
        }
    }

    /// How many messages were sent so far.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// Gives up: leaves the queue and returns the messages that were not sent, or `None` if it was
    /// ready.
    #[must_use = "the messages are dropped here"]
    pub fn take(self: Pin<&mut Self>) -> Option<Unsent<I>> {
        // SAFETY: [ask.pinned] `ask` is pinned with us, the messages are not.
        let this = unsafe { self.get_unchecked_mut() };
        let unsent = this.unsent();
        // SAFETY: [ask.pinned] a projection; there is no `Drop` that would move it.
        unsafe { Pin::new_unchecked(&mut this.ask) }.leave();
        unsent
    }

    fn unsent(&mut self) -> Option<Unsent<I>> {
        let rest = self.rest.take()?;
        let next = self.next.take();
        Some(Unsent { next, rest })
    }

    /// Sends the next message. Under a spent budget it asks for room all the same, and yields.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        // SAFETY: [ask.pinned] `poll` got us pinned; there is no `Drop` that would move it.
        let mut ask = unsafe { Pin::new_unchecked(&mut self.ask) };
        if ask.is_fresh() && !budget::is_spent() {
            let value = self.next.take().expect("there is a message");
            match ask.reach().push(value) {
                Push::Done(_) => {
                    ask.as_mut().begin_anew();
                    budget::consume();
                    return Poll::Ready(Ok(()));
                }
                Push::Closed(value) => {
                    self.next = Some(value);
                    return Poll::Ready(Err(Closed));
                }
                Push::Full(value) | Push::Busy(value) | Push::Queue(value) => {
                    self.next = Some(value);
                }
            }
        }
        poll_queued(ask, &mut self.next, cx).map(|sent| {
            sent.map_err(|refused| {
                self.next = Some(refused.0);
                Closed
            })
        })
    }
}

const OVER: &str = "MS0017: a `SendMany` was polled after its messages were gone (docs/errors.md)";

impl<I: Iterator> Future for SendMany<'_, I> {
    type Output = Result<usize, SendManyError<I>>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready, or after [`take`](Self::take).
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [ask.pinned] `ask` is pinned with us, the messages are not.
        let this = unsafe { self.get_unchecked_mut() };
        loop {
            let rest = this.rest.as_mut();
            let rest = rest.expect(OVER);
            if this.next.is_none() {
                this.next = rest.next();
            }
            if this.next.is_none() {
                this.rest = None;
                return Poll::Ready(Ok(this.sent));
            }
            match this.poll_next(cx) {
                Poll::Ready(Ok(())) => this.sent += 1,
                Poll::Ready(Err(Closed)) => {
                    let sent = this.sent;
                    let unsent = this.unsent().expect("there are messages");
                    return Poll::Ready(Err(SendManyError { sent, unsent }));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<I: Iterator> fmt::Debug for SendMany<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendMany")
            .field("channel", &self.ask.reach().shared().number())
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}
