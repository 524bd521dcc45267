//! The waker of a `block_on`'s own future.
//!
//! The root future is no task: it lives on the stack of whoever called `block_on`, and nobody
//! joins, aborts or lists it. Its polls have a record all the same ([`poll::Root`]), by which wait
//! lists know whose futures they are. Its waker sets a flag and, on the first wake since the last
//! poll, unparks the driver.
//!
//! [`poll::Root`]: mainspring_core::poll::Root
//!
//! # Invariants
//!
//! - **root.not-lost** — a wake that begins after a poll of the root began leads to another poll:
//!   the flag is cleared before the poll, and the unpark comes after the flag was set.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `root.wake` | `Root::wake_by_ref` | [`Root::take`] | what the waker wrote before |

use mainspring_core::driver::DriverHandle;
use mainspring_core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Whether the root future has to be polled, and how to tell the thread that polls it.
pub(crate) struct Root {
    woken: AtomicBool,
    driver: Arc<dyn DriverHandle>,
}

impl Root {
    /// A root that was woken: its first poll is due.
    pub(crate) fn new(driver: Arc<dyn DriverHandle>) -> Arc<Self> {
        Arc::new(Self {
            woken: AtomicBool::new(true),
            driver,
        })
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Whether a poll is due, without claiming it.
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.load(Relaxed)
    }

    /// Claims the poll that is due, if one is.
    pub(crate) fn take(&self) -> bool {
        // ORDERING: [root.wake] Acquire, pairs with the swap in `wake_by_ref`: the poll that comes
        // sees what the waker wrote, also one whose wake found the flag set, for swaps go on with
        // each other's release. Relaxed would let the poll miss the event, and wait for a wake that
        // has been.
        self.is_woken() && self.woken.swap(false, Acquire)
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: [root.wake] Release, pairs with the swap in `take`. A wake that finds the flag
        // already set releases too, which is why this is a swap and not a load first. Relaxed would
        // let the poll miss what the waker wrote.
        if !self.woken.swap(true, Release) {
            // CLAIM: [root.not-lost] the flag first: a thread that is unparked finds the poll due.
            self.driver.unpark();
        }
    }
}

#[cfg(test)]
mod tests;
