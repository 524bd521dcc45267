//! Virtual time for tests: pause the clock, and let it jump from deadline to deadline.
//!
//! On a thread that drives a [`TimerDriver`](crate::TimerDriver), [`pause`] freezes [`time::now`].
//! From then on no driver of the executor waits for deadlines: when the executor has nothing left
//! to do and would wait, the clock moves to the next deadline at once. A test of an hour's timeouts
//! takes microseconds and gives the same times whenever it runs.
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
//! # Several workers
//!
//! The threads of an executor have one clock, which stops and runs for all of them, whichever calls
//! [`pause`] or [`resume`], a worker's task or the future of a `block_on`. It moves when every one
//! of them would wait, and to the earliest deadline of all. Before it does, each looks once more at
//! its own sockets: a byte that one worker has sent to another is read before time goes on. Each
//! move of the clock costs a call of every worker.
//!
//! A pool of ours shares its clock from the start. Whoever starts the threads makes a
//! [`Domain`](time::Domain) and enters it on each of them where the thread's driver is made.
//! Threads inside `Executor::run`, whose drivers are made by the caller, have a clock each unless
//! that is done. Two runtimes in one process have two clocks.
//!
//! # Limits
//!
//! - What runs on other threads, those of blocking jobs for one, sees the real time.
//! - I/O in flight does not hold the clock: a reply that is a microsecond away comes after every
//!   timeout. Take a [`ClockHold`] while real work outside is awaited. A blocking job of the
//!   executor does hold it, from its submission until whoever waits for it was told, also one that
//!   is abandonable: a name that is looked up, or standard input.
//! - A wake from a thread outside that has not returned may be overtaken by the clock.
//! - A task that blocks its worker's thread keeps the clock for as long.
//! - Sleeps that were armed before the pause keep their tick of 65.5 µs; later ones are exact.
//! - `std::time::Instant::now` is not ours to freeze: compare [`time::now`].
//!
//! # Invariants
//!
//! - **clock.held** — while a [`ClockHold`] lives, the clock moves only as far as [`advance`]
//!   asked.
//! - **clock.scoped** — when the last driver of a thread is gone, its own clock is the real one
//!   again; a thread that leaves an executor has left its clock.

use crate::judge::Judge;
use crate::place;
use mainspring_core::time::{self, Sleep};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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

/// Stops the clock of this thread's executor, on all of its threads. Pausing twice is pausing once.
///
/// Whatever comes after the call reads the time at which the clock stands.
///
/// # Errors
///
/// If this thread drives no [`TimerDriver`](crate::TimerDriver).
pub fn pause() -> Result<(), NoDriver> {
    let domain = place::current().ok_or(NoDriver)?;
    place::follow(&domain);
    Judge::of(&domain).pause(&domain, place::thread_number());
    Ok(())
}

/// Lets the clock of this thread's executor run again, from the time at which it stands. Does
/// nothing if it runs.
///
/// The clock keeps its distance from the real one until the executor, or the driver of this thread,
/// is gone.
pub fn resume() {
    // Where there is no driver any more, nothing is paused.
    if let Some(domain) = place::current() {
        Judge::of(&domain).resume(&domain);
    }
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
    if let Some(domain) = place::current() {
        Judge::of(&domain).grant(target);
    }
    Sleep::until(target).precise().await;
}

/// Keeps the paused clock of the executor on whose thread it was taken from moving by itself.
///
/// Take one while something outside is awaited that the clock does not know: a child process, a
/// socket, a thread of your own. [`advance`] moves the clock nevertheless. It may be dropped on any
/// thread; what that thread has done before is seen before the clock moves.
#[must_use = "the clock moves again when the hold is dropped"]
pub struct ClockHold {
    judge: Arc<Judge>,
}

impl ClockHold {
    /// Holds the clock of this thread's executor.
    ///
    /// # Errors
    ///
    /// If this thread drives no [`TimerDriver`](crate::TimerDriver).
    pub fn take() -> Result<Self, NoDriver> {
        let domain = place::current().ok_or(NoDriver)?;
        let judge = Judge::of(&domain);
        judge.hold();
        Ok(Self { judge })
    }
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        // CLAIM: [clock.held] the last one calls those who wait for it.
        self.judge.release();
    }
}

impl fmt::Debug for ClockHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockHold").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
