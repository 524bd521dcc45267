//! A task of ours, carried by a future of somebody else's executor.
//!
//! The task's scheduler is a place for one runnable. The carrying future runs what is in the place
//! and otherwise waits: scheduling puts the runnable there and wakes the carrier. So the foreign
//! executor decides when the task runs, and everything else about it (handle, abort, panic, id) is
//! as on our own.
//!
//! # Invariants
//!
//! - **bridge.carried** — a runnable in the place is seen by the carrier: it registers its waker
//!   before it looks, and whoever puts a runnable there wakes after.
//! - **bridge.closed** — once the carrier has gone, no runnable stays in the place: the carrier
//!   closes it, aborts the task, and whoever comes after drops the runnable, which cancels it.
//!
//! No task is run or dropped and nobody is woken while the lock is held.

use crate::AtomicWaker;
use crate::sync::{Arc, Mutex};
use crate::task::{Ran, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The scheduler of one carried task.
pub(super) struct Bridge {
    place: Mutex<Place>,
    carrier: AtomicWaker,
}

struct Place {
    runnable: Option<Runnable>,
    is_closed: bool,
}

impl Bridge {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            place: Mutex::new(Place {
                runnable: None,
                is_closed: false,
            }),
            carrier: AtomicWaker::new(),
        })
    }

    pub(super) fn scheduler(this: &Arc<Self>) -> SchedulerRef {
        SchedulerRef::from(Arc::clone(this))
    }

    fn take(&self) -> Option<Runnable> {
        self.place.lock().runnable.take()
    }
}

impl Schedule for Bridge {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        let mut place = self.place.lock();
        if place.is_closed {
            drop(place);
            // Cancels the task on this thread.
            drop(runnable);
            return;
        }
        let before = place.runnable.replace(runnable);
        debug_assert!(
            before.is_none(),
            "bridge.carried: two runnables of one task"
        );
        drop(place);
        self.carrier.wake();
    }
}

/// The future that the foreign executor runs.
pub(super) struct Carrier {
    bridge: Arc<Bridge>,
    task: TaskRef,
}

/// Puts a new task's runnable in its place and returns who carries it.
pub(super) fn carry(bridge: Arc<Bridge>, runnable: Runnable) -> Carrier {
    let task = runnable.task().clone();
    runnable.schedule();
    Carrier { bridge, task }
}

impl Future for Carrier {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.bridge.carrier.register(cx.waker());
        match self.bridge.take().map(Runnable::run) {
            Some(Ran::Complete) => Poll::Ready(()),
            // Completed by somebody who found the place closed, or not at all: then a wake comes.
            None if self.task.is_finished() => Poll::Ready(()),
            Some(Ran::Idle | Ran::Rescheduled | Ran::SentHome) | None => Poll::Pending,
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        let mut place = self.bridge.place.lock();
        place.is_closed = true;
        let runnable = place.runnable.take();
        drop(place);
        debug_assert!(
            runnable.is_none() || !self.task.is_finished(),
            "bridge.closed: a runnable of a finished task"
        );
        drop(runnable);
        // Idle, it is scheduled to be cancelled, and finds the place closed. Finished, nothing.
        self.task.abort();
        // Outside the lock, like all of the user's.
        drop(self.bridge.carrier.take());
    }
}

#[cfg(test)]
mod tests;
