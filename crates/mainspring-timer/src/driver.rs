//! The driver that gives any other driver timers.
//!
//! # Invariants
//!
//! - **timer-driver.capped** — the driver inside never waits longer than until the next deadline,
//!   and what it is told was said to the shard in the critical section that computed it.
//! - **timer-driver.idle** — a driver falls asleep in paused time only when nothing was woken in
//!   the turn, nobody unparked it since the last one, and the executor would wait.
//! - **timer-driver.not-lost** — whoever sees that an unpark was counted sees what was written
//!   before it: a turn that returns early because of the count finds what it was unparked for.

use crate::judge::{Membership, Step, Verdict};
use crate::place::{Place, Tenancy};
use crate::shard::{Lease, Share};
use crate::turn;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use mainspring_core::time::{self, Domain, Nanos};
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
    membership: Membership,
    /// Whose time it keeps.
    domain: Domain,
    /// How many unparks had been counted when the last turn began.
    seen: u64,
    // Last: with it goes the clock.
    _tenancy: Tenancy,
    one_thread: PhantomData<*const ()>,
}

/// A driver as other threads see it.
pub(crate) struct Handle {
    share: Share,
    bell: Arc<Bell>,
    place: Place,
}

/// How a driver is unparked.
pub(crate) struct Bell {
    below: Arc<dyn DriverHandle>,
    /// Counts unparks: paused time does not move while somebody has something to say.
    unparks: AtomicU64,
    domain: Domain,
}

impl Bell {
    /// Unparks the driver.
    pub(crate) fn ring(&self) {
        self.note();
        self.call();
    }

    /// Counts an unpark, which is to follow.
    pub(crate) fn note(&self) {
        // ORDERING: [judge.told] Release, pairs with the load in `unparks`. A turn that sees the
        // count, and not yet the unpark itself, goes back to its executor, which has to find what
        // it was unparked for: the next turn takes the unpark for one that it knows of.
        self.unparks.fetch_add(1, Release);
    }

    /// Makes a park return, without having anything to say.
    pub(crate) fn call(&self) {
        self.below.unpark();
    }

    pub(crate) fn unparks(&self) -> u64 {
        // ORDERING: [judge.told] Acquire, pairs with the count in `note`.
        self.unparks.load(Acquire)
    }

    /// Whether the driver's clock stands.
    pub(crate) fn is_paused(&self) -> bool {
        self.domain.is_paused()
    }
}

impl Handle {
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }
}

impl<D: Driver> TimerDriver<D> {
    /// Wraps `inner`, on the thread that is going to drive it. It keeps the time of the
    /// [`Domain`] that is current there, or else of the thread's own.
    pub fn new(inner: D) -> Self {
        let (place, tenancy) = Place::take();
        let bell = Arc::new(Bell {
            below: inner.handle(),
            unparks: AtomicU64::new(0),
            domain: place.domain().clone(),
        });
        let domain = place.domain().clone();
        let lease = Lease::take(Arc::clone(&bell));
        let handle = Arc::new(Handle {
            share: lease.share(),
            bell,
            place,
        });
        Self {
            lease,
            inner,
            membership: Membership::new(&handle),
            handle,
            domain,
            seen: 0,
            _tenancy: tenancy,
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

    /// Looks at the outside world; if nothing is to be done, falls asleep, and takes part in moving
    /// the clock.
    fn park_paused(&mut self, until: Until) -> io::Result<Turn> {
        let turn = self.wait(Until::Now)?;
        let unparks = self.handle.bell.unparks();
        let is_idle = turn.woken == 0 && unparks == self.seen;
        // CLAIM: [timer-driver.not-lost] what was counted is found by the turn that follows.
        self.seen = unparks;
        if !is_idle || until == Until::Now {
            return Ok(turn);
        }
        // CLAIM: [timer-driver.idle] before the sleep, and once more under the lock in there.
        let rest = self.membership.fall_asleep(&self.handle, unparks, until);
        let Some(rest) = rest else {
            return Ok(turn);
        };
        // Whoever arms something earlier than this tells us, until the next turn inside.
        let mut capped = self.lease.doze(until);
        loop {
            match rest.step() {
                Step::WakeUp => return Ok(turn),
                Step::Look(round) => {
                    let turn = self.wait(Until::Now)?;
                    if turn.woken > 0 {
                        return Ok(turn);
                    }
                    // CLAIM: [judge.next] the turn has roused the shard: what was armed since then
                    // is in here, and what comes from here on tells.
                    capped = self.lease.doze(until);
                    if let Verdict::Due(now) = rest.looked(round) {
                        let woken = turn::run(&self.lease, now);
                        return Ok(Turn { now, woken });
                    }
                }
                // Paused, nobody waits for a deadline.
                Step::Wait => {
                    let turn = self.wait(Until::Forever)?;
                    let before = std::mem::replace(&mut capped, self.lease.doze(until));
                    // Something may have been armed while nobody could be told.
                    if turn.woken > 0 || capped != before {
                        return Ok(turn);
                    }
                }
            }
        }
    }
}

impl<D: Driver> Driver for TimerDriver<D> {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        if self.domain.is_paused() {
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
        let below = self.bell.below.enter();
        match self.share.timers() {
            Some(timers) => below
                .and(self.place.enter())
                .and(time::enter_timers(timers)),
            None => below,
        }
    }

    fn unpark(&self) {
        self.bell.ring();
    }

    fn rescue(&self, now: Nanos, limit: usize) -> usize {
        let woken = self.bell.below.rescue(now, limit);
        // Its timers go by its own clock, whoever serves them.
        let now = self.place.domain().now_or(now);
        woken + turn::rescue(self.share, now, limit.saturating_sub(woken))
    }

    fn next(&self) -> Option<Nanos> {
        match (self.share.next(), self.bell.below.next()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn in_flight(&self) -> Option<usize> {
        self.bell.below.in_flight()
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
