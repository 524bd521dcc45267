//! A scheduler that only queues, through the door, for tests and models alike.

use crate::sync::{Arc, Mutex};
use crate::task::{
    LocalSchedule, Ran, Registry, RunQueue, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause,
};
use std::task::{Context, Poll, Waker};

/// Queues what is scheduled and lists what is spawned.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
}

struct Inner {
    queue: RunQueue,
    causes: Vec<WakeCause>,
    registry: Registry,
    closed: bool,
}

impl Schedule for Queue {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        let mut inner = self.inner.lock();
        if inner.closed {
            drop(inner);
            drop(runnable);
            return;
        }
        inner.queue.push(runnable);
        inner.causes.push(why);
    }

    fn retire(&self, task: &TaskRef) {
        // SAFETY: every task of this scheduler is listed here and nowhere else.
        unsafe { self.inner.lock().registry.remove(task) };
    }
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        let registry = Registry::new();
        let queue = RunQueue::new();
        let inner = Inner {
            queue,
            causes: Vec::new(),
            registry,
            closed: false,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
        })
    }

    /// Lists a new task and queues it; a closed queue drops it.
    pub(crate) fn spawn(&self, runnable: Runnable) {
        let mut inner = self.inner.lock();
        if !inner.closed {
            // SAFETY: `retire` removes it, and every task of this scheduler is inserted here, once.
            unsafe { inner.registry.insert(runnable.task()) };
        }
        drop(inner);
        runnable.schedule();
    }

    pub(crate) fn pop(&self) -> Option<Runnable> {
        self.inner.lock().queue.pop()
    }

    pub(crate) fn run_one(&self) -> Option<Ran> {
        self.pop().map(Runnable::run)
    }

    pub(crate) fn run_all(&self) -> usize {
        let mut count = 0;
        while let Some(ran) = self.run_one() {
            count += 1;
            assert_ne!(ran, Ran::SentHome);
        }
        count
    }

    pub(crate) fn causes(&self) -> Vec<WakeCause> {
        std::mem::take(&mut self.inner.lock().causes)
    }

    pub(crate) fn listed(&self) -> usize {
        self.inner.lock().registry.len()
    }

    pub(crate) fn with_registry<R>(&self, look: impl FnOnce(&Registry) -> R) -> R {
        look(&self.inner.lock().registry)
    }

    /// What an executor does when it ends: aborts all and runs what is queued until nothing is
    /// left, then refuses.
    pub(crate) fn shut_down(&self) {
        loop {
            let listed = self.inner.lock().registry.pop();
            let Some(task) = listed else { break };
            task.abort();
        }
        while let Some(ran) = self.run_one() {
            let _ = ran;
        }
        self.inner.lock().closed = true;
    }
}

/// A home that is one std thread. Not for models.
pub(crate) struct Home {
    thread: std::thread::ThreadId,
    pub(crate) queue: Arc<Queue>,
}

impl Home {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            thread: std::thread::current().id(),
            queue: Queue::new(),
        })
    }
}

impl Schedule for Home {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.queue.schedule(runnable, why);
    }

    fn retire(&self, task: &TaskRef) {
        self.queue.retire(task);
    }
}

// SAFETY: one thread has the id.
unsafe impl LocalSchedule for Home {
    fn is_home(&self) -> bool {
        std::thread::current().id() == self.thread
    }
}

pub(crate) fn scheduler(queue: &Arc<Queue>) -> SchedulerRef {
    SchedulerRef::from(Arc::clone(queue))
}

/// Polls once with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}
