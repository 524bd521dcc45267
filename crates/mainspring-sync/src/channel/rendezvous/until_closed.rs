//! Waiting for the end.

use super::meeting::{self, Table};
use mainspring_core::CancelSafe;
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{WaitList, Waiter};
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
    table: &'a Table<T>,
    waiter: Waiter<&'a WaitList<()>>,
}

impl<'a, T> UntilClosed<'a, T> {
    pub(super) fn new(table: &'a Table<T>) -> Self {
        Self {
            table,
            waiter: Waiter::new(&table.kind().closed, ()),
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
        let number = meeting::number(self.table);
        // SAFETY: [encounter.pinned] a projection of the only field that is pinned; no `Drop`.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.waiter) };
        let look = waiter.poll_wait(cx, |queue, (), _| queue.is_closed().then_some(()));
        if look.is_ready() {
            unit.spend();
        } else {
            wait::note(WaitKind::Notify, number);
        }
        look
    }
}

impl<T> CancelSafe for UntilClosed<'_, T> {}

impl<T> fmt::Debug for UntilClosed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilClosed")
            .field("channel", &meeting::number(self.table))
            .finish_non_exhaustive()
    }
}
