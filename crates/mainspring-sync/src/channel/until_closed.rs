//! Waiting for the end.

use super::reach::ToClosed;
use super::shared::Shared;
use mainspring_core::CancelSafe;
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::Waiter;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of [`Sender::closed`](super::Sender::closed).
///
/// # Cancel safety
///
/// *Safe*: a channel that is closed stays so.
#[must_use = "futures do nothing unless polled"]
pub struct UntilClosed<'a, T> {
    waiter: Waiter<ToClosed<&'a Shared<T>>>,
}

impl<'a, T> UntilClosed<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            waiter: Waiter::new(ToClosed(shared), ()),
        }
    }
}

impl<T> Future for UntilClosed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Poll::Ready(unit) = budget::poll_proceed(cx) else {
            // There is no queue to lose a place in.
            return Poll::Pending;
        };
        // SAFETY: [channel.waits] a projection of the only field; there is no `Drop`.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.waiter) };
        let shared = waiter.holder().0;
        let look = waiter.poll_wait(cx, |_, (), _| shared.words().is_closed().then_some(()));
        if look.is_ready() {
            unit.spend();
        } else {
            wait::note(WaitKind::Notify, shared.number());
        }
        look
    }
}

impl<T> CancelSafe for UntilClosed<'_, T> {}

impl<T> fmt::Debug for UntilClosed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilClosed")
            .field("channel", &self.waiter.holder().0.number())
            .finish()
    }
}
