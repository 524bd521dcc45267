//! The sink: each item is sent by way of a permit, which `poll_ready` gets.

use crate::channel::ask::Ask;
use crate::channel::sender::Sender;
use crate::channel::shared::Shared;
use crate::channel::{Closed, SendError};
use futures_sink::Sink;
use mainspring_core::sync::Arc;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A sink's place in the queue.
type Place<T> = Pin<Box<Ask<Arc<Shared<T>>>>>;

/// What a sender keeps for its use as a sink: allocated at the first `poll_ready`.
pub(crate) struct Node<T> {
    ask: Option<Place<T>>,
    /// The request holds a permit that `poll_ready` has announced.
    is_ready: bool,
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self {
            ask: None,
            is_ready: false,
        }
    }
}

impl<T> Node<T> {
    /// Gives back what it holds.
    pub(crate) fn leave(&mut self) {
        self.is_ready = false;
        self.ask = None;
    }
}

/// A sender is a sink whose items are in the channel as soon as they are sent: flushing has nothing
/// to do. Closing gives back the room that [`poll_ready`](Sink::poll_ready) got and leaves the
/// channel open, for others may send; dropping the last sender closes it.
///
/// Between `poll_ready` and `start_send` the sender holds a permit.
impl<T> Sink<T> for Sender<T> {
    type Error = SendError<Option<T>>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let this = self.get_mut();
        if this.sink.is_ready {
            return Poll::Ready(Ok(()));
        }
        let shared = Arc::clone(this.shared());
        let ask = this
            .sink
            .ask
            .get_or_insert_with(|| Box::pin(Ask::new(shared)));
        ask.as_mut().poll(cx).map(|granted| {
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
        let ask = this.sink.ask.as_mut().expect("what is ready has asked");
        ask.as_mut().spend();
        let redeemed = this.shared().redeem(item);
        redeemed.map_err(|item| SendError(Some(item)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().sink.leave();
        Poll::Ready(Ok(()))
    }
}
