//! A pool as whoever spawns on it sees it.
//!
//! # Invariants
//!
//! - **pool-hub.packed** — a task that is pinned from another thread holds, until its first poll at
//!   home, the closure that makes its future, which is `Send`, and nothing else.

use super::lane::LaneRef;
use super::seat::Seats;
use super::shared::{Cleanups, SharedRef, Tasks};
use crate::shutdown::Overruns;
use mainspring_core::blocking::BlockingGroup;
use mainspring_core::shutdown::Controller;
use mainspring_core::spawn::{Lane, Launch, Overran, Spawner};
use mainspring_core::sync;
use mainspring_core::task::{self, JoinHandle, Runnable, SchedulerRef};
use std::future::Future;
use std::sync::Arc;

/// A worker's lane, for who pins tasks there.
#[derive(Clone)]
pub(crate) struct Station {
    pub(crate) lane: LaneRef,
    pub(crate) scheduler: SchedulerRef,
}

struct Inner {
    shared: SharedRef,
    tasks: SchedulerRef,
    stations: Box<[Station]>,
    spawner: Spawner,
    controller: Controller,
    blocking: BlockingGroup,
    overruns: Arc<Overruns>,
    seats: Arc<Seats>,
    name: Box<str>,
}

/// Cloned into every handle; any thread may hold one.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Inner>);

impl Hub {
    pub(super) fn new(
        shared: SharedRef,
        stations: Vec<Station>,
        seats: Arc<Seats>,
        name: Box<str>,
    ) -> Self {
        let overruns = Arc::new(Overruns::default());
        let launcher = Launcher {
            overruns: Arc::clone(&overruns),
            shared: shared.clone(),
            tasks: SchedulerRef::from(sync::Arc::new(Tasks(shared.clone()))),
            cleanups: SchedulerRef::from(sync::Arc::new(Cleanups(shared.clone()))),
        };
        Self(Arc::new(Inner {
            shared,
            tasks: launcher.tasks.clone(),
            stations: stations.into(),
            spawner: Spawner::of(launcher),
            controller: Controller::new(),
            blocking: BlockingGroup::new(),
            overruns,
            seats,
            name,
        }))
    }

    pub(crate) fn shared(&self) -> &SharedRef {
        &self.0.shared
    }

    pub(crate) fn tasks(&self) -> &SchedulerRef {
        &self.0.tasks
    }

    pub(crate) fn spawner(&self) -> &Spawner {
        &self.0.spawner
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.0.controller
    }

    pub(crate) fn blocking(&self) -> &BlockingGroup {
        &self.0.blocking
    }

    pub(super) fn overruns(&self) -> &Overruns {
        &self.0.overruns
    }

    pub(super) fn seats(&self) -> &Arc<Seats> {
        &self.0.seats
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether a task is ready, or a worker called for one, that has not woken up yet; asked while
    /// all threads wait. One that wakes a task from outside may have queued it and not called yet,
    /// and whoever wakes another relies on that call.
    pub(super) fn has_work(&self) -> bool {
        let (asleep, _) = self.shared().idle.counts();
        // Workers that end, or have, sleep no more.
        !self.shared().is_stopping()
            && (asleep < self.shared().workers()
                || self
                    .0
                    .stations
                    .iter()
                    .any(|station| station.lane.has_mail()))
    }

    #[inline]
    #[track_caller]
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, handle) = task::create(future, self.tasks().clone());
        if let Some(refused) = self.shared().launch(Lane::Tasks, runnable) {
            refuse(refused);
        }
        handle
    }

    /// Pins a task to a worker: `make` is called there, and its future polled and dropped there
    /// only. `None` if there is no such worker.
    #[track_caller]
    pub(crate) fn spawn_pinned<M, F>(&self, worker: usize, make: M) -> Option<JoinHandle<F::Output>>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let station = self.0.stations.get(worker)?;
        let journey = crate::home::Journey::packed(make);
        // SAFETY: [pool-hub.packed] what crosses threads is `make`, which is `Send`; the output is
        // `Send` and goes to the handle.
        let (runnable, handle) =
            unsafe { task::create_local_unchecked(journey, station.scheduler.clone()) };
        if let Some(refused) = station.lane.launch(runnable) {
            // SAFETY: [pool-hub.packed] never polled: its destructor runs that of `make` alone.
            unsafe { refused.cancel_unchecked() };
        }
        Some(handle)
    }
}

/// The pool as core's spawner sees it.
struct Launcher {
    overruns: Arc<Overruns>,
    shared: SharedRef,
    tasks: SchedulerRef,
    cleanups: SchedulerRef,
}

impl Launch for Launcher {
    fn scheduler(&self, lane: Lane) -> SchedulerRef {
        match lane {
            Lane::Tasks => self.tasks.clone(),
            Lane::Cleanup => self.cleanups.clone(),
        }
    }

    #[inline]
    fn launch(&self, runnable: Runnable, lane: Lane) {
        if let Some(refused) = self.shared.launch(lane, runnable) {
            refuse(refused);
        }
    }

    fn overran(&self, overran: Overran) {
        self.overruns.note(overran);
    }
}

/// The lane of the worker whose thread this is, as core's local spawner sees it.
pub(super) struct OwnLane(pub(super) Station);

impl Launch for OwnLane {
    fn scheduler(&self, _lane: Lane) -> SchedulerRef {
        self.0.scheduler.clone()
    }

    fn launch(&self, runnable: Runnable, _lane: Lane) {
        if let Some(refused) = self.0.lane.launch(runnable) {
            refuse(refused);
        }
    }
}

/// Cancels the task, here: any thread may drop it, or this is its home.
#[cold]
fn refuse(runnable: Runnable) {
    drop(runnable);
}

#[cold]
#[track_caller]
pub(super) fn no_such_worker(worker: usize, workers: usize) -> ! {
    // PANIC: documented at the callers: a number that the program has made up.
    panic!(
        "MS0015: there is no worker {worker}: the pool has {workers}, numbered from 0 \
         (docs/errors.md)"
    )
}
