//! Until when a pool may take to end, and the wait that heeds it.
//!
//! Whoever ends a pool waits for one thing after another, each until a moment that somebody else
//! may bring forward meanwhile: a second shutdown, with less patience than the first.
//!
//! # Invariants
//!
//! - **limits.earliest** — of all that was asked for, the earliest holds: moments only come nearer.
//! - **limits.hastened** — who waits registers, then looks at the moment; who brings it forward
//!   writes it, then wakes. So no wait lasts longer than what was last said.

use crate::root::Root;
use crate::shutdown::Moments;
use mainspring_core::AtomicWaker;
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::sync::Mutex;
use mainspring_core::time::{self, Deadline};
use std::future::Future;
use std::pin::pin;
use std::task::Context;

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "who was not there in time has to be dealt with"]
pub(crate) enum Waited {
    /// What was waited for has happened.
    Happened,
    /// The moment has come before.
    TooLong,
}

/// The moments of one pool.
#[derive(Default)]
pub(crate) struct Limits {
    moments: Mutex<Moments>,
    /// Who waits: one at a time.
    hastened: AtomicWaker,
}

impl Limits {
    /// Brings the moments forward, if these are earlier.
    pub(crate) fn hasten(&self, to: Moments) {
        {
            let mut moments = self.moments.lock();
            // CLAIM: [limits.earliest]
            moments.grace = moments.grace.earliest(to.grace);
            moments.deadline = moments.deadline.earliest(to.deadline);
        }
        // CLAIM: [limits.hastened] after the write.
        self.hastened.wake();
    }

    pub(crate) fn look(&self) -> Moments {
        *self.moments.lock()
    }

    /// Waits on this thread for `event`, until the moment that `until` picks at the latest. Needs
    /// nothing of the pool, and no timer: a driver that is current here may be one that nobody
    /// drives meanwhile. One thread at a time.
    pub(crate) fn wait(
        &self,
        event: impl Future<Output = ()>,
        until: impl Fn(Moments) -> Deadline,
    ) -> Waited {
        let mut event = pin!(event);
        let mut driver = ThreadDriver::new();
        let root = Root::new(driver.handle());
        let waker = root.waker();
        let mut cx = Context::from_waker(&waker);
        loop {
            if root.take() {
                self.hastened.register(&waker);
                if event.as_mut().poll(&mut cx).is_ready() {
                    return Waited::Happened;
                }
            }
            // CLAIM: [limits.hastened] registered before the look.
            let deadline = until(self.look());
            if deadline.has_passed(time::now()) {
                return Waited::TooLong;
            }
            if root.is_woken() {
                continue;
            }
            let until = if deadline.is_never() {
                Until::Forever
            } else {
                Until::At(deadline.nanos())
            };
            // A thread driver has no errors; a spurious return looks again.
            let _turn = driver.park(until);
        }
    }
}

#[cfg(test)]
mod tests;
