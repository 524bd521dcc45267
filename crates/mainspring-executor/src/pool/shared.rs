//! What the workers of a pool share, and where a task goes that was woken.
//!
//! # Who may touch what
//!
//! | what | who |
//! |---|---|
//! | a worker's queue, at the back | its thread, through its [`Desk`] |
//! | a worker's queue, at the front | its thread, and thieves |
//! | a worker's slot | its thread; a rescuer swaps it out |
//! | a worker's lane | its thread; others through its inbox |
//! | the injector | everybody |
//! | the idle word | everybody, by read-modify-writes; the watchdog only while all sleep |
//! | a worker's pulse | its thread; the watchdog reads |
//! | the spare's post | the watchdog and the spare, under its lock |
//!
//! # Invariants
//!
//! - **pool.queued-once** — a runnable is in one of these places, or in the hands of a worker.
//! - **pool.noticed** — who pushes shared work from a thread that is no worker of the pool looks at
//!   the idle word afterwards, behind a fence. A worker that pushes a second task to its own queue
//!   looks without one, and again behind one at the end of each turn while two are left. One that
//!   has a single task to run comes to it next, and wakes nobody for it.
//! - **pool.rescued** — what is taken from a worker that is stuck goes into the injector, each task
//!   once, and is noticed as what is pushed from outside. It is harmless if the worker was not
//!   stuck: it finds its task gone, or takes it out of the injector.

use super::desk::{self, Desk};
use super::idle::Idle;
use super::registry::{OnAdmit, Registry};
use super::remote::Remote;
use super::spare::Spare;
use super::watchdog::Stalls;
use crate::queue::local::{Local, Stolen};
use mainspring_core::park::Unparker;
use mainspring_core::spawn::Lane;
use mainspring_core::sync;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::sync::queue::SegQueue;
use mainspring_core::task::{Runnable, Schedule, TaskRef, WakeCause};

/// How tasks and handles hold their pool: the door's `Arc`, which models watch.
pub(crate) type SharedRef = sync::Arc<Shared>;

/// One pool.
pub(crate) struct Shared {
    injector: SegQueue<Runnable>,
    pub(crate) idle: Idle,
    pub(crate) remotes: Box<[Remote]>,
    pub(crate) registry: Registry,
    pub(crate) spare: Spare,
    pub(crate) stalls: Stalls,
    /// The workers' threads are to end.
    is_stopping: AtomicBool,
    /// They are to end as soon as no task is left.
    is_ending: AtomicBool,
}

impl Shared {
    /// Workers, and who is called when the first of them wakes, if somebody is.
    pub(crate) fn new(remotes: Vec<Remote>, watchdog: Option<Unparker>) -> SharedRef {
        let workers = remotes.len();
        let idle = Idle::new(workers);
        sync::Arc::new(Self {
            injector: SegQueue::new(),
            idle: match watchdog {
                Some(watchdog) => idle.watched(watchdog),
                None => idle,
            },
            remotes: remotes.into(),
            registry: Registry::new(workers),
            spare: Spare::new(),
            stalls: Stalls::default(),
            is_stopping: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
        })
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.remotes.len()
    }

    /// Lists a new task and queues it. Gives it back if its lane is closed.
    #[inline]
    pub(crate) fn launch(&self, lane: Lane, runnable: Runnable) -> Option<Runnable> {
        // SAFETY: [registry.listed] the schedulers of this pool retire their tasks from here.
        let admitted = unsafe { self.registry.admit(lane, runnable.task()) };
        if admitted == OnAdmit::Refused {
            return Some(runnable);
        }
        self.schedule(runnable, WakeCause::Spawn);
        None
    }

    /// Queues a shared task.
    #[inline]
    pub(crate) fn schedule(&self, runnable: Runnable, why: WakeCause) {
        let refused = desk::with_current(self, runnable, |desk, runnable| {
            desk.take(self, runnable, why);
        });
        if let Some(runnable) = refused {
            self.inject(runnable);
        }
    }

    /// Queues a shared task from outside.
    fn inject(&self, runnable: Runnable) {
        // CLAIM: [pool.queued-once] moved into the queue; who pops it has it alone.
        self.injector.push(runnable);
        self.notice_injected();
    }

    fn notice_injected(&self) {
        // CLAIM: [pool.noticed] after the push, behind a fence.
        match self.idle.notify(0) {
            None => self.spare.rouse(),
            chosen => self.unpark(chosen),
        }
    }

    /// By a rescuer, of a worker that is stuck: takes what stands in its slot and its queue to the
    /// injector. Returns how many tasks that were. The basket is empty before and afterwards.
    pub(crate) fn rescue(&self, worker: usize, basket: &Local<Runnable>) -> usize {
        let Remote { slot, queue, .. } = &self.remotes[worker];
        // Those that stand there now: one that is stuck in a loop may push for ever.
        let most = queue.len() + 1;
        let mut rescued = 0;
        let mut take = |runnable| {
            // CLAIM: [pool.rescued] taken out once, by a swap or by a steal, and pushed once.
            self.injector.push(runnable);
            rescued += 1;
            rescued < most
        };
        let mut is_more = slot.take().is_none_or(&mut take);
        while is_more {
            match queue.steal_half(basket) {
                Stolen::One(first) => is_more = take(first),
                // Whoever was faster has it: a thief, or the worker, which is not stuck then.
                Stolen::Retry | Stolen::Nothing => break,
            }
            while let Some(runnable) = basket.pop() {
                is_more &= take(runnable);
            }
        }
        if rescued > 0 {
            self.notice_injected();
        }
        rescued
    }

    /// Takes up to its share out of the injector: one to run, the others into the desk's queue.
    pub(crate) fn take_injected(&self, desk: &Desk) -> Option<Runnable> {
        /// As a thief's batch: so many move with one notification.
        const BATCH: usize = 32;
        let waiting = self.injector.len();
        if waiting == 0 {
            return None;
        }
        let first = self.injector.pop()?;
        let share = (waiting / self.workers()).min(BATCH);
        for _ in 1..share {
            let Some(runnable) = self.injector.pop() else {
                break;
            };
            desk.keep(runnable);
        }
        Some(first)
    }

    /// Takes one out of the injector, for a thread that has no queue.
    pub(crate) fn pop_injected(&self) -> Option<Runnable> {
        self.injector.pop()
    }

    /// How many tasks wait in the injector.
    pub(crate) fn injected(&self) -> usize {
        self.injector.len()
    }

    /// Whether shared work stands anywhere, for who is about to sleep.
    pub(crate) fn has_shared_work(&self) -> bool {
        !self.injector.is_empty() || self.remotes.iter().any(|remote| !remote.queue.is_empty())
    }

    /// Unparks a worker that was chosen.
    #[inline]
    pub(crate) fn unpark(&self, chosen: Option<usize>) {
        if let Some(worker) = chosen {
            match self.remotes.get(worker) {
                Some(remote) => remote.driver.unpark(),
                // The number above the workers'.
                None => self.spare.unpark(),
            }
        }
    }

    /// Whether the workers' threads are to end.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        if self.is_ending.load(Relaxed) && !self.is_stopping.load(Relaxed) && self.ends_now() {
            self.stop();
        }
        self.is_stopping.load(Relaxed)
    }

    /// The worker that finds that no task is left, after both lanes were closed, stops them all.
    pub(crate) fn stop_when_empty(&self) {
        self.is_ending.store(true, Relaxed);
        for remote in &self.remotes {
            // The unpark publishes the flag to the park that it ends.
            remote.driver.unpark();
        }
    }

    /// By a worker, after a turn: whether the pool has been left to itself and is empty. One that
    /// asks for the last task's end asks afterwards, for it is not retired before that.
    #[cold]
    fn ends_now(&self) -> bool {
        [Lane::Tasks, Lane::Cleanup].map(|lane| self.registry.len(lane)) == [0, 0]
    }

    /// Tells every worker to end. Each sees it at the end of its turn.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Relaxed);
        for remote in &self.remotes {
            // The unpark publishes the flag to the park that it ends.
            remote.driver.unpark();
        }
        self.spare.unpark();
        self.idle.call_watchdog();
    }
}

/// The scheduler of a pool's [`Lane::Tasks`].
pub(crate) struct Tasks(pub(crate) SharedRef);

impl Schedule for Tasks {
    #[inline]
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.0.schedule(runnable, why);
    }

    #[inline]
    fn retire(&self, task: &TaskRef) {
        self.0.registry.retire(Lane::Tasks, task);
    }
}

/// The scheduler of a pool's [`Lane::Cleanup`].
pub(crate) struct Cleanups(pub(crate) SharedRef);

impl Schedule for Cleanups {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.0.schedule(runnable, why);
    }

    fn retire(&self, task: &TaskRef) {
        self.0.registry.retire(Lane::Cleanup, task);
    }
}
