//! What a one-thread executor shares with other threads, and what it keeps at home.
//!
//! # Who may touch what
//!
//! | field | thread | how |
//! |---|---|---|
//! | `lists` | home | short borrows, never across user code |
//! | `wakes`, `arrivals` | any thread pushes, home takes | lock-free inboxes |
//! | `driver` | any thread | `unpark` |
//!
//! # Invariants
//!
//! - **local.listed** — a task is in its lane's registry from before its first poll until it is
//!   retired: one spawned at home is listed at once, one that arrives from elsewhere when it is
//!   taken in.
//! - **local.home-only** — futures are polled and dropped at home only; the one that has not begun,
//!   a `Home::spawn` that is refused, holds nothing but what its sender could send.
//! - **local.no-sleeper** — a push into an inbox that was empty unparks the driver afterwards, and
//!   the driver remembers it: the owner takes all inboxes at the beginning of the next step.
//! - **local.closed** — after `close` a lane admits nothing; what was admitted before is listed,
//!   so that whoever ends the lane reaches all of it.

use crate::bound::Bound;
use mainspring_core::driver::DriverHandle;
use mainspring_core::spawn::Lane;
use mainspring_core::sync;
use mainspring_core::task::{
    Inbox, LocalSchedule, Pushed, Ran, Registry, RunQueue, Runnable, Schedule, TaskRef, WakeCause,
};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The tasks of one lane that have not ended.
struct Listed {
    registry: RefCell<Registry>,
    closed: Cell<bool>,
}

impl Listed {
    fn new() -> Self {
        Self {
            registry: RefCell::new(Registry::new()),
            closed: Cell::new(false),
        }
    }
}

/// What only the home thread reaches.
struct Lists {
    queue: RefCell<RunQueue>,
    tasks: Listed,
    cleanups: Listed,
}

impl Lists {
    fn lane(&self, lane: Lane) -> &Listed {
        match lane {
            Lane::Tasks => &self.tasks,
            Lane::Cleanup => &self.cleanups,
        }
    }

    /// Lists and queues tasks that were made on other threads.
    fn take_in(&self, lane: Lane, mut arrived: RunQueue) {
        while let Some(runnable) = arrived.pop() {
            // SAFETY: [local.listed] a task that arrives is taken in once, before it is run; the
            // lane's scheduler removes it from this registry in `retire`.
            unsafe {
                self.lane(lane)
                    .registry
                    .borrow_mut()
                    .insert(runnable.task())
            };
            self.queue.borrow_mut().push(runnable);
        }
    }
}

/// How tasks and handles hold their executor: the door's `Arc`, which models watch.
pub(crate) type SharedRef = sync::Arc<Shared>;

/// One executor, as its tasks and handles see it. It is the scheduler of its [`Lane::Tasks`].
pub(crate) struct Shared {
    lists: Bound<Lists>,
    /// Tasks woken on other threads.
    wakes: Inbox,
    /// Tasks made on other threads, not listed yet.
    arrivals: Inbox,
    /// Cleanups made on other threads, not listed yet.
    cleanup_arrivals: Inbox,
    driver: Arc<dyn DriverHandle>,
}

/// What came of handing a new task to its executor.
#[derive(Debug)]
#[must_use = "a refused task has to be cancelled"]
pub(crate) enum Admission {
    /// It will run.
    Admitted,
    /// Its lane is closed.
    Refused(Runnable),
}

impl Shared {
    /// An executor whose home is the calling thread.
    pub(crate) fn new(driver: Arc<dyn DriverHandle>) -> SharedRef {
        let lists = Lists {
            queue: RefCell::new(RunQueue::new()),
            tasks: Listed::new(),
            cleanups: Listed::new(),
        };
        sync::Arc::new(Self {
            lists: Bound::new(lists),
            wakes: Inbox::new(),
            arrivals: Inbox::new(),
            cleanup_arrivals: Inbox::new(),
            driver,
        })
    }

    pub(crate) fn driver(&self) -> &Arc<dyn DriverHandle> {
        &self.driver
    }

    /// Takes a new task, from any thread.
    #[inline]
    pub(crate) fn admit(&self, lane: Lane, runnable: Runnable) -> Admission {
        let mut runnable = Some(runnable);
        self.lists.with(|lists| {
            let listed = lists.lane(lane);
            if listed.closed.get() {
                return;
            }
            if let Some(runnable) = runnable.take() {
                // SAFETY: [local.listed] a new task, not run yet; the lane's scheduler removes it
                // from this registry in `retire`, and no other lists it.
                unsafe { listed.registry.borrow_mut().insert(runnable.task()) };
                lists.queue.borrow_mut().push(runnable);
            }
        });
        match runnable {
            None => Admission::Admitted,
            Some(runnable) if self.is_home() => Admission::Refused(runnable),
            Some(runnable) => self.receive(lane, runnable),
        }
    }

    /// Takes a new task on a thread that is not home.
    fn receive(&self, lane: Lane, runnable: Runnable) -> Admission {
        match self.arrivals(lane).push(runnable) {
            // CLAIM: [local.no-sleeper] after the push, and remembered.
            Pushed::First => self.driver.unpark(),
            Pushed::Queued => {}
            Pushed::Closed(runnable) => return Admission::Refused(runnable),
        }
        Admission::Admitted
    }

    fn arrivals(&self, lane: Lane) -> &Inbox {
        match lane {
            Lane::Tasks => &self.arrivals,
            Lane::Cleanup => &self.cleanup_arrivals,
        }
    }

    /// Moves what came from other threads into the queue.
    #[inline]
    pub(crate) fn take_in(&self) {
        if !self.has_mail() {
            return;
        }
        self.lists.with(|lists| {
            for lane in [Lane::Tasks, Lane::Cleanup] {
                lists.take_in(lane, self.arrivals(lane).take_all());
            }
            lists.queue.borrow_mut().append(&mut self.wakes.take_all());
        });
    }

    #[inline]
    fn has_mail(&self) -> bool {
        !(self.wakes.is_empty() && self.arrivals.is_empty() && self.cleanup_arrivals.is_empty())
    }

    /// Polls tasks, at most `polls_max` and until `stop` says so. Returns how many.
    #[inline]
    pub(crate) fn run(&self, polls_max: u32, stop: impl Fn() -> bool) -> u32 {
        let run = self.lists.with(|lists| {
            let mut polls = 0;
            while polls < polls_max {
                let Some(runnable) = lists.queue.borrow_mut().pop() else {
                    break;
                };
                // SAFETY: [bound.home] this closure runs at home only, and what is in the queue is
                // at home here or anywhere.
                let ran = unsafe { runnable.run_at_home() };
                debug_assert_ne!(ran, Ran::SentHome, "local.home-only: queued away from home");
                polls += 1;
                if stop() {
                    break;
                }
            }
            polls
        });
        run.unwrap_or(0)
    }

    /// Whether a step would find something to poll.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        let queued = self.lists.with(|lists| !lists.queue.borrow().is_empty());
        queued.unwrap_or(false) || self.has_mail()
    }

    /// How many tasks of a lane have not ended.
    pub(crate) fn alive(&self, lane: Lane) -> usize {
        self.lists
            .with(|lists| lists.lane(lane).registry.borrow().len())
            .unwrap_or(0)
    }

    /// Calls `look` with every task of a lane that has not ended, newest first. It may abort them,
    /// which only schedules.
    pub(crate) fn for_each_task(&self, lane: Lane, mut look: impl FnMut(&TaskRef)) {
        self.lists.with(|lists| {
            for task in lists.lane(lane).registry.borrow().iter() {
                look(&task);
            }
        });
    }

    /// From now on the lane admits nothing. What had arrived before is taken in.
    pub(crate) fn close(&self, lane: Lane) {
        self.lists.with(|lists| {
            // CLAIM: [local.closed] first the door, then what stood before it.
            lists.lane(lane).closed.set(true);
            lists.take_in(lane, self.arrivals(lane).close());
        });
    }

    fn retire(&self, lane: Lane, task: &TaskRef) {
        self.lists.with(|lists| {
            // SAFETY: [local.listed] no other registry ever lists it. One that was refused before
            // it was listed is in none.
            unsafe { lists.lane(lane).registry.borrow_mut().remove(task) }
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
            // CLAIM: [local.home-only] this inbox is never closed: while a task has a future its
            // executor is there to take it.
            Pushed::Closed(runnable) => drop(runnable),
        }
    }

    fn retire(&self, task: &TaskRef) {
        Self::retire(self, Lane::Tasks, task);
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

/// The scheduler of an executor's [`Lane::Cleanup`].
pub(crate) struct Cleanups(pub(crate) SharedRef);

impl Schedule for Cleanups {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.0.schedule(runnable, why);
    }

    fn retire(&self, task: &TaskRef) {
        self.0.retire(Lane::Cleanup, task);
    }
}
