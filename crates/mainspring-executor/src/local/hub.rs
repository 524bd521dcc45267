//! An executor as whoever spawns on it sees it: its shared part and a scheduler per lane.
//!
//! # Invariants
//!
//! - **hub.home** — a future that is not `Send` is spawned at home only: by the executor, which
//!   does not leave its thread, or through what is current where it runs.

use super::shared::{Admission, Cleanups, Counts, Shared, SharedRef};
use crate::pool::{Metrics, WorkerMetrics};
use crate::shutdown::Overruns;
use mainspring_core::blocking::BlockingGroup;
use mainspring_core::driver::DriverHandle;
use mainspring_core::spawn::{Lane, Launch, Overran};
use mainspring_core::sync;
use mainspring_core::task::{self, JoinHandle, LocalSchedule, Runnable, SchedulerRef, TaskInfo};
use mainspring_core::time;
use std::future::Future;
use std::sync::Arc;

/// Cloned into every handle; any thread may hold one.
#[derive(Clone)]
pub(crate) struct Hub {
    pub(crate) shared: SharedRef,
    tasks: SchedulerRef,
    cleanups: SchedulerRef,
    blocking: BlockingGroup,
    overruns: Arc<Overruns>,
}

impl Hub {
    pub(crate) fn new(driver: Arc<dyn DriverHandle>) -> Self {
        let shared = Shared::new(driver);
        let tasks = SchedulerRef::local(shared.clone());
        let cleanups = SchedulerRef::from(sync::Arc::new(Cleanups(shared.clone())));
        Self {
            shared,
            tasks,
            cleanups,
            blocking: BlockingGroup::new(),
            overruns: Arc::default(),
        }
    }

    /// The scheduler of [`Lane::Tasks`].
    pub(crate) fn tasks(&self) -> &SchedulerRef {
        &self.tasks
    }

    /// The jobs that the shutdown waits for.
    pub(crate) fn blocking(&self) -> &BlockingGroup {
        &self.blocking
    }

    pub(super) fn overruns(&self) -> &Overruns {
        &self.overruns
    }

    /// What the tasks of a lane are at, newest first. At home only.
    pub(crate) fn infos(&self, lane: Lane) -> Option<Vec<TaskInfo>> {
        if !self.shared.is_home() {
            return None;
        }
        let now = time::now();
        let tasks = self.shared.tasks(lane);
        Some(tasks.iter().map(|task| task.info(now)).collect())
    }

    /// What the executor has done. At home only.
    pub(crate) fn metrics(&self) -> Option<Metrics> {
        let (Counts { polls, parks }, queued) = self.shared.counts()?;
        Some(Metrics {
            workers: vec![WorkerMetrics {
                polls,
                parks,
                queued,
                ..WorkerMetrics::default()
            }],
            tasks: self.shared.alive(Lane::Tasks),
            ..Metrics::default()
        })
    }

    /// Makes a task of this executor, whose home the calling thread is.
    ///
    /// # Safety
    ///
    /// The calling thread is home.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        debug_assert!(self.shared.is_home(), "hub.home: spawned away from home");
        // SAFETY: [hub.home] this thread is home, so nothing is moved.
        let (runnable, handle) =
            unsafe { task::create_local_unchecked(future, self.tasks.clone()) };
        // SAFETY: [hub.home] the caller's contract.
        let admission = unsafe { self.shared.admit_here(Lane::Tasks, runnable) };
        if let Admission::Refused(runnable) = admission {
            refuse(runnable);
        }
        handle
    }
}

impl Launch for Hub {
    fn scheduler(&self, lane: Lane) -> SchedulerRef {
        match lane {
            Lane::Tasks => self.tasks.clone(),
            Lane::Cleanup => self.cleanups.clone(),
        }
    }

    #[inline]
    fn launch(&self, runnable: Runnable, lane: Lane) {
        match self.shared.admit(lane, runnable) {
            Admission::Admitted => {}
            Admission::Refused(runnable) => refuse(runnable),
        }
    }

    fn overran(&self, overran: Overran) {
        self.overruns.note(overran);
    }
}

/// Cancels the task, here: it is `Send`, or this is its home.
#[cold]
fn refuse(runnable: Runnable) {
    drop(runnable);
}
