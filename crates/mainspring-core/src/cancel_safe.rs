//! Which futures may be dropped before they are ready without losing anything.
//!
//! A future that lost a race is dropped wherever it was. [`CancelSafe`] marks those for which that
//! costs nothing; a `select!` that demands it turns a lost message into a compile error.
//!
//! # Invariants
//!
//! - **cancel-safe.pinned** — the future inside [`AssertCancelSafe`] is pinned structurally.

use crate::budget::Unconstrained;
use crate::time::Sleep;
use std::future::{Future, Pending};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that loses no value and no byte when it is dropped before it is ready.
///
/// Implement it for a future of your own whose state, if it is dropped, is kept by something else:
/// the channel that still has the message, the socket that still has the bytes. Do not implement it
/// for one that owns what it is working on, such as a `send(value)`, and not for `&mut F`: dropping
/// the reference leaves the future as it is, which is more than this trait says.
///
/// It may lose its *place*, a position in a fair queue: then it says so with
/// [`KEEPS_PLACE`](Self::KEEPS_PLACE), and waits its turn again next time.
///
/// ```
/// use mainspring_core::cancel_safe::{CancelSafe, assert_cancel_safe};
/// use mainspring_core::time::sleep;
///
/// fn race<A: CancelSafe, B: CancelSafe>(_: A, _: B) { /* drops the loser */ }
///
/// let fetch = async { 7 }; // an async block says nothing about itself
/// race(sleep(std::time::Duration::from_secs(1)), assert_cancel_safe(fetch));
/// ```
#[diagnostic::on_unimplemented(
    message = "dropping `{Self}` before it is ready may lose something",
    label = "not known to be cancel safe",
    note = "keep it across iterations and poll `&mut` it, spawn it, or use the form of the \
            operation that keeps its progress elsewhere (`reserve` for `send`)",
    note = "if dropping it costs nothing, vouch for it: `assert_cancel_safe(future)`"
)]
pub trait CancelSafe: Future {
    /// Whether a new future of the same kind continues where the dropped one was. `false`: it joins
    /// the queue at its end.
    const KEEPS_PLACE: bool = true;
}

impl<F: CancelSafe + ?Sized> CancelSafe for Pin<Box<F>> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl<F: CancelSafe + Unpin + ?Sized> CancelSafe for Box<F> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl<F: CancelSafe> CancelSafe for Unconstrained<F> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl CancelSafe for Sleep {}

impl<T> CancelSafe for Pending<T> {}

/// Vouches that `future` loses nothing when it is dropped before it is ready.
///
/// For a future whose type does not say so, an `async` block above all. Nothing checks the claim;
/// it stands where a reader can find it.
///
/// # Cancel safety
///
/// *Safe*, by the caller's word.
pub fn assert_cancel_safe<F: Future>(future: F) -> AssertCancelSafe<F> {
    AssertCancelSafe { future }
}

/// The future of [`assert_cancel_safe`].
///
/// # Cancel safety
///
/// *Safe*, by its maker's word.
#[derive(Clone, Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AssertCancelSafe<F> {
    future: F,
}

impl<F: Future> CancelSafe for AssertCancelSafe<F> {}

impl<F: Future> Future for AssertCancelSafe<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: [cancel-safe.pinned] structural pinning of the only field: it is never moved out
        // of, there is no `Drop`, and the wrapper is `Unpin` exactly when `F` is.
        unsafe { self.map_unchecked_mut(|this| &mut this.future) }.poll(cx)
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
