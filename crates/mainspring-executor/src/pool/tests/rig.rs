//! Workers without threads of their own: whoever holds one steps it.

use crate::pool::lane::{Lane, LaneRef};
use crate::pool::remote::Remote;
use crate::pool::shared::{Shared, SharedRef, Tasks};
use crate::pool::worker::Worker;
use crate::queue::local::Local;
use mainspring_core::driver::Driver;
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
use mainspring_core::driver::ThreadDriver;
use mainspring_core::spawn;
use mainspring_core::sync;
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
use mainspring_core::task::Resident;
use mainspring_core::task::{self, JoinHandle, Runnable, SchedulerRef};
use std::future::Future;

/// A pool's inside.
pub(crate) struct Rig {
    pub(crate) shared: SharedRef,
    tasks: SchedulerRef,
}

/// A worker that is not at home yet.
pub(crate) struct Berth {
    shared: SharedRef,
    index: usize,
    queue: Local<Runnable>,
    driver: Box<dyn Driver>,
}

/// As many workers as there are drivers.
pub(crate) fn rig(drivers: Vec<Box<dyn Driver>>) -> (Rig, Vec<Berth>) {
    let queues: Vec<Local<Runnable>> = drivers.iter().map(|_| Local::new()).collect();
    let pairs = drivers.iter().zip(&queues);
    let remotes = pairs.map(|(driver, queue)| Remote::new(queue.stealer(), driver.handle()));
    let shared = Shared::new(remotes.collect(), None);
    let tasks = SchedulerRef::from(sync::Arc::new(Tasks(shared.clone())));
    let berths = drivers.into_iter().zip(queues).enumerate();
    let berths = berths.map(|(index, (driver, queue))| Berth {
        shared: shared.clone(),
        index,
        queue,
        driver,
    });
    let berths = berths.collect();
    (Rig { shared, tasks }, berths)
}

/// Workers that wait on their threads.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
pub(crate) fn parking(workers: usize) -> (Rig, Vec<Berth>) {
    rig((0..workers)
        .map(|_| Box::new(ThreadDriver::new()) as Box<dyn Driver>)
        .collect())
}

impl Berth {
    /// The worker, on its thread, which is the calling one, and its lane.
    pub(crate) fn settle(self) -> (Worker, LaneRef) {
        let lane = Lane::new(self.shared.clone(), self.index);
        let worker = Worker::new(
            self.shared,
            self.index,
            self.queue,
            lane.clone(),
            self.driver,
        );
        (worker, lane)
    }
}

impl Rig {
    /// How the pool's handles spawn.
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, handle) = task::create(future, self.tasks.clone());
        drop(self.shared.launch(spawn::Lane::Tasks, runnable));
        handle
    }

    /// Makes this thread one of the pool's, as far as counting references goes.
    #[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
    pub(crate) fn enter(&self) -> Resident {
        self.tasks.enter()
    }

    /// The same for tasks, which may outlive this.
    pub(crate) fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            tasks: self.tasks.clone(),
        }
    }
}

/// How a worker's own thread spawns on its lane.
pub(crate) fn spawn_on<F: Future + 'static>(lane: &LaneRef, future: F) -> JoinHandle<F::Output> {
    let (runnable, handle) = task::create_local(future, SchedulerRef::local(lane.clone()));
    drop(lane.launch(runnable));
    handle
}
