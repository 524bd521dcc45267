//! A worker's private lane: the tasks that stay with it.
//!
//! They need not be `Send`. Their wakes from other threads come through an inbox.
//!
//! # Invariants
//!
//! - **lane.home** — the queue is touched on the worker's thread only, and what is in it is polled
//!   and dropped there.
//! - **lane.brief** — the queue is borrowed for one operation of its own, which runs nobody else's
//!   code.
//! - **lane.no-sleeper** — a push into an inbox that was empty unparks the worker afterwards, and
//!   its driver remembers it; the worker looks into the inbox before it sleeps, and in each turn.

use super::shared::SharedRef;
use crate::bound::Bound;
use mainspring_core::spawn::Lane as Kind;
use mainspring_core::sync;
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::task::{
    Inbox, LocalSchedule, Pushed, RunQueue, Runnable, Schedule, TaskRef, WakeCause,
};

/// The queue, in a cell that does not check what its callers promise.
struct Queue(UnsafeCell<RunQueue>);

impl Queue {
    #[inline]
    fn with<R>(&self, operate: impl FnOnce(&mut RunQueue) -> R) -> R {
        self.0.with_mut(|queue| {
            // SAFETY: [lane.brief] each caller below passes one operation of the queue's, which
            // links or unlinks; `Bound` has seen to the thread.
            operate(unsafe { &mut *queue })
        })
    }
}

/// One worker's lane, as its tasks and other threads see it. It is their scheduler.
pub(crate) struct Lane {
    pool: SharedRef,
    worker: usize,
    queue: Bound<Queue>,
    inbox: Inbox,
}

/// How tasks hold their lane: the door's `Arc`, which models watch.
pub(crate) type LaneRef = sync::Arc<Lane>;

impl Lane {
    /// The lane of a worker whose thread the calling one is.
    pub(crate) fn new(pool: SharedRef, worker: usize) -> LaneRef {
        sync::Arc::new(Self {
            pool,
            worker,
            queue: Bound::new(Queue(UnsafeCell::new(RunQueue::new()))),
            inbox: Inbox::new(),
        })
    }

    /// Lists a new task and queues it, from any thread. Gives it back if the pool is closed.
    pub(crate) fn launch(&self, runnable: Runnable) -> Option<Runnable> {
        // SAFETY: [registry.listed] `retire` below takes it off the same lane.
        let admitted = unsafe { self.pool.registry.admit(Kind::Tasks, runnable.task()) };
        if admitted == super::registry::OnAdmit::Refused {
            return Some(runnable);
        }
        self.schedule(runnable, WakeCause::Spawn);
        None
    }

    /// Moves what came from other threads into the queue. By the worker.
    #[inline]
    pub(super) fn take_in(&self) {
        if !self.inbox.is_empty() {
            let mut arrived = self.inbox.take_all();
            self.queue
                .with(|queue| queue.with(|queue| queue.append(&mut arrived)));
        }
    }

    /// The next to run. By the worker.
    #[inline]
    pub(super) fn pop(&self) -> Option<Runnable> {
        self.queue.with(|queue| queue.with(RunQueue::pop)).flatten()
    }

    /// Whether something has come from another thread that the worker has not taken in. By anybody.
    pub(super) fn has_mail(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Whether there is something to run. By the worker.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        let is_queued = self
            .queue
            .with(|queue| queue.with(|queue| !queue.is_empty()));
        is_queued.unwrap_or(false) || !self.inbox.is_empty()
    }
}

impl Schedule for Lane {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        if self.queue.is_home() {
            let mut runnable = Some(runnable);
            self.queue.with(|queue| {
                queue.with(|queue| queue.extend(runnable.take()));
            });
            return;
        }
        match self.inbox.push(runnable) {
            // CLAIM: [lane.no-sleeper] after the push.
            Pushed::First => self.pool.unpark(Some(self.worker)),
            Pushed::Queued => {}
            // The inbox is never closed.
            Pushed::Closed(runnable) => drop(runnable),
        }
    }

    fn retire(&self, task: &TaskRef) {
        self.pool.registry.retire(Kind::Tasks, task);
    }
}

// SAFETY: [lane.home] `Bound` compares the calling thread's number with that of the thread which
// made the lane, and numbers are never given twice.
unsafe impl LocalSchedule for Lane {
    fn is_home(&self) -> bool {
        self.queue.is_home()
    }
}

#[cfg(test)]
mod tests;
