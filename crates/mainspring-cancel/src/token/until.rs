//! A future that ends early when a token is cancelled.
//!
//! # Invariants
//!
//! - **until-cancelled.pinned** — the future inside is pinned with the one around it.

use super::wait::Until;
use super::{CancelToken, Phase};
use crate::reason::Reason;
use mainspring_core::CancelSafe;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The token was cancelled, for this reason.
#[derive(Clone, Debug)]
pub struct Cancelled {
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cancelled: {}", self.reason)
    }
}

impl Error for Cancelled {}

/// The future of [`CancelToken::run_until_cancelled`].
///
/// # Cancel safety
///
/// That of the future inside: *safe* if that one is.
///
/// # Panics
///
/// With `MS0017` when it is polled after its end.
#[must_use = "futures do nothing unless polled"]
pub struct RunUntilCancelled<'a, F> {
    until: Until<&'a CancelToken>,
    is_over: bool,
    future: F,
}

impl<'a, F: Future> RunUntilCancelled<'a, F> {
    pub(super) fn new(token: &'a CancelToken, future: F) -> Self {
        Self {
            until: Until::new(token, Phase::Cancelling),
            is_over: false,
            future,
        }
    }
}

impl<F: Future> Future for RunUntilCancelled<'_, F> {
    type Output = Result<F::Output, Cancelled>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [until-cancelled.pinned] nothing is moved out of the two that are pinned below.
        let this = unsafe { self.get_unchecked_mut() };
        assert!(
            !this.is_over,
            "MS0017: a `run_until_cancelled` was polled after its end"
        );
        // SAFETY: [until-cancelled.pinned] pinned as long as `self` is, and dropped in place.
        let mut until = unsafe { Pin::new_unchecked(&mut this.until) };
        // SAFETY: [until-cancelled.pinned] as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        if until.as_mut().poll_reached(cx).is_ready() {
            this.is_over = true;
            let reason = this.until.token().known_reason();
            return Poll::Ready(Err(Cancelled { reason }));
        }
        let found = future.poll(cx);
        this.is_over = found.is_ready();
        found.map(Ok)
    }
}

impl<F: CancelSafe> CancelSafe for RunUntilCancelled<'_, F> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl<F> fmt::Debug for RunUntilCancelled<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunUntilCancelled")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
