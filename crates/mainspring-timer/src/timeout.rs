//! A limit on how long a future may take.
//!
//! # Invariants
//!
//! - **timeout.future-first** — a future that is ready is never reported as elapsed, and one that
//!   is ready at its first poll arms no timer.
//! - **timeout.clock-always** — every pending poll looks at the time, also when the future has
//!   spent the budget: a future that always has something to do cannot outlive its limit.
//! - **timeout.pinned** — the future and the sleep are pinned with the timeout.

use mainspring_core::CancelSafe;
use mainspring_core::time::{Nanos, Sleep, now};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Gives `future` at most `duration`, counted from this call.
///
/// Use it around whatever waits for somebody else. It ends by dropping the future, so that has to
/// be cancel-safe, or not be needed any more. For a limit that several steps share, take one
/// instant and [`timeout_at`].
///
/// # Cancel safety
///
/// *Safe* if the future inside is, otherwise what that one is: dropping the one drops the other.
///
/// # Guarantees
///
/// The future is polled first: if it is ready and the time is over, its output counts. The limit
/// holds even if the future never lets the budget last until the clock is looked at.
/// `Duration::MAX` means no limit, zero means one poll.
///
/// Reads the clock once. Nothing is allocated; no timer is armed before the future's first pending
/// poll.
///
/// ```
/// use mainspring_timer::{Elapsed, timeout};
/// use std::{future, pin::pin, task::{Context, Poll, Waker}, time::Duration};
///
/// let mut cx = Context::from_waker(Waker::noop());
/// let ready = pin!(timeout(Duration::from_secs(1), async { 7 }));
/// assert_eq!(ready.poll(&mut cx), Poll::Ready(Ok(7)));
/// let over = pin!(timeout(Duration::ZERO, future::pending::<()>()));
/// assert_eq!(over.poll(&mut cx), Poll::Ready(Err(Elapsed)));
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        sleep: Sleep::until(now().saturating_add(duration)),
    }
}

/// Gives `future` until `instant`. As [`timeout`] in everything else.
///
/// # Cancel safety
///
/// *Safe* if the future inside is, otherwise what that one is: dropping the one drops the other.
///
/// ```
/// use mainspring_timer::timeout_at;
/// use std::time::{Duration, Instant};
///
/// let deadline = Instant::now() + Duration::from_secs(2);
/// let limited = timeout_at(deadline, async { "both steps share it" });
/// assert_eq!(limited.deadline(), Some(deadline));
/// ```
pub fn timeout_at<F: IntoFuture>(instant: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        sleep: Sleep::until(Nanos::from_instant(instant)),
    }
}

/// The future of [`timeout`] and [`timeout_at`].
///
/// # Cancel safety
///
/// *Safe* if the future inside is, otherwise what that one is: dropping the one drops the other. It
/// is [`CancelSafe`] exactly if that one is.
///
/// # Trade-offs
///
/// 80 bytes beside the future.
#[must_use = "futures do nothing unless polled"]
pub struct Timeout<F> {
    future: F,
    sleep: Sleep,
}

impl<F> Timeout<F> {
    /// When the time is over; `None` if never.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.sleep.deadline()
    }

    /// The future inside.
    pub fn inner(&self) -> &F {
        &self.future
    }

    /// The future inside.
    pub fn inner_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// Lifts the limit and gives the future back.
    pub fn into_inner(self) -> F {
        self.future
    }
}

// Elapsed, it drops the future inside just as its own drop does.
impl<F: CancelSafe> CancelSafe for Timeout<F> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [timeout.pinned] both fields are pinned again at once; nothing is moved out of
        // them, and there is no `Drop` here that would.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [timeout.pinned] a field of what is pinned; `inner_mut` and `into_inner` need a
        // timeout that is not.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        if let Poll::Ready(output) = future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // CLAIM: [timeout.clock-always] not `Sleep::poll`, which could stop at a spent budget.
        // SAFETY: [timeout.pinned] a field of what is pinned.
        let sleep = unsafe { Pin::new_unchecked(&mut this.sleep) };
        sleep.poll_elapsed(cx).map(|()| {
            debug_assert!(
                this.sleep.is_elapsed(),
                "timeout.future-first: elapsed before its time"
            );
            Err(Elapsed)
        })
    }
}

impl<F> fmt::Debug for Timeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout")
            .field("sleep", &self.sleep)
            .finish_non_exhaustive()
    }
}

/// The time was over before the future was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl Elapsed {
    /// Whether trying again may help: yes, it was only slow this time.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        true
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
