//! What a one-thread executor shares with other threads, and what it keeps at home.
//!
//! # Who may touch what
//!
//! | field | thread | how |
//! |---|---|---|
//! | `lists` | home | short borrows, never across user code |
//! | `wakes`, `arrivals` | any thread pushes, home takes | lock-free inbox |
//! | `driver` | any thread | `unpark` |
//!
//! # Invariants
//!
//! - **local.listed** — a task is in the registry from before its first poll until it is retired:
//!   one spawned at home is listed at once, one that arrives from elsewhere when it is taken in.
//! - **local.home-only** — futures are polled and dropped at home only; the one that has not begun,
//!   a `Home::spawn` that is refused, holds nothing but what its sender could send.
//! - **local.no-sleeper** — a push into an inbox that was empty unparks the driver afterwards, and
//!   the driver remembers it: the owner takes both inboxes at the beginning of the next step.

use crate::bound::Bound;
use mainspring_core::driver::DriverHandle;
use mainspring_core::sync;
use mainspring_core::task::{
    Inbox, LocalSchedule, Pushed, Registry, RunQueue, Runnable, Schedule, TaskRef, WakeCause,
};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What only the home thread reaches.
pub(crate) struct Lists {
    queue: RefCell<RunQueue>,
    registry: RefCell<Registry>,
    closed: Cell<bool>,
}

/// How tasks and handles hold their executor: the door's `Arc`, which models watch.
pub(crate) type SharedRef = sync::Arc<Shared>;

/// One executor, as its tasks and handles see it.
pub(crate) struct Shared {
    lists: Bound<Lists>,
    /// Tasks woken on other threads.
    wakes: Inbox,
    /// Tasks made on other threads, not listed yet.
    arrivals: Inbox,
    driver: Arc<dyn DriverHandle>,
}

/// What came of handing a new task to its executor.
#[derive(Debug)]
#[must_use = "a refused task has to be cancelled"]
pub(crate) enum Admission {
    /// It will run.
    Admitted,
    /// The executor has shut down.
    Refused(Runnable),
}

impl Shared {
    /// An executor whose home is the calling thread.
    pub(crate) fn new(driver: Arc<dyn DriverHandle>) -> SharedRef {
        let lists = Lists {
            queue: RefCell::new(RunQueue::new()),
            registry: RefCell::new(Registry::new()),
            closed: Cell::new(false),
        };
        sync::Arc::new(Self {
            lists: Bound::new(lists),
            wakes: Inbox::new(),
            arrivals: Inbox::new(),
            driver,
        })
    }

    pub(crate) fn driver(&self) -> &Arc<dyn DriverHandle> {
        &self.driver
    }

    /// Takes a task that was made at home.
    pub(crate) fn admit(&self, runnable: Runnable) -> Admission {
        let admitted = self.lists.with(|lists| {
            if lists.closed.get() {
                return Err(runnable);
            }
            // SAFETY: [local.listed] a new task, not run yet; `retire` removes it from this
            // registry, and no other executor lists it.
            unsafe { lists.registry.borrow_mut().insert(runnable.task()) };
            lists.queue.borrow_mut().push(runnable);
            Ok(())
        });
        match admitted {
            Some(Ok(())) => Admission::Admitted,
            Some(Err(runnable)) => Admission::Refused(runnable),
            None => unreachable!("local.home-only: admitted away from home"),
        }
    }

    /// Takes a task that was made on another thread.
    pub(crate) fn receive(&self, runnable: Runnable) -> Admission {
        match self.arrivals.push(runnable) {
            // CLAIM: [local.no-sleeper] after the push, and remembered.
            Pushed::First => self.driver.unpark(),
            Pushed::Queued => {}
            Pushed::Closed(runnable) => return Admission::Refused(runnable),
        }
        Admission::Admitted
    }

    /// Moves what came from other threads into the queue.
    pub(crate) fn take_in(&self) {
        if self.wakes.is_empty() && self.arrivals.is_empty() {
            return;
        }
        self.lists.with(|lists| {
            let mut arrived = self.arrivals.take_all();
            while let Some(runnable) = arrived.pop() {
                // SAFETY: [local.listed] a task that arrives is taken in once, before it is run.
                unsafe { lists.registry.borrow_mut().insert(runnable.task()) };
                lists.queue.borrow_mut().push(runnable);
            }
            lists.queue.borrow_mut().append(&mut self.wakes.take_all());
        });
    }

    /// The task to be polled next.
    #[inline]
    pub(crate) fn next(&self) -> Option<Runnable> {
        self.lists
            .with(|lists| lists.queue.borrow_mut().pop())
            .flatten()
    }

    /// Whether a step would find something to poll.
    pub(crate) fn has_work(&self) -> bool {
        let queued = self.lists.with(|lists| !lists.queue.borrow().is_empty());
        queued.unwrap_or(false) || !self.wakes.is_empty() || !self.arrivals.is_empty()
    }

    /// How many tasks have not completed.
    pub(crate) fn alive(&self) -> usize {
        self.lists
            .with(|lists| lists.registry.borrow().len())
            .unwrap_or(0)
    }

    /// Calls `look` with every task that has not completed, newest first.
    pub(crate) fn for_each_task(&self, mut look: impl FnMut(&TaskRef)) {
        self.lists.with(|lists| {
            for task in lists.registry.borrow().iter() {
                look(&task);
            }
        });
    }

    /// From now on nothing is admitted. What had arrived before is taken in, to be ended with the
    /// rest.
    pub(crate) fn close(&self) {
        self.lists.with(|lists| {
            lists.closed.set(true);
            let mut arrived = self.arrivals.close();
            while let Some(runnable) = arrived.pop() {
                // SAFETY: [local.listed] as in `take_in`.
                unsafe { lists.registry.borrow_mut().insert(runnable.task()) };
                lists.queue.borrow_mut().push(runnable);
            }
        });
    }
}

impl Schedule for Shared {
    #[inline]
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        // One queue, first in first out: a yield goes to its tail as everything else does.
        let mut runnable = Some(runnable);
        self.lists.with(|lists| {
            if let Some(runnable) = runnable.take() {
                lists.queue.borrow_mut().push(runnable);
            }
        });
        let Some(runnable) = runnable else { return };
        match self.wakes.push(runnable) {
            Pushed::First => self.driver.unpark(),
            Pushed::Queued => {}
            // CLAIM: [local.home-only] the inbox is never closed while a task has a future.
            Pushed::Closed(runnable) => drop(runnable),
        }
    }

    fn retire(&self, task: &TaskRef) {
        self.lists.with(|lists| {
            // SAFETY: [local.listed] no other registry ever lists it. One that was popped by the
            // shutdown, or refused before it was listed, is in none.
            unsafe { lists.registry.borrow_mut().remove(task) }
        });
    }
}

// SAFETY: [bound.home] `is_home` compares the calling thread's number with that of the one thread
// which made the executor, and numbers are never given twice.
unsafe impl LocalSchedule for Shared {
    #[inline]
    fn is_home(&self) -> bool {
        self.lists.is_home()
    }
}
