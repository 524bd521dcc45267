//! The sink: each item is sent by way of a permit, which `poll_ready` gets.

use crate::channel::ask::Ask;
use crate::channel::place::Place;
use crate::channel::sender::Sender;
use crate::channel::shared::Shared;
use crate::channel::{Closed, SendError};
use futures_sink::Sink;
use mainspring_core::sync::Arc;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a sender keeps for its use as a sink: allocated at the first `poll_ready`.
pub(crate) struct Node<T> {
    ask: Place<Ask<Arc<Shared<T>>>>,
    /// The request holds a permit that `poll_ready` has announced.
    is_ready: bool,
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self {
            ask: Place::new(),
            is_ready: false,
        }
    }
}

impl<T> Node<T> {
    /// Gives back what it holds, announced or not.
    pub(crate) fn clear(&mut self) {
        self.is_ready = false;
        self.ask.clear();
    }

    /// Gives up its place, and room that was granted and not announced.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        if !self.is_ready {
            self.ask.leave();
        }
    }
}

/// A sender is a sink whose items are in the channel as soon as they are sent: flushing has nothing
/// to do. Closing gives back the room that [`poll_ready`](Sink::poll_ready) got and leaves the
/// channel open, for others may send; dropping the last sender closes it.
///
/// Between a `poll_ready` that was ready and `start_send` the sender holds a permit.
///
/// # When a send is dropped
///
/// The sink's place in the queue is the sender's own. A `send` of the futures crates, or whatever
/// else was waiting in `poll_ready`, loses its item when it is dropped and leaves the place behind;
/// room that comes is then held for this sender. Every other way to send with it gives that up
/// first, so that the sender does not wait for itself; so does closing the sink, and dropping the
/// sender.
///
/// **A sender that is put aside** after such a `send`, neither used nor closed nor dropped, holds
/// room for one message, which nobody else can have: of a channel of capacity 1 that is all. Where
/// that may happen close the sink, or send with [`Sender::send`], whose place goes with its future.
impl<T> Sink<T> for Sender<T> {
    type Error = SendError<Option<T>>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let this = self.get_mut();
        if this.sink.is_ready {
            return Poll::Ready(Ok(()));
        }
        let Sender { shared, sink } = &mut *this;
        let make = || Ask::new(Arc::clone(shared));
        let granted = sink.ask.wait(make, |ask| ask.poll(cx));
        granted.map(|granted| {
            this.sink.is_ready = granted.is_ok();
            granted.map_err(|Closed| SendError(None))
        })
    }

    /// # Errors
    ///
    /// The item, if no receiver is left.
    ///
    /// # Panics
    ///
    /// With `MS0018` if `poll_ready` was not ready before.
    fn start_send(self: Pin<&mut Self>, item: T) -> Result<(), Self::Error> {
        let this = self.get_mut();
        let is_ready = std::mem::take(&mut this.sink.is_ready);
        assert!(
            is_ready,
            "MS0018: `start_send` without a `poll_ready` that was ready (docs/errors.md)"
        );
        let Sender { shared, sink } = this;
        sink.ask.wait(|| Ask::new(Arc::clone(shared)), Ask::spend);
        let redeemed = shared.redeem(item);
        redeemed.map_err(|item| SendError(Some(item)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().sink.clear();
        Poll::Ready(Ok(()))
    }
}
