//! Ticks at a fixed period, which do not drift.
//!
//! # Invariants
//!
//! - **interval.grid** — a tick that was not missed is followed by one exactly a period later,
//!   counted from its deadline and not from when it was noticed.
//! - **interval.saturates** — a deadline beyond the end of time never comes; no arithmetic panics.

use futures_core::Stream;
use mainspring_core::CancelSafe;
use mainspring_core::time::{Nanos, Sleep, now};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// What an [`Interval`] does about ticks that came and went before they were asked for.
///
/// A tick is missed when the one after it has come as well. With a period of 10 and a pause until
/// 35 after the tick at 0:
///
/// ```text
/// Burst   0 ........ 10,20,30 (at 35)  40  50    every tick, late ones at once
/// Delay   0 ........ 10       (at 35)  45  55    the grid starts anew
/// Skip    0 ........ 10       (at 35)  40  50    missed ones are left out, the grid stays
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTick {
    /// Make up for every one, without waiting: for what counts ticks.
    #[default]
    Burst,
    /// Wait a full period after the late tick: for what must never come twice in a short time.
    Delay,
    /// Go on at the next multiple of the period: for what follows a clock on the wall.
    Skip,
}

impl MissedTick {
    /// The deadline after `deadline`, whose tick was noticed at `now`.
    fn next(self, deadline: Nanos, now: Nanos, period_ns: u64) -> Nanos {
        let period = Duration::from_nanos(period_ns);
        let following = deadline.saturating_add(period);
        if following > now || following == Nanos::MAX {
            return following;
        }
        match self {
            Self::Burst => following,
            Self::Delay => now.saturating_add(period),
            Self::Skip => {
                // Not before `deadline`, not after `now`: only the last addition can overflow.
                let since_tick_ns = (now.0 - deadline.0) % period_ns;
                let next = Nanos(now.0 - since_tick_ns).saturating_add(period);
                debug_assert!(
                    next > now || next == Nanos::MAX,
                    "interval.saturates: {next} has come at {now}"
                );
                next
            }
        }
    }
}

/// Ticks every `period`, for the first time at once.
///
/// Use it for what is to happen regularly. A loop around [`sleep`](crate::sleep) drifts by what its
/// body takes; this does not.
///
/// A period of zero counts as one nanosecond. One allocation.
///
/// ```
/// use mainspring_core::driver::{Driver, ThreadDriver, Until};
/// use mainspring_timer::{TimerDriver, interval};
/// use std::{pin::pin, task::{Context, Poll, Waker}, time::Duration};
///
/// let mut driver = TimerDriver::new(ThreadDriver::new());
/// let entered = driver.handle().enter();
/// let period = Duration::from_millis(2);
/// let mut interval = interval(period);
/// let mut two = pin!(async { (interval.tick().await, interval.tick().await) });
/// let mut cx = Context::from_waker(Waker::noop());
/// let (first, second) = loop {
///     match two.as_mut().poll(&mut cx) {
///         Poll::Ready(ticks) => break ticks,
///         Poll::Pending => drop(driver.park(Until::Forever)?),
///     }
/// };
/// assert_eq!(second - first, period);
/// # drop(entered);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn interval(period: Duration) -> Interval {
    Interval::new(now(), period)
}

/// Ticks at `start` and then every `period`. As [`interval`] in everything else.
///
/// ```
/// use mainspring_timer::{MissedTick, interval_at};
/// use std::time::{Duration, Instant};
///
/// let period = Duration::from_secs(60);
/// let reports = interval_at(Instant::now() + period, period).missed_tick(MissedTick::Skip);
/// assert_eq!(reports.period(), period);
/// ```
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval::new(Nanos::from_instant(start), period)
}

/// Periodic ticks; made by [`interval`] and [`interval_at`]. Also a [`Stream`], which never ends.
///
/// # Trade-offs
///
/// One allocation when it is made, so that it can be moved between ticks. After each tick one timer
/// is armed anew, in O(1).
#[must_use = "an interval does nothing unless its ticks are awaited"]
pub struct Interval {
    sleep: Pin<Box<Sleep>>,
    period_ns: u64,
    missed: MissedTick,
}

impl Interval {
    fn new(start: Nanos, period: Duration) -> Self {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        Self {
            sleep: Box::pin(Sleep::until(start)),
            period_ns: period_ns.max(1),
            missed: MissedTick::Burst,
        }
    }

    /// Another answer to missed ticks than [`MissedTick::Burst`].
    pub fn missed_tick(mut self, missed: MissedTick) -> Self {
        self.missed = missed;
        self
    }

    /// The time between two ticks.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// Waits for the next tick and returns when it was due.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: a tick is consumed only when it is returned.
    pub fn tick(&mut self) -> NextTick<'_> {
        NextTick { interval: self }
    }

    /// Polls for the next tick.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.sleep.as_mut().poll(cx));
        let due = self.sleep.deadline_nanos();
        let now = now();
        let next = self.missed.next(due, now, self.period_ns);
        debug_assert!(next > due, "interval.grid: the next tick is not later");
        self.sleep.as_mut().reset_nanos(next);
        // A moment that has come can be said as an instant; the fallback never is.
        Poll::Ready(due.to_instant().unwrap_or_else(Instant::now))
    }

    /// The next tick comes one period from now.
    pub fn reset(&mut self) {
        let next = now().saturating_add(self.period());
        self.sleep.as_mut().reset_nanos(next);
    }

    /// The next tick comes at `instant`, and the following ones on the grid from there.
    pub fn reset_at(&mut self, instant: Instant) {
        self.sleep.as_mut().reset(instant);
    }
}

/// The future of [`Interval::tick`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing but the borrow.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct NextTick<'a> {
    interval: &'a mut Interval,
}

impl CancelSafe for NextTick<'_> {}

impl Future for NextTick<'_> {
    type Output = Instant;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        self.interval.poll_tick(cx)
    }
}

impl Stream for Interval {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("next", &self.sleep.deadline_nanos())
            .field("period", &self.period())
            .field("missed", &self.missed)
            .finish()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
