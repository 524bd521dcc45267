//! What an executor tells when it has ended.

mod overruns;

pub(crate) use self::overruns::Overruns;

use mainspring_core::blocking::JobInfo;
use mainspring_core::spawn::Overran;
use mainspring_core::task::TaskInfo;
use mainspring_core::time::{Deadline, Nanos};
use std::fmt;
use std::time::Duration;

/// The two moments of a shutdown.
#[derive(Clone, Copy, Default)]
pub(crate) struct Moments {
    /// So long tasks are polled.
    pub(crate) grace: Deadline,
    /// Then it is over.
    pub(crate) deadline: Deadline,
}

impl Moments {
    /// Those of a shutdown that began then and may take `limit`: of it, tasks have `grace` at most,
    /// and half unless told otherwise.
    pub(crate) fn within(limit: Duration, grace: Option<Duration>, began: Nanos) -> Self {
        let grace = grace.unwrap_or(limit / 2).min(limit);
        Self {
            grace: Deadline::from_nanos(began.saturating_add(grace)),
            deadline: Deadline::from_nanos(began.saturating_add(limit)),
        }
    }
}

/// What a shutdown came to: who had to be dropped or left, and what each of them waited for.
///
/// [`is_clean`](Self::is_clean) is what most callers look at; its `Display` names everybody else,
/// a line each.
///
/// What was *dropped* or *refused* is gone, with all that it held. What was *left behind* is not:
/// it is leaked, unless the code that keeps it comes back one day.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Tasks that had not ended when the grace was over, as they were then. They were dropped.
    pub dropped: Vec<TaskInfo>,
    /// Cleanups that had not ended at the deadline, as they were then. They were dropped.
    pub unfinished_cleanups: Vec<TaskInfo>,
    /// Cleanups that were dropped during the shutdown because their own limit had passed.
    pub overran_cleanups: Vec<Overran>,
    /// Tasks and cleanups with a poll or a destructor that has not returned. Each keeps its thread,
    /// and both are left behind.
    pub stuck: Vec<TaskInfo>,
    /// Tasks that are at home on a thread which is stuck: nobody else may drop them, so they are
    /// left behind.
    pub stranded: Vec<TaskInfo>,
    /// Threads of the executor that have not ended: they are left behind.
    pub left_threads: Vec<ThreadInfo>,
    /// Jobs on the blocking pool that were refused because they had not begun.
    pub refused_jobs: Vec<JobInfo>,
    /// Jobs on the blocking pool that still run. Their threads go on; nobody waits for them.
    pub abandoned_jobs: Vec<JobInfo>,
    /// How long the shutdown took.
    pub took: Duration,
}

impl ShutdownReport {
    /// Whether everything ended by itself in time.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.dropped.is_empty()
            && self.unfinished_cleanups.is_empty()
            && self.overran_cleanups.is_empty()
            && self.refused_jobs.is_empty()
            && self.abandoned_jobs.is_empty()
            && !self.is_leaking()
    }

    /// Whether something of the executor itself was left behind: a thread, or a task that nobody
    /// could drop.
    #[must_use]
    pub fn is_leaking(&self) -> bool {
        !(self.stuck.is_empty() && self.stranded.is_empty() && self.left_threads.is_empty())
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clean = if self.is_clean() {
            "clean shutdown"
        } else {
            "shutdown"
        };
        write!(f, "{clean} in {:?}", self.took)?;
        for task in &self.dropped {
            write!(f, "\ndropped {task}")?;
        }
        for cleanup in &self.unfinished_cleanups {
            write!(f, "\ndropped cleanup, {cleanup}")?;
        }
        for overran in &self.overran_cleanups {
            write!(f, "\n{overran}")?;
        }
        for job in &self.refused_jobs {
            write!(f, "\nrefused: {job}")?;
        }
        for job in &self.abandoned_jobs {
            write!(f, "\nleft behind: {job}")?;
        }
        for task in &self.stuck {
            write!(f, "\nleft behind: {task}, which does not return")?;
        }
        for task in &self.stranded {
            write!(f, "\nleft behind: {task}, on a thread that is stuck")?;
        }
        for thread in &self.left_threads {
            write!(f, "\nleft behind: {thread}")?;
        }
        Ok(())
    }
}

/// A thread of an executor that was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// What it is called.
    pub name: Box<str>,
    /// The number of the worker that it is; `None` for the spare one, which drops what the others
    /// cannot come to.
    pub worker: Option<usize>,
    /// How many operations the kernel owns on behalf of its driver, with their memory; `None` where
    /// the driver cannot say, or has gone.
    pub in_flight: Option<usize>,
}

impl fmt::Display for ThreadInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the thread {}", self.name)?;
        match (self.worker, self.in_flight) {
            (None, _) => Ok(()),
            (Some(_), None | Some(0)) => f.write_str(" and its driver"),
            (Some(_), Some(1)) => f.write_str(" and its driver, with one operation in the kernel"),
            (Some(_), Some(many)) => {
                write!(f, " and its driver, with {many} operations in the kernel")
            }
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
