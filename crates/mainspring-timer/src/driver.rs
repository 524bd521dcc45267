//! The driver that gives any other driver timers.
//!
//! # Invariants
//!
//! - **timer-driver.capped** — the driver inside never waits longer than until the next deadline,
//!   and what it is told was said to the shard in the critical section that computed it.
//! - **timer-driver.idle** — paused time moves only when nothing was woken in the turn, nobody
//!   unparked the driver since the last one, and the executor would wait.

use crate::clock::{self, Driven};
use crate::shard::{Lease, Share};
use crate::turn;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use mainspring_core::time::{self, Nanos};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

/// Adds timers to the driver it wraps: whoever parks on it wakes for the next deadline, too.
///
/// One for each worker, around its reactor, or around core's
/// [`ThreadDriver`](mainspring_core::driver::ThreadDriver) where there is no I/O. Sleeps that are
/// first polled on a thread that has [entered](DriverHandle::enter) the handle register here.
///
/// # Guarantees
///
/// - A normal sleep fires within one tick of 65.5 µs after its deadline plus the turn under way and
///   what waking the thread takes, a precise one as exactly as the wrapped driver waits.
/// - At most 32 entries are fired or moved while the lock of the worker's timers is held. A turn
///   handles a backlog of any size, but not what its own wakers add.
/// - Arming a timer wakes a sleeping driver only if it would sleep past the new deadline.
/// - Dropping the driver wakes every sleep that is registered with it; polled again, they register
///   with the timers that are current there.
///
/// # Trade-offs
///
/// Two short locks a turn, uncontended unless another thread arms, resets or drops timers of this
/// worker. 12.5 KiB for the wheel, which the next driver uses again. Nothing is allocated for a
/// normal sleep; the heap of the precise ones grows by 40 bytes each.
///
/// ```
/// use mainspring_core::driver::{Driver, ThreadDriver, Until};
/// use mainspring_core::time::sleep;
/// use mainspring_timer::TimerDriver;
/// use std::{pin::pin, task::{Context, Waker}, time::Duration};
///
/// let mut driver = TimerDriver::new(ThreadDriver::new());
/// let entered = driver.handle().enter();
/// let mut nap = pin!(sleep(Duration::from_millis(1)));
/// let mut cx = Context::from_waker(Waker::noop());
/// while nap.as_mut().poll(&mut cx).is_pending() {
///     let _turn = driver.park(Until::Forever)?; // returns when the nap is over
/// }
/// # drop(entered);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TimerDriver<D> {
    // Closed first: those it wakes may still want the driver inside.
    lease: Lease,
    inner: D,
    handle: Arc<Handle>,
    driven: Driven,
    /// How many unparks had been counted when the last turn began.
    seen: u64,
    one_thread: PhantomData<*const ()>,
}

struct Handle {
    share: Share,
    inner: Arc<dyn DriverHandle>,
    /// Counts unparks: paused time does not move while somebody has something to say.
    unparks: AtomicU64,
}

impl<D: Driver> TimerDriver<D> {
    /// Wraps `inner`, on the thread that is going to drive it.
    pub fn new(inner: D) -> Self {
        let below = inner.handle();
        let lease = Lease::take(Arc::clone(&below));
        let handle = Arc::new(Handle {
            share: lease.share(),
            inner: Arc::clone(&below),
            unparks: AtomicU64::new(0),
        });
        Self {
            lease,
            inner,
            handle,
            driven: Driven::new(below),
            seen: 0,
            one_thread: PhantomData,
        }
    }

    /// The wrapped driver.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// The wrapped driver.
    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    fn park_running(&mut self, until: Until) -> io::Result<Turn> {
        // CLAIM: [timer-driver.capped] what the shard was told is what the driver inside is told.
        let until = self.lease.doze(until);
        self.wait(until)
    }

    /// Parks the driver inside and fires what is due afterwards, also when that failed.
    fn wait(&mut self, until: Until) -> io::Result<Turn> {
        let turn = self.inner.park(until);
        let now = turn
            .as_ref()
            .map_or_else(|_| time::anchor(), |turn| turn.now);
        let fired = turn::run(&self.lease, now);
        turn.map(|turn| Turn {
            woken: turn.woken + fired,
            ..turn
        })
    }

    /// Looks at the outside world; if nothing is to be done, moves the paused clock to the next
    /// deadline instead of waiting for it.
    fn park_paused(&mut self, until: Until) -> io::Result<Turn> {
        let turn = self.wait(Until::Now)?;
        let unparks = self.handle.unparks.load(Relaxed);
        let is_idle = turn.woken == 0 && unparks == self.seen;
        self.seen = unparks;
        if !is_idle || until == Until::Now {
            return Ok(turn);
        }
        let next = self.lease.doze(until);
        match next {
            Until::At(moment) if self.driven.may_reach(moment) => {
                debug_assert_eq!(turn.woken, 0, "timer-driver.idle: time moves under work");
                let now = clock::move_to(moment);
                let woken = turn::run(&self.lease, now);
                Ok(Turn { now, woken })
            }
            // Paused, nobody waits for a deadline: the end of a hold unparks.
            _ => self.wait(Until::Forever),
        }
    }
}

impl<D: Driver> Driver for TimerDriver<D> {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        if clock::is_paused() {
            self.park_paused(until)
        } else {
            self.park_running(until)
        }
    }

    fn peek(&self) -> bool {
        self.inner.peek()
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::clone(&self.handle) as Arc<dyn DriverHandle>
    }
}

impl DriverHandle for Handle {
    fn enter(&self) -> Entered {
        let below = self.inner.enter();
        match self.share.timers() {
            Some(timers) => below.and(time::enter_timers(timers)),
            None => below,
        }
    }

    fn unpark(&self) {
        // Relaxed: the unpark that follows publishes it to the park that consumes it.
        self.unparks.fetch_add(1, Relaxed);
        self.inner.unpark();
    }

    fn rescue(&self, now: Nanos, limit: usize) -> usize {
        let woken = self.inner.rescue(now, limit);
        woken + turn::rescue(self.share, now, limit.saturating_sub(woken))
    }

    fn next(&self) -> Option<Nanos> {
        match (self.share.next(), self.inner.next()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn in_flight(&self) -> Option<usize> {
        self.inner.in_flight()
    }
}

impl<D: fmt::Debug> fmt::Debug for TimerDriver<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerDriver")
            .field("inner", &self.inner)
            .field("next", &self.handle.share.next())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
