//! The one future that waits for a moment.
//!
//! # Invariants
//!
//! - **sleep.never-early** — it completes only when its timers fired it for this deadline, or when
//!   a clock was read that says the deadline has come.
//! - **sleep.lazy** — until its first poll it is registered nowhere: making, resetting and dropping
//!   it then takes no lock.
//! - **sleep.budget** — with its poll's budget spent it yields once at most; polled again, it
//!   completes when its moment has come, so that a neighbour that always spends the budget first
//!   cannot keep it from being noticed.
//! - **sleep.pinned** — the entry is pinned with the sleep.

use super::{
    Nanos, OnRegister, Phase, TimerClass, TimerEntry, TimersRef, clock, current_timers,
    duration_ns, fallback,
};
use crate::budget;
use crate::poll;
use crate::wait::{self, WaitKind};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Waits for `duration`, counted from this call by the current clock.
///
/// Use it for pauses and, with a combinator, for limits. For something that is to happen
/// periodically an interval is better: it does not add up what the code between two waits takes.
///
/// # Cancel safety
///
/// *Safe*: dropping it leaves nothing behind.
///
/// # Guarantees
///
/// Never early. Late by at most the tick and one turn of the timers it registers with (65.5 µs and
/// a driver's turn for a worker's wheel; none for the fallback thread), and by what the operating
/// system takes to wake the thread.
/// `Duration::MAX` waits for ever; a duration of zero completes at the first poll that has budget.
///
/// Allocates nothing. 80 bytes in the future that waits.
///
/// ```
/// use mainspring_core::time::{now, sleep};
/// use std::time::Duration;
///
/// # use mainspring_core::park::Parker;
/// # use std::{pin::pin, sync::Arc, task::Context};
/// # fn block_on(future: impl Future<Output = ()>) {
/// #     let parker = Parker::new();
/// #     let waker = Arc::new(parker.unparker()).into();
/// #     let mut future = pin!(future);
/// #     while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
/// #         parker.park();
/// #     }
/// # }
/// let start = now();
/// block_on(async {
///     sleep(Duration::from_millis(2)).await; // on any executor
/// });
/// assert!(now().since(start) >= Duration::from_millis(2));
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    let start = if duration.is_zero() {
        clock::coarse()
    } else {
        clock::now()
    };
    Sleep::until(start.saturating_add(duration))
}

/// Waits until `instant`. As [`sleep`] in everything else.
///
/// # Cancel safety
///
/// *Safe*: dropping it leaves nothing behind.
///
/// ```
/// use mainspring_core::time::sleep_until;
/// use std::time::{Duration, Instant};
///
/// let soon = Instant::now() + Duration::from_millis(3);
/// assert_eq!(sleep_until(soon).deadline(), Some(soon));
/// ```
pub fn sleep_until(instant: Instant) -> Sleep {
    Sleep::until(Nanos::from_instant(instant))
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// It registers at its first pending poll, with the timers of the thread that polls it; where
/// there are none, with the one fallback timer thread of the process. It stays with those until it
/// fires or is [`reset`](Self::reset) elsewhere, wherever its task moves. Once complete it stays
/// so, until it is reset.
///
/// If the system refuses to start the fallback thread, the sleep polls the clock itself: it wakes
/// its task at every poll, which costs a processor and is never early, until the thread can be
/// started or the moment comes. If the timers it is registered with shut down, it is woken and
/// registers anew.
///
/// # Cancel safety
///
/// *Safe*: dropping it leaves nothing behind.
///
/// # Trade-offs
///
/// 80 bytes. Never polled it costs no lock; then one short lock of its shard to register and one
/// to be dropped before it fires.
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    entry: TimerEntry,
    deadline: Nanos,
    slack_ns: u64,
    /// The one yield for a spent budget has been made since the last reset.
    has_yielded: bool,
}

#[cfg(all(
    target_pointer_width = "64",
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
const _: () = assert!(size_of::<Sleep>() <= 96);

impl Sleep {
    /// Waits until `deadline` on the process-wide scale.
    pub fn until(deadline: Nanos) -> Self {
        let entry = TimerEntry::new(TimerClass::Normal);
        debug_assert!(
            entry.registered_with().is_none(),
            "sleep.lazy: registered unpolled"
        );
        Self {
            entry,
            deadline,
            slack_ns: 0,
            has_yielded: false,
        }
    }

    /// Fires as exactly as the operating system's timers wake the thread, at the price of a heap
    /// operation instead of a wheel's.
    ///
    /// For the few waits whose microseconds count: pacing, audio, measurements.
    pub fn precise(mut self) -> Self {
        self.entry.set_class(TimerClass::Precise);
        self
    }

    /// May fire up to `slack` late, at a moment that neighbours are likely to share.
    ///
    /// For the many waits that need no exactness, such as keep-alives: fewer wake-ups, less power.
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack_ns = duration_ns(slack);
        self
    }

    /// When it completes, slack not counted; `None` if that is never, or if the platform's instants
    /// do not reach so far.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        (self.deadline != Nanos::MAX).then(|| self.deadline.to_instant())?
    }

    /// When it completes on the process-wide scale, slack not counted; [`Nanos::MAX`] is never.
    #[must_use]
    pub fn deadline_nanos(&self) -> Nanos {
        self.deadline
    }

    /// Whether its moment has come. May read the clock.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.entry.phase() == Phase::Fired || self.has_come(clock::now())
    }

    /// Waits until `instant` instead, whether it has completed or not.
    ///
    /// A later deadline costs one atomic operation, which is what makes idle timeouts cheap; an
    /// earlier one, or a reset under another worker than it registered with, takes locks one after
    /// the other. A sleep that was never polled is only told the new moment.
    ///
    /// ```
    /// use mainspring_core::time::sleep;
    /// use std::{pin::pin, time::{Duration, Instant}};
    ///
    /// let mut idle = pin!(sleep(Duration::from_secs(30)));
    /// // .. a byte came in:
    /// let later = Instant::now() + Duration::from_secs(30);
    /// idle.as_mut().reset(later);
    /// assert_eq!(idle.deadline(), Some(later));
    /// ```
    pub fn reset(self: Pin<&mut Self>, instant: Instant) {
        self.reset_nanos(Nanos::from_instant(instant));
    }

    /// [`reset`](Self::reset) to a moment on the process-wide scale.
    pub fn reset_nanos(mut self: Pin<&mut Self>, deadline: Nanos) {
        let this = self.as_mut().fields();
        *this.deadline = deadline;
        *this.has_yielded = false;
        let place = coalesced(deadline, *this.slack_ns);
        this.entry.reset(current_timers(), place);
    }

    /// Whether it has completed, without a look at the budget: for combinators that count the unit
    /// themselves. Registers as [`Future::poll`] does.
    pub fn poll_elapsed(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let phase = self.as_mut().fields().entry.poll(cx.waker());
        match phase {
            Phase::Fired => Poll::Ready(()),
            Phase::Armed(_) => self.poll_armed(),
            Phase::Idle => self.poll_idle(cx.waker()),
        }
    }

    /// The timers may be late, on a thread that is stuck: the turn's clock is a load away.
    fn poll_armed(self: Pin<&mut Self>) -> Poll<()> {
        if self.has_come(poll::turn_now()) {
            self.fields().entry.disarm();
            return Poll::Ready(());
        }
        self.note();
        Poll::Pending
    }

    fn poll_idle(mut self: Pin<&mut Self>, waker: &Waker) -> Poll<()> {
        if self.has_come(clock::coarse()) {
            return Poll::Ready(());
        }
        self.note();
        if let Some(timers) = current_timers() {
            if let OnRegister::Armed = self.as_mut().register(timers, waker) {
                return Poll::Pending;
            }
        }
        if let OnRegister::Refused(waker) = self.register(fallback::timers(), waker) {
            poll::note_yield();
            waker.wake();
        }
        Poll::Pending
    }

    fn register(self: Pin<&mut Self>, timers: TimersRef, waker: &Waker) -> OnRegister {
        let this = self.fields();
        let place = coalesced(*this.deadline, *this.slack_ns);
        debug_assert!(
            place >= *this.deadline,
            "sleep.never-early: slack went back"
        );
        this.entry.arm(timers, place, waker)
    }

    fn has_come(&self, now: Nanos) -> bool {
        self.deadline <= now && self.deadline != Nanos::MAX
    }

    fn note(&self) {
        wait::note(WaitKind::Timer, self.deadline.0);
    }

    fn fields(self: Pin<&mut Self>) -> Fields<'_> {
        // SAFETY: [sleep.pinned] the entry, the one field that needs it, is pinned again at once,
        // and nothing is moved out of the others.
        let this = unsafe { self.get_unchecked_mut() };
        Fields {
            // SAFETY: [sleep.pinned] the sleep is pinned, and so is what it contains: it has no
            // `Drop` that moves it, and it is not `Unpin`.
            entry: unsafe { Pin::new_unchecked(&mut this.entry) },
            deadline: &mut this.deadline,
            slack_ns: &this.slack_ns,
            has_yielded: &mut this.has_yielded,
        }
    }
}

/// The parts of a pinned [`Sleep`].
struct Fields<'a> {
    entry: Pin<&'a mut TimerEntry>,
    deadline: &'a mut Nanos,
    slack_ns: &'a u64,
    has_yielded: &'a mut bool,
}

/// The moment in `[deadline, deadline + slack]` with the most trailing zero bits. Whoever has slack
/// finds the same few moments.
fn coalesced(deadline: Nanos, slack_ns: u64) -> Nanos {
    let latest = deadline.0.saturating_add(slack_ns);
    if slack_ns == 0 || deadline.0 == 0 || latest == u64::MAX {
        return deadline;
    }
    // Just before the first candidate and at the last, the bits above the highest one that differs
    // are the same; there, the last has a one. Clearing what is below it stays after the first.
    let highest = 63 - ((deadline.0 - 1) ^ latest).leading_zeros();
    Nanos(latest & (u64::MAX << highest))
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let ready = self.as_mut().poll_elapsed(cx);
        if ready.is_pending() {
            return ready;
        }
        if budget::is_spent() && !self.has_yielded {
            *self.as_mut().fields().has_yielded = true;
            debug_assert!(self.has_yielded, "sleep.budget: would yield again");
            return budget::poll_proceed(cx).map(drop);
        }
        budget::consume();
        ready
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline)
            .field("class", &self.entry.class())
            .field("phase", &self.entry.phase())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
