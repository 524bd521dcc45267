//! Virtual time for tests: pause the clock, and let it jump from deadline to deadline.
//!
//! On a thread that drives a [`TimerDriver`](crate::TimerDriver), [`pause`] freezes
//! [`time::now`]. From then on the driver does not wait for deadlines:
//! when the executor has nothing left to do and would wait, the clock moves to the next deadline at
//! once. A test of an hour's timeouts takes microseconds and gives the same times whenever it runs.
//!
//! ```
//! use mainspring_core::driver::{Driver, ThreadDriver, Until};
//! use mainspring_core::time::{now, sleep};
//! use mainspring_timer::{TimerDriver, clock};
//! use std::{pin::pin, task::{Context, Waker}, time::Duration};
//!
//! let mut driver = TimerDriver::new(ThreadDriver::new());
//! let entered = driver.handle().enter();
//! clock::pause()?;
//! let start = now();
//! let mut long = pin!(sleep(Duration::from_secs(3600)));
//! let mut cx = Context::from_waker(Waker::noop());
//! while long.as_mut().poll(&mut cx).is_pending() {
//!     let _turn = driver.park(Until::Forever)?; // the executor has nothing else to do
//! }
//! assert_eq!(now().since(start), Duration::from_secs(3600)); // exactly
//! # drop(entered);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! - One thread: the clock of an executor with several workers cannot be paused yet. What runs on
//!   other threads sees the real time.
//! - I/O in flight does not hold the clock: a reply that is a microsecond away comes after every
//!   timeout. Take a [`ClockHold`] while real work outside is awaited.
//! - Sleeps that were armed before the pause keep their tick of 65.5 µs; later ones are exact.
//! - `std::time::Instant::now` is not ours to freeze: compare
//!   [`time::now`].
//!
//! # Invariants
//!
//! - **clock.forward** — a thread's virtual clock never goes back: not at a pause, not at a resume,
//!   not when it is moved.
//! - **clock.held** — while a [`ClockHold`] lives, the clock moves only as far as [`advance`]
//!   asked.
//! - **clock.scoped** — when the last driver of a thread is gone, its clock is the real one again.

use mainspring_core::context::Entered;
use mainspring_core::driver::DriverHandle;
use mainspring_core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use mainspring_core::sync::{Mutex, thread_local};
use mainspring_core::time::{self, Clock, Nanos, Sleep, SystemClock};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    /// Whether this thread's clock stands still.
    static PAUSED: Cell<bool> = const { Cell::new(false) };
    /// How far holds let the clock go.
    static GRANTED: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
    static THREAD: RefCell<Thread> = const { RefCell::new(Thread::NONE) };
}

/// What a thread knows about its time.
struct Thread {
    drivers: Vec<Arc<Holds>>,
    clock: Option<Virtual>,
}

impl Thread {
    const NONE: Self = Self {
        drivers: Vec::new(),
        clock: None,
    };
}

struct Virtual {
    clock: Arc<VirtualClock>,
    /// Keeps the clock current on this thread.
    _entered: Entered,
}

enum Mode {
    Frozen(Nanos),
    /// It stood at `from` when the real time was `since`.
    Running {
        from: Nanos,
        since: Nanos,
    },
}

struct VirtualClock {
    mode: Mutex<Mode>,
}

impl Clock for VirtualClock {
    fn now(&self) -> Nanos {
        self.mode.lock().now()
    }
}

impl Mode {
    fn now(&self) -> Nanos {
        match *self {
            Self::Frozen(now) => now,
            Self::Running { from, since } => from.saturating_add(SystemClock.now().since(since)),
        }
    }
}

impl VirtualClock {
    fn freeze(&self) {
        let mut mode = self.mode.lock();
        let now = mode.now();
        *mode = Mode::Frozen(now);
    }

    fn thaw(&self) {
        let mut mode = self.mode.lock();
        let now = mode.now();
        *mode = Mode::Running {
            from: now,
            since: SystemClock.now(),
        };
        debug_assert!(mode.now() >= now, "clock.forward: went back at a resume");
    }

    fn move_to(&self, moment: Nanos) -> Nanos {
        let mut mode = self.mode.lock();
        let now = mode.now().max(moment);
        debug_assert!(now >= mode.now(), "clock.forward: moved back");
        *mode = Mode::Frozen(now);
        now
    }
}

/// No timer driver runs on this thread, so there is no clock here that could be paused or held.
///
/// Call from a thread that drives a [`TimerDriver`](crate::TimerDriver): inside `block_on` of a
/// runtime on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDriver;

impl NoDriver {
    /// Whether trying again may help: no.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MS0006: no timer driver runs on this thread (docs/errors.md)")
    }
}

impl std::error::Error for NoDriver {}

/// Stops this thread's clock. Pausing twice is pausing once.
///
/// # Errors
///
/// If this thread drives no [`TimerDriver`](crate::TimerDriver).
pub fn pause() -> Result<(), NoDriver> {
    let paused = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        if thread.drivers.is_empty() {
            return Err(NoDriver);
        }
        match &thread.clock {
            Some(running) => running.clock.freeze(),
            None => thread.clock = Some(Virtual::frozen_at(time::now())),
        }
        PAUSED.with(|paused| paused.set(true));
        Ok(())
    });
    paused.unwrap_or(Err(NoDriver))
}

/// Lets this thread's clock run again, from the time at which it stands. Does nothing if it runs.
///
/// The clock keeps its distance from the real one until the driver of this thread is gone.
pub fn resume() {
    // Where the thread's own values are gone, its clock is too: nothing is paused.
    let _ = THREAD.try_with(|thread| {
        if let Some(paused) = &thread.borrow().clock {
            if PAUSED.with(|paused| paused.replace(false)) {
                paused.clock.thaw();
            }
        }
    });
}

/// Moves the paused clock by `duration`, through every deadline on the way: at each, what fires
/// runs until it waits again, and then the clock goes on.
///
/// With the clock running it waits for `duration` like a precise sleep.
///
/// # Cancel safety
///
/// *Loses place*: the clock stays where it has come to, and a new call counts from there.
pub async fn advance(duration: Duration) {
    let target = time::now().saturating_add(duration);
    GRANTED.with(|granted| granted.set(granted.get().max(target)));
    Sleep::until(target).precise().await;
}

/// Keeps the paused clock of the thread on which it was taken from moving by itself.
///
/// Take one while something outside is awaited that the clock does not know: a blocking job, a
/// child process, a socket. [`advance`] moves the clock nevertheless. It may be dropped on any
/// thread.
#[must_use = "the clock moves again when the hold is dropped"]
pub struct ClockHold {
    holds: Arc<Holds>,
}

/// The holds on one driver's clock.
struct Holds {
    count: AtomicUsize,
    driver: Arc<dyn DriverHandle>,
}

impl ClockHold {
    /// Holds this thread's clock.
    ///
    /// # Errors
    ///
    /// If this thread drives no [`TimerDriver`](crate::TimerDriver).
    pub fn take() -> Result<Self, NoDriver> {
        let holds = THREAD.try_with(|thread| thread.borrow().drivers.last().cloned());
        let holds = holds.ok().flatten().ok_or(NoDriver)?;
        holds.count.fetch_add(1, Relaxed);
        Ok(Self { holds })
    }
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        // Relaxed: the unpark publishes it to the park that consumes it.
        let before = self.holds.count.fetch_sub(1, Relaxed);
        debug_assert!(before > 0, "clock.held: released twice");
        if before == 1 {
            self.holds.driver.unpark();
        }
    }
}

impl fmt::Debug for ClockHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockHold").finish_non_exhaustive()
    }
}

impl Virtual {
    fn frozen_at(now: Nanos) -> Self {
        let clock = Arc::new(VirtualClock {
            mode: Mutex::new(Mode::Frozen(now)),
        });
        Self {
            _entered: time::enter_clock(Arc::clone(&clock) as Arc<dyn Clock>),
            clock,
        }
    }
}

/// Whether this thread's clock is paused. One load.
#[inline]
pub(crate) fn is_paused() -> bool {
    PAUSED.with(Cell::get)
}

/// Moves the paused clock forward to `moment` and returns what it says then.
pub(crate) fn move_to(moment: Nanos) -> Nanos {
    let moved = THREAD.try_with(|thread| {
        let thread = thread.borrow();
        thread
            .clock
            .as_ref()
            .map(|paused| paused.clock.move_to(moment))
    });
    moved.ok().flatten().unwrap_or_else(time::now)
}

/// That a driver lives on this thread.
pub(crate) struct Driven {
    holds: Arc<Holds>,
}

impl Driven {
    pub(crate) fn new(driver: Arc<dyn DriverHandle>) -> Self {
        let holds = Arc::new(Holds {
            count: AtomicUsize::new(0),
            driver,
        });
        // While the thread is being torn down its drivers are listed no more: they serve, and their
        // clock cannot be paused.
        let _ = THREAD.try_with(|thread| thread.borrow_mut().drivers.push(Arc::clone(&holds)));
        Self { holds }
    }

    /// Whether the paused clock may move to `moment`.
    pub(crate) fn may_reach(&self, moment: Nanos) -> bool {
        self.holds.count.load(Relaxed) == 0 || moment <= GRANTED.with(Cell::get)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // Gone if the thread is being torn down: nobody asks it for the time any more.
        let left = THREAD.try_with(|thread| {
            let mut thread = thread.borrow_mut();
            thread
                .drivers
                .retain(|other| !Arc::ptr_eq(other, &self.holds));
            if !thread.drivers.is_empty() {
                return None;
            }
            PAUSED.with(|paused| paused.set(false));
            GRANTED.with(|granted| granted.set(Nanos::ZERO));
            thread.clock.take()
        });
        // Outside the borrow: leaving drops the clock.
        drop(left);
        debug_assert!(
            !is_paused()
                || !matches!(
                    THREAD.try_with(|it| it.borrow().drivers.is_empty()),
                    Ok(true)
                ),
            "clock.scoped: paused without a driver"
        );
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
