//! A worker as the others see it: its slot, a thief's end of its queue, how to wake it, what it has
//! counted, and its pulse.
//!
//! # Invariants
//!
//! - **slot.owned** — what stands in the slot is a runnable, which belongs to the slot until it is
//!   swapped out; each swap takes it once.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `slot.hand` | [`Slot::put`] | [`Slot::put`], [`Slot::take`] | all that the runnable leads to |

use super::counters::Counters;
use super::pulse::Pulse;
use crate::queue::local::Stealer;
use mainspring_core::driver::DriverHandle;
use mainspring_core::sync::atomic::{
    AtomicPtr,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use mainspring_core::task::Runnable;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// One worker from outside.
pub(crate) struct Remote {
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) slot: Slot,
    pub(crate) queue: Stealer<Runnable>,
    pub(crate) driver: Arc<dyn DriverHandle>,
    pub(crate) counters: Counters,
}

impl Remote {
    pub(crate) fn new(queue: Stealer<Runnable>, driver: Arc<dyn DriverHandle>) -> Self {
        Self {
            pulse: Pulse::new(),
            slot: Slot::new(),
            queue,
            driver,
            counters: Counters::new(),
        }
    }
}

/// The place of the task that runs next: the one that was woken last. Thieves do not look at it.
pub(crate) struct Slot(AtomicPtr<()>);

impl Slot {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Puts a runnable in, and returns the one that stood there.
    #[inline]
    pub(crate) fn put(&self, runnable: Runnable) -> Option<Runnable> {
        let raw = runnable.into_raw().as_ptr();
        // ORDERING: [slot.hand] Release, pairs with the Acquire of whoever takes it out, who may
        // be on another thread; Acquire for what we take out ourselves. Relaxed would hand over a
        // task whose memory the other side has not seen.
        Self::own(self.0.swap(raw, AcqRel))
    }

    /// Takes the runnable out. One load if there is none.
    #[inline]
    pub(crate) fn take(&self) -> Option<Runnable> {
        if self.is_empty() {
            return None;
        }
        // ORDERING: [slot.hand] Acquire, pairs with the Release in `put`.
        Self::own(self.0.swap(ptr::null_mut(), Acquire))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }

    #[inline]
    fn own(raw: *mut ()) -> Option<Runnable> {
        let raw = NonNull::new(raw)?;
        // SAFETY: [slot.owned] only `put` stores, from `into_raw`, and a swap took it out.
        Some(unsafe { Runnable::from_raw(raw) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests;
