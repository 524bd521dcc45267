//! The first of two futures.
//!
//! # Invariants
//!
//! - **select.pinned** — both futures are pinned with the one around them.

use mainspring_core::{CancelSafe, random};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What one of two gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Either<A, B> {
    /// The first.
    First(A),
    /// The second.
    Second(B),
}

/// Waits for whichever of two futures is ready first. The other one is dropped with the future that
/// this returns, and therefore both have to be [`CancelSafe`]: what they might have lost is a
/// compile error.
///
/// Which one a poll looks at first is drawn from `mainspring_core::random`, so that one that is
/// always ready does not keep the other from its turn; [`biased`](Select2::biased) looks at the
/// first one first. To wait for both take [`join2`](crate::join2).
///
/// ```
/// use mainspring_cancel::{CancelToken, Either, Reason, select2};
/// use mainspring_core::time::sleep;
/// use std::time::Duration;
///
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// let token = CancelToken::new();
/// token.cancel(Reason::requested());
/// let mut first = pin!(select2(token.cancelled(), sleep(Duration::from_secs(1))));
/// # let mut cx = Context::from_waker(Waker::noop());
/// let found = first.as_mut().poll(&mut cx); // or `.await`
/// assert!(matches!(found, Poll::Ready(Either::First(_))));
/// ```
///
/// A future that says nothing about itself is refused: vouch for it with
/// `mainspring_core::assert_cancel_safe`, if dropping it costs nothing.
///
/// ```compile_fail,E0277
/// use mainspring_cancel::{CancelToken, select2};
///
/// let token = CancelToken::new();
/// let message = async { 7 };
/// let _ = select2(token.cancelled(), message);
/// ```
///
/// # Cancel safety
///
/// *Safe*: both are. It keeps its place if both do.
///
/// # Complexity
///
/// Allocates nothing. A poll polls both, unless the one that is looked at first is ready.
pub fn select2<A: CancelSafe, B: CancelSafe>(first: A, second: B) -> Select2<A, B> {
    Select2 {
        first,
        second,
        is_biased: false,
        is_over: false,
    }
}

/// The future of [`select2`].
///
/// # Cancel safety
///
/// *Safe*: both futures are.
///
/// # Panics
///
/// With `MS0017` when it is polled after its end.
#[must_use = "futures do nothing unless polled"]
pub struct Select2<A, B> {
    first: A,
    second: B,
    is_biased: bool,
    is_over: bool,
}

impl<A, B> Select2<A, B> {
    /// Looks at the first future first, in every poll.
    pub fn biased(mut self) -> Self {
        self.is_biased = true;
        self
    }
}

impl<A: CancelSafe, B: CancelSafe> Future for Select2<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [select.pinned] nothing is moved out of the two that are pinned below.
        let this = unsafe { self.get_unchecked_mut() };
        assert!(
            !this.is_over,
            "MS0017: a `select2` was polled after its end"
        );
        // SAFETY: [select.pinned] pinned as long as `self` is, and dropped in place.
        let first = unsafe { Pin::new_unchecked(&mut this.first) };
        // SAFETY: [select.pinned] as above.
        let second = unsafe { Pin::new_unchecked(&mut this.second) };
        let is_first_first = this.is_biased || random::below(2) == 0;
        let found = if is_first_first {
            match first.poll(cx) {
                Poll::Ready(found) => Poll::Ready(Either::First(found)),
                Poll::Pending => second.poll(cx).map(Either::Second),
            }
        } else {
            match second.poll(cx) {
                Poll::Ready(found) => Poll::Ready(Either::Second(found)),
                Poll::Pending => first.poll(cx).map(Either::First),
            }
        };
        this.is_over = found.is_ready();
        found
    }
}

impl<A: CancelSafe, B: CancelSafe> CancelSafe for Select2<A, B> {
    const KEEPS_PLACE: bool = A::KEEPS_PLACE && B::KEEPS_PLACE;
}

impl<A, B> fmt::Debug for Select2<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select2")
            .field("is_biased", &self.is_biased)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
