//! What an executor tells when it has ended.

use mainspring_core::blocking::JobInfo;
use mainspring_core::task::TaskInfo;
use std::fmt;
use std::time::Duration;

/// What a shutdown came to: who had to be dropped, and what each of them waited for.
///
/// [`is_clean`](Self::is_clean) is what most callers look at; its `Display` names everybody else,
/// a line each.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Tasks that had not ended when the grace was over, as they were then. They were dropped.
    pub dropped: Vec<TaskInfo>,
    /// Cleanups that had not ended at the deadline, as they were then. They were dropped.
    pub unfinished_cleanups: Vec<TaskInfo>,
    /// Jobs on the blocking pool that were refused because they had not begun.
    pub refused_jobs: usize,
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
            && self.refused_jobs == 0
            && self.abandoned_jobs.is_empty()
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
        if self.refused_jobs > 0 {
            write!(f, "\n{} queued blocking jobs refused", self.refused_jobs)?;
        }
        for job in &self.abandoned_jobs {
            write!(f, "\nleft behind: {job}")?;
        }
        Ok(())
    }
}
