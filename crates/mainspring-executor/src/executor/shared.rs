//! What the tasks of an executor keep: their queue, and who sleeps.
//!
//! # Invariants
//!
//! - **executor.noticed** — a task is pushed, then, behind a fence, the sleepers are looked at; a
//!   runner lists itself as asleep, then, behind a fence, looks at the queue. One of them sees the
//!   other.
//! - **executor.handed-on** — a runner that leaves, or that was woken and finds more than it takes,
//!   wakes another as long as something is queued.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `executor.dekker` | `Shared::notify` | `Shared::fall_asleep` | fences: push, or listing |

use crate::pool::{OnAdmit, Registry};
use crate::shutdown::Overruns;
use mainspring_core::driver::DriverHandle;
use mainspring_core::spawn::{Lane, Launch, Overran};
use mainspring_core::sync;
use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use mainspring_core::sync::queue::SegQueue;
use mainspring_core::task::{Runnable, Schedule, SchedulerRef, TaskRef, WakeCause};
use std::sync::Arc;

pub(super) type SharedRef = sync::Arc<Shared>;

/// See the module.
pub(super) struct Shared {
    pub(super) queue: SegQueue<Runnable>,
    pub(super) registry: Registry,
    /// Who sleeps inside `run`.
    sleepers: Mutex<Sleepers>,
    /// How many they are: written under the lock.
    asleep: AtomicUsize,
}

#[derive(Default)]
struct Sleepers {
    next: u64,
    listed: Vec<(u64, Arc<dyn DriverHandle>)>,
}

impl Shared {
    pub(super) fn new() -> SharedRef {
        sync::Arc::new(Self {
            queue: SegQueue::new(),
            registry: Registry::new(1),
            sleepers: Mutex::new(Sleepers::default()),
            asleep: AtomicUsize::new(0),
        })
    }

    pub(super) fn push(&self, runnable: Runnable) {
        self.queue.push(runnable);
        // CLAIM: [executor.noticed] after the push.
        self.notify();
    }

    /// Wakes a runner that sleeps, if one does.
    pub(super) fn notify(&self) {
        // ORDERING: [executor.dekker] SeqCst fence, the producer's half: the push, the fence, the
        // look. Pairs with the one in `fall_asleep`; one step weaker, both may miss the other.
        fence(SeqCst);
        if self.asleep.load(Relaxed) == 0 {
            return;
        }
        let mut sleepers = self.sleepers.lock();
        let woken = sleepers.listed.pop();
        self.count(&sleepers);
        drop(sleepers);
        if let Some((_, driver)) = woken {
            driver.unpark();
        }
    }

    /// Lists a runner as asleep. It looks at the queue afterwards.
    pub(super) fn fall_asleep(&self, driver: &Arc<dyn DriverHandle>) -> u64 {
        let mut sleepers = self.sleepers.lock();
        let number = sleepers.next;
        sleepers.next += 1;
        sleepers.listed.push((number, Arc::clone(driver)));
        self.count(&sleepers);
        drop(sleepers);
        // ORDERING: [executor.dekker] SeqCst fence, the sleeper's half: the listing, the fence, the
        // look. Pairs with the one in `notify`.
        fence(SeqCst);
        number
    }

    pub(super) fn wake_up(&self, number: u64) {
        let mut sleepers = self.sleepers.lock();
        sleepers.listed.retain(|(other, _)| *other != number);
        self.count(&sleepers);
    }

    /// Under the lock, so that the last one to write tells the truth.
    fn count(&self, sleepers: &Sleepers) {
        self.asleep.swap(sleepers.listed.len(), Relaxed);
    }

    /// By who takes no more than it has.
    pub(super) fn hand_on(&self) {
        // CLAIM: [executor.handed-on]
        if !self.queue.is_empty() {
            self.notify();
        }
    }

    pub(super) fn launch(&self, lane: Lane, runnable: Runnable) {
        // SAFETY: [registry.listed] both schedulers retire their tasks from here.
        match unsafe { self.registry.admit(lane, runnable.task()) } {
            OnAdmit::Listed => self.push(runnable),
            // Cancels the task, here: any thread that may spawn it may drop it.
            OnAdmit::Refused => drop(runnable),
        }
    }
}

/// The scheduler of one lane.
pub(super) struct Scheduler {
    pub(super) shared: SharedRef,
    pub(super) lane: Lane,
}

impl Schedule for Scheduler {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        // One queue, first in first out: a yield goes to its end as everything else does.
        self.shared.push(runnable);
    }

    fn retire(&self, task: &TaskRef) {
        self.shared.registry.retire(self.lane, task);
    }
}

/// The executor as core's spawner sees it.
pub(super) struct Launcher {
    pub(super) shared: SharedRef,
    pub(super) tasks: SchedulerRef,
    pub(super) cleanups: SchedulerRef,
    pub(super) overruns: Arc<Overruns>,
}

impl Launch for Launcher {
    fn scheduler(&self, lane: Lane) -> SchedulerRef {
        match lane {
            Lane::Tasks => self.tasks.clone(),
            Lane::Cleanup => self.cleanups.clone(),
        }
    }

    fn launch(&self, runnable: Runnable, lane: Lane) {
        self.shared.launch(lane, runnable);
    }

    fn overran(&self, overran: Overran) {
        self.overruns.note(overran);
    }
}
