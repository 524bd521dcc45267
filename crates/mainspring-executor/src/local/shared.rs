//! What a one-thread executor shares with other threads, and what it keeps at home.
//!
//! # Who may touch what
//!
//! | field | thread | how |
//! |---|---|---|
//! | `lists` | home | one operation at a time, never across other code |
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
//! - **local.brief** — the queue and the registries are borrowed for one operation of theirs, which
//!   runs nobody else's code, so that no borrow meets another. Whoever looks at all tasks takes
//!   references to them first.
//! - **local.closed** — after `close` a lane admits nothing; what was admitted before is listed,
//!   so that whoever ends the lane reaches all of it.

use crate::bound::Bound;
use mainspring_core::driver::DriverHandle;
use mainspring_core::spawn::Lane;
use mainspring_core::sync;
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::task::{
    Inbox, LocalSchedule, Pushed, Ran, Registry, RunQueue, Runnable, Schedule, TaskRef, WakeCause,
};
use std::cell::Cell;
use std::sync::Arc;

/// A queue or a registry, in a cell that does not check what the callers promise.
struct Brief<T>(UnsafeCell<T>);

impl<T> Brief<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// # Safety
    ///
    /// `operate` runs nothing but operations of the value, none of which calls code from outside.
    #[inline]
    unsafe fn with<R>(&self, operate: impl FnOnce(&mut T) -> R) -> R {
        self.0.with_mut(|value| {
            // SAFETY: [local.brief] the caller's contract: nothing comes back here meanwhile.
            operate(unsafe { &mut *value })
        })
    }
}

/// The tasks of one lane that have not ended.
struct Listed {
    registry: Brief<Registry>,
    closed: Cell<bool>,
}

impl Listed {
    fn new() -> Self {
        Self {
            registry: Brief::new(Registry::new()),
            closed: Cell::new(false),
        }
    }
}

/// What only the home thread reaches.
struct Lists {
    queue: Brief<RunQueue>,
    tasks: Listed,
    cleanups: Listed,
    counts: Cell<Counts>,
}

/// What an executor has done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) polls: u64,
    pub(crate) parks: u64,
}

impl Lists {
    fn lane(&self, lane: Lane) -> &Listed {
        match lane {
            Lane::Tasks => &self.tasks,
            Lane::Cleanup => &self.cleanups,
        }
    }

    #[inline]
    fn push(&self, runnable: Runnable) {
        // SAFETY: [local.brief] a push links.
        unsafe { self.queue.with(|queue| queue.push(runnable)) }
    }

    #[inline]
    fn pop(&self) -> Option<Runnable> {
        // SAFETY: [local.brief] a pop unlinks.
        unsafe { self.queue.with(RunQueue::pop) }
    }

    fn has_work(&self) -> bool {
        // SAFETY: [local.brief] it only looks.
        unsafe { self.queue.with(|queue| !queue.is_empty()) }
    }

    fn ready(&self) -> usize {
        // SAFETY: [local.brief] it only looks.
        unsafe { self.queue.with(|queue| queue.len()) }
    }

    #[inline]
    fn count(&self, polls: u32, parks: u64) {
        let counts = self.counts.get();
        self.counts.set(Counts {
            polls: counts.polls + u64::from(polls),
            parks: counts.parks + parks,
        });
    }

    /// Lists and queues a task that is new in its lane.
    #[inline]
    fn list(&self, lane: Lane, runnable: Runnable) {
        let insert = |registry: &mut Registry| {
            // SAFETY: [local.listed] a new task, listed once, before it is run; the lane's
            // scheduler removes it from this registry in `retire`, and no other lists it.
            unsafe { registry.insert(runnable.task()) }
        };
        // SAFETY: [local.brief] an insertion links.
        unsafe { self.lane(lane).registry.with(insert) };
        self.push(runnable);
    }

    #[inline]
    fn admit(&self, lane: Lane, runnable: Runnable) -> Admission {
        if self.lane(lane).closed.get() {
            return Admission::Refused(runnable);
        }
        self.list(lane, runnable);
        Admission::Admitted
    }

    #[inline]
    fn retire(&self, lane: Lane, task: &TaskRef) {
        let remove = |registry: &mut Registry| {
            // SAFETY: [local.listed] no other registry ever lists it. One that was refused before
            // it was listed is in none.
            unsafe { registry.remove(task) }
        };
        // SAFETY: [local.brief] a removal unlinks.
        unsafe { self.lane(lane).registry.with(remove) };
    }

    fn len(&self, lane: Lane) -> usize {
        // SAFETY: [local.brief] it only looks.
        unsafe { self.lane(lane).registry.with(|registry| registry.len()) }
    }

    /// Lists and queues tasks that were made on other threads.
    fn take_in(&self, lane: Lane, mut arrived: RunQueue) {
        while let Some(runnable) = arrived.pop() {
            self.list(lane, runnable);
        }
    }

    /// Everything in a lane, newest first.
    fn tasks(&self, lane: Lane) -> Vec<TaskRef> {
        let mut tasks = Vec::with_capacity(self.len(lane));
        let copy = |registry: &mut Registry| {
            tasks.extend(registry.iter().map(|task| (*task).clone()));
        };
        // SAFETY: [local.brief] cloning counts, and there is room for all of them.
        unsafe { self.lane(lane).registry.with(copy) };
        tasks
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
            queue: Brief::new(RunQueue::new()),
            tasks: Listed::new(),
            cleanups: Listed::new(),
            counts: Cell::default(),
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
        if self.is_home() {
            // SAFETY: [bound.home] just asked.
            unsafe { self.admit_here(lane, runnable) }
        } else {
            self.receive(lane, runnable)
        }
    }

    /// Takes a new task at home.
    ///
    /// # Safety
    ///
    /// The calling thread is home.
    #[inline]
    pub(crate) unsafe fn admit_here(&self, lane: Lane, runnable: Runnable) -> Admission {
        // SAFETY: [bound.home] the caller's contract.
        unsafe { self.lists.at_home(|lists| lists.admit(lane, runnable)) }
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
            let mut woken = self.wakes.take_all();
            // SAFETY: [local.brief] it links two chains.
            unsafe { lists.queue.with(|queue| queue.append(&mut woken)) };
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
                let Some(runnable) = lists.pop() else {
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
            lists.count(polls, 0);
            polls
        });
        run.unwrap_or(0)
    }

    /// The driver is about to be waited in.
    pub(crate) fn parks(&self) {
        self.lists.with(|lists| lists.count(0, 1));
    }

    /// What was done so far, and how many tasks are ready. At home only.
    pub(crate) fn counts(&self) -> Option<(Counts, usize)> {
        self.lists.with(|lists| (lists.counts.get(), lists.ready()))
    }

    /// Whether a step would find something to poll.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.lists.with(Lists::has_work).unwrap_or(false) || self.has_mail()
    }

    /// How many tasks of a lane have not ended.
    pub(crate) fn alive(&self, lane: Lane) -> usize {
        self.lists.with(|lists| lists.len(lane)).unwrap_or(0)
    }

    /// Every task of a lane that has not ended, newest first.
    pub(crate) fn tasks(&self, lane: Lane) -> Vec<TaskRef> {
        let tasks = self.lists.with(|lists| lists.tasks(lane));
        tasks.unwrap_or_default()
    }

    /// From now on the lane admits nothing. What had arrived before is taken in.
    pub(crate) fn close(&self, lane: Lane) {
        self.lists.with(|lists| {
            // CLAIM: [local.closed] first the door, then what stood before it.
            lists.lane(lane).closed.set(true);
            lists.take_in(lane, self.arrivals(lane).close());
        });
    }

    #[inline]
    fn retire(&self, lane: Lane, task: &TaskRef) {
        // Away from home there is nothing to do: one that was refused there was never listed.
        self.lists.with(|lists| lists.retire(lane, task));
    }

    /// Takes a runnable that was woken on another thread.
    #[cold]
    fn receive_woken(&self, runnable: Runnable) {
        match self.wakes.push(runnable) {
            Pushed::First => self.driver.unpark(),
            Pushed::Queued => {}
            // CLAIM: [local.home-only] this inbox is never closed: while a task has a future its
            // executor is there to take it.
            Pushed::Closed(runnable) => drop(runnable),
        }
    }
}

impl Schedule for Shared {
    #[inline]
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        // One queue, first in first out: a yield goes to its tail as everything else does.
        if self.is_home() {
            // SAFETY: [bound.home] just asked.
            unsafe { self.lists.at_home(|lists| lists.push(runnable)) }
        } else {
            self.receive_woken(runnable);
        }
    }

    #[inline]
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
