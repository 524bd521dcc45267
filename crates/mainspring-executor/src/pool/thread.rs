//! A worker's thread: builds its driver, makes everything current, and drives the worker to the
//! end.
//!
//! # How a pool starts
//!
//! ```text
//!   builder                             each thread
//!   ───────                             ───────────
//!   spawn ────────────────────────────▶ build the driver (or say why not)
//!   all handles ◀────────────────────── its handle
//!   Shared ───────────────────────────▶ the lane
//!   all lanes ◀──────────────────────── its lane
//!   Hub ──────────────────────────────▶ work
//! ```
//!
//! A builder that gives up drops its ends, and the threads that wait for the next message go home.

use super::PoolHandle;
use super::desk::Seated;
use super::hub::{Hub, OwnLane, Station};
use super::lane::Lane;
use super::shared::SharedRef;
use super::worker::{Doze, Worker};
use crate::queue::local::Local;
use crate::worker::Step;
use mainspring_core::budget;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, Until};
use mainspring_core::load::{self, Load};
use mainspring_core::payload::absorb;
use mainspring_core::spawn::{self, LocalSpawner};
use mainspring_core::task::{Runnable, SchedulerRef};
use mainspring_core::time::{self, Domain, Nanos};
use std::io;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// Makes the drivers, each on its worker's thread.
pub(super) type MakeDriver = dyn Fn(usize) -> io::Result<Box<dyn Driver>> + Send + Sync;

/// Called on each worker's thread, when it starts or ends.
pub(super) type Hook = dyn Fn(usize) + Send + Sync;

/// What the threads of one pool are told.
pub(super) struct Plan {
    pub(super) driver: Box<MakeDriver>,
    /// What each poll may do.
    pub(super) budget: NonZeroU32,
    /// All threads of the pool have the same time.
    pub(super) domain: Domain,
    pub(super) on_start: Option<Box<Hook>>,
    pub(super) on_stop: Option<Box<Hook>>,
}

impl Plan {
    /// Makes the driver of this thread, in the pool's time.
    pub(super) fn make_driver(&self, number: usize) -> io::Result<Box<dyn Driver>> {
        let _domain = self.domain.enter();
        (self.driver)(number)
    }
}

/// What a thread says to its builder.
pub(super) enum Report {
    /// Its driver is there.
    Driver(usize, Arc<dyn DriverHandle>),
    /// Its driver is not to be had.
    Failed(io::Error),
    /// Its lane is there.
    Lane(usize, Station),
}

/// What a builder says to a thread.
pub(super) enum Order {
    /// All drivers are there.
    Meet(SharedRef),
    /// All lanes are there.
    Work(Hub),
}

/// The body of a worker's thread.
pub(super) fn run(
    plan: &Plan,
    index: usize,
    queue: Local<Runnable>,
    reports: &Sender<Report>,
    orders: &Receiver<Order>,
) {
    let (driver, handle) = match build(plan, index) {
        Ok(built) => built,
        Err(error) => {
            let _ = reports.send(Report::Failed(error));
            return;
        }
    };
    let _ = reports.send(Report::Driver(index, Arc::clone(&handle)));
    let Ok(Order::Meet(shared)) = orders.recv() else {
        return;
    };
    let lane = Lane::new(shared.clone(), index);
    let station = Station {
        lane: lane.clone(),
        scheduler: SchedulerRef::local(lane.clone()),
    };
    let _ = reports.send(Report::Lane(index, station.clone()));
    let Ok(Order::Work(hub)) = orders.recv() else {
        return;
    };
    let mut worker = Worker::new(shared.clone(), index, queue, lane, driver);
    {
        let _here = enter(&hub, station, &*handle, index);
        let _resident = hub.tasks().enter();
        let _budget = budget::enter(plan.budget);
        let _seated = Seated::sit(worker.desk());
        call(plan.on_start.as_deref(), index);
        drive(&mut worker, &shared);
        call(plan.on_stop.as_deref(), index);
    }
    // The driver goes on the thread where it was made, and says goodbye to what waits in it.
    drop(worker);
}

/// The driver and its handle. A maker that panics is one that fails: the other threads, which wait
/// for orders, would keep the builder waiting for this one's report.
pub(super) fn build(
    plan: &Plan,
    index: usize,
) -> io::Result<(Box<dyn Driver>, Arc<dyn DriverHandle>)> {
    let mut built = None;
    absorb(|| {
        built = Some(plan.make_driver(index).map(|driver| {
            let handle = driver.handle();
            (driver, handle)
        }));
    });
    built.unwrap_or_else(|| {
        let why = format!("making the driver of worker {index} panicked");
        Err(io::Error::other(why))
    })
}

fn call(hook: Option<&Hook>, index: usize) {
    if let Some(hook) = hook {
        // A hook's panic has been reported, and is no reason to lose a worker.
        absorb(|| hook(index));
    }
}

/// What is current on a worker's thread for its whole life.
fn enter(hub: &Hub, station: Station, driver: &dyn DriverHandle, index: usize) -> Entered {
    let local = LocalSpawner::of(Rc::new(OwnLane(station)));
    let lateness: Arc<dyn Load> = Arc::new(Lateness {
        hub: hub.clone(),
        worker: index,
    });
    driver
        .enter()
        .and(PoolHandle::new(hub.clone()).enter())
        .and(spawn::enter_local(&local))
        .and(load::enter(lateness))
}

/// Turn after turn, until the pool stops.
pub(super) fn drive(worker: &mut Worker, shared: &SharedRef) {
    let mut now = time::now();
    while !shared.is_stopping() {
        let until = match worker.step(now) {
            Step::Busy => {
                worker.over(time::now());
                Until::Now
            }
            Step::Idle => match worker.doze() {
                Doze::Again => Until::Now,
                Doze::Sleep => Until::Forever,
            },
        };
        now = worker.park(until);
        if until == Until::Forever {
            worker.wake_up();
        }
    }
    // What is left here if the pool has been ended without this worker: aborted tasks.
    worker.clear();
    worker.leave();
}

/// How late the tasks of a worker run, and whether any task of the pool waits for a worker.
struct Lateness {
    hub: Hub,
    worker: usize,
}

impl Load for Lateness {
    fn delay(&self) -> Option<Nanos> {
        self.hub.shared().remotes[self.worker].counters.delay()
    }

    fn has_work(&self) -> bool {
        self.hub.has_work()
    }
}
