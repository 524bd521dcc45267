//! The worker that is there while all others are stuck.
//!
//! The watchdog starts its thread when the last worker gets stuck, and dismisses it when one is
//! back. It takes what the watchdog has rescued, and what comes from outside, out of the injector;
//! it has no slot and no queue, so nothing has to be rescued from it but the task that it polls. It
//! is in nobody's count of sleepers and searchers.
//!
//! # Invariants
//!
//! - **spare.one** — a pool has one at most: under the lock of its post a thread leaves, or is
//!   wanted, not both at once.
//! - **spare.home** — it does not leave while tasks live that were spawned with `spawn_local` by
//!   tasks that it polled: their home is its thread. Dismissed, it polls no others.
//! - **spare.roused** — who injects something looks whether it sleeps, without a fence; a push that
//!   it has missed and that has missed it waits for the watchdog's next round.
//!
//! # Rejected
//!
//! A spare without a driver: over the ring an operation begins in the ring of the thread that
//! polls, and a ring whose worker is stuck submits nothing that other threads hand in. A connection
//! that does two things one after the other would wait for the stuck poll after the first.

use super::PoolHandle;
use super::hub::Hub;
use super::lane::{Lane, LaneRef};
use super::pulse::Pulse;
use super::shared::Shared;
use super::thread;
use crate::drive::Drive;
use crate::pace::Pace;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver, Until};
use mainspring_core::spawn::{self, Lane as Kind, Launch, LocalSpawner};
use mainspring_core::sync;
use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use mainspring_core::task::{LocalSchedule, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause};
use mainspring_core::time::{self, Nanos};
use mainspring_core::{budget, poll};
use std::rc::Rc;
use std::sync::Arc;

/// The place of the spare worker, whether or not somebody is there.
pub(crate) struct Spare {
    pub(super) pulse: Arc<Pulse>,
    is_asleep: AtomicBool,
    post: Mutex<Post>,
}

#[derive(Default)]
struct Post {
    /// All workers are stuck.
    is_wanted: bool,
    /// There is a thread, or one is about to be started.
    is_manned: bool,
    driver: Option<Arc<dyn DriverHandle>>,
}

/// Whether a thread has to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a post that counts as manned needs a thread"]
pub(super) enum OnWant {
    /// Start one, or say that it [could not be](Spare::give_up).
    Start,
    /// One is there.
    There,
}

/// Whether the spare goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a post that was left counts as empty"]
enum OnLeave {
    /// It goes.
    Leave,
    /// It polls whatever there is.
    Serve,
    /// It polls its own tasks.
    Stay,
}

impl Spare {
    pub(super) fn new() -> Self {
        Self {
            pulse: Pulse::new(),
            is_asleep: AtomicBool::new(false),
            post: Mutex::new(Post::default()),
        }
    }

    /// By the watchdog: all workers are stuck.
    pub(super) fn want(&self) -> OnWant {
        let mut post = self.post.lock();
        post.is_wanted = true;
        // CLAIM: [spare.one]
        if std::mem::replace(&mut post.is_manned, true) {
            OnWant::There
        } else {
            OnWant::Start
        }
    }

    /// By the watchdog: no thread could be started.
    pub(super) fn give_up(&self) {
        *self.post.lock() = Post::default();
    }

    /// By the watchdog: some worker is not stuck.
    pub(super) fn dismiss(&self) {
        let was_wanted = std::mem::replace(&mut self.post.lock().is_wanted, false);
        if was_wanted {
            self.unpark();
        }
    }

    /// By the watchdog: whether it is there because all workers are stuck.
    pub(super) fn is_wanted(&self) -> bool {
        self.post.lock().is_wanted
    }

    /// By the watchdog: serves its timers and sockets while it is stuck.
    pub(super) fn rescue(&self, now: Nanos, limit: usize) {
        if let Some(driver) = self.driver() {
            driver.rescue(now, limit);
        }
    }

    fn driver(&self) -> Option<Arc<dyn DriverHandle>> {
        self.post.lock().driver.clone()
    }

    /// Something was injected, and nobody else has been woken for it.
    #[inline]
    pub(super) fn rouse(&self) {
        // CLAIM: [spare.roused]
        if self.is_asleep.load(Relaxed) {
            self.unpark();
        }
    }

    /// Ends its wait, if it is there.
    pub(super) fn unpark(&self) {
        // Outside the lock: what a driver does is its own.
        if let Some(driver) = self.driver() {
            driver.unpark();
        }
    }

    fn man(&self, driver: &Arc<dyn DriverHandle>) {
        self.post.lock().driver = Some(Arc::clone(driver));
    }

    /// By the spare: what it is to do next. `tasks` are at home here.
    fn next_step(&self, tasks: usize, is_stopping: bool) -> OnLeave {
        let mut post = self.post.lock();
        // CLAIM: [spare.home] [spare.one]
        if is_stopping || (!post.is_wanted && tasks == 0) {
            *post = Post::default();
            OnLeave::Leave
        } else if post.is_wanted {
            OnLeave::Serve
        } else {
            OnLeave::Stay
        }
    }
}

/// The body of the spare's thread.
pub(super) fn run(hub: &Hub) {
    let plan = hub.seats().plan();
    let number = hub.seats().next_number();
    let (driver, handle) = thread::build(plan, number).unwrap_or_else(|error| {
        eprintln!(
            "mainspring: MS0019 the spare worker goes without a driver of its own: {error} \
             (docs/errors.md)"
        );
        let driver = ThreadDriver::new();
        let handle = driver.handle();
        (Box::new(driver) as Box<dyn Driver>, handle)
    });
    let shared = hub.shared();
    shared.spare.man(&handle);
    let own = Own::new(Lane::new(shared.clone(), shared.workers()));
    let mut drive = Drive::new(driver);
    {
        let _here = enter(hub, &own, &*handle);
        let _resident = hub.tasks().enter();
        let _budget = budget::enter(plan.budget);
        serve(shared, &own, &mut drive);
    }
    // The driver goes last, on the thread where it was made: who waits in it is told, and waits
    // elsewhere.
    drop(drive);
}

/// What is current on the spare's thread.
fn enter(hub: &Hub, own: &sync::Arc<Own>, driver: &dyn DriverHandle) -> Entered {
    let local = LocalSpawner::of(Rc::new(OwnSpawner {
        own: own.clone(),
        scheduler: SchedulerRef::local(own.clone()),
    }));
    driver
        .enter()
        .and(PoolHandle::new(hub.clone()).enter())
        .and(spawn::enter_local(&local))
}

/// Turn after turn, until it may leave.
fn serve(shared: &Shared, own: &Own, drive: &mut Drive) {
    let spare = &shared.spare;
    let mut pace = Pace::new();
    let mut now = time::now();
    loop {
        let step = spare.next_step(own.tasks.load(Relaxed), shared.is_stopping());
        if step == OnLeave::Leave {
            return;
        }
        poll::begin_turn(now);
        own.lane.take_in();
        let (polls_max, mut polls) = (pace.begin(now), 0);
        spare.pulse.begin_turn();
        while polls < polls_max {
            let next = own.lane.pop().or_else(|| match step {
                OnLeave::Serve => shared.pop_injected(),
                OnLeave::Stay | OnLeave::Leave => None,
            });
            let Some(runnable) = next else { break };
            spare.pulse.begin_poll(runnable.id());
            // SAFETY: [lane.home] a task of the lane is at home on this thread; all others are at
            // home everywhere.
            let _ran = unsafe { runnable.run_at_home() };
            polls += 1;
            if drive.peek() {
                break;
            }
        }
        spare.pulse.end_turn();
        pace.end(now, polls, polls > 0);
        let until = if polls > 0 {
            Until::Now
        } else {
            Until::Forever
        };
        if until == Until::Forever {
            spare.is_asleep.swap(true, Relaxed);
        }
        // CLAIM: [spare.roused] a look after the flag, as far as it can be without a fence.
        let is_needed = own.lane.has_work()
            || (step == OnLeave::Serve && shared.injected() > 0)
            || shared.is_stopping();
        now = drive.park(if is_needed { Until::Now } else { until }).now;
        if until == Until::Forever {
            spare.is_asleep.swap(false, Relaxed);
        }
    }
}

/// The scheduler of the tasks whose home the spare's thread is.
struct Own {
    lane: LaneRef,
    /// How many of them have not ended.
    tasks: AtomicUsize,
}

impl Own {
    fn new(lane: LaneRef) -> sync::Arc<Self> {
        sync::Arc::new(Self {
            lane,
            tasks: AtomicUsize::new(0),
        })
    }
}

impl Schedule for Own {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.lane.schedule(runnable, why);
    }

    fn retire(&self, task: &TaskRef) {
        self.lane.retire(task);
        self.tasks.fetch_sub(1, Relaxed);
    }
}

// SAFETY: [lane.home] the lane's home is ours.
unsafe impl LocalSchedule for Own {
    fn is_home(&self) -> bool {
        self.lane.is_home()
    }
}

/// How tasks that the spare polls spawn local ones.
struct OwnSpawner {
    own: sync::Arc<Own>,
    scheduler: SchedulerRef,
}

impl Launch for OwnSpawner {
    fn scheduler(&self, _lane: Kind) -> SchedulerRef {
        self.scheduler.clone()
    }

    fn launch(&self, runnable: Runnable, _lane: Kind) {
        // CLAIM: [spare.home] one that is refused is retired, too.
        self.own.tasks.fetch_add(1, Relaxed);
        drop(self.own.lane.launch(runnable));
    }
}

#[cfg(all(
    test,
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
mod tests;
