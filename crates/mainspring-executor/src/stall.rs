//! What is told of a poll that keeps its worker.

use mainspring_core::task::TaskInfo;
use mainspring_core::time::Nanos;
use std::fmt;
use std::time::Duration;

/// A task has been inside one poll for longer than the threshold, and its worker serves nobody
/// meanwhile: others do. Given to the hook of
/// [`PoolBuilder::on_stall`](crate::PoolBuilder::on_stall), when it is noticed and again when it is
/// over.
///
/// Its `Display` is a line without an end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StallReport {
    /// Which worker it keeps; `None` for the spare one, which is there while all are stuck.
    pub worker: Option<usize>,
    /// The task, as it was when this was noticed. `None` if it had ended by then: what takes so
    /// long is a destructor of its output.
    pub task: Option<TaskInfo>,
    /// How long the poll has taken so far: a lower bound, short of the truth by less than the
    /// threshold. When it is over, how long it took, with the same error to either side.
    pub duration: Duration,
    /// Whether it is over.
    pub is_over: bool,
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => write!(f, "worker {worker} ")?,
            None => f.write_str("the spare worker ")?,
        }
        let (duration, what) = (self.duration, Stalled(self.task.as_ref()));
        if self.is_over {
            write!(f, "is back after {duration:.1?} in one poll of {what}")
        } else {
            write!(f, "has been stuck for {duration:.1?} in one poll of {what}")
        }
    }
}

/// Which task.
struct Stalled<'a>(Option<&'a TaskInfo>);

impl fmt::Display for Stalled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(task) = self.0 else {
            return f.write_str("a task that has ended");
        };
        write!(f, "task {}", task.id)?;
        if let Some(name) = &task.name {
            write!(f, " \"{name}\"")?;
        }
        write!(f, ", spawned at {}", task.spawned_at)
    }
}

/// The lines on standard error, for a pool without a hook: of stalls that come close together the
/// first, and how many more there were.
#[derive(Default)]
pub(crate) struct Lines {
    /// When a stall was told last.
    told: Option<Nanos>,
    /// How many were noticed since and not told.
    untold: u32,
    /// The worker whose stall was told, while it is not over.
    open: Option<Option<usize>>,
}

impl Lines {
    /// The least time between two stalls that are told.
    const EVERY: Duration = Duration::from_secs(1);

    /// The line for this report, if it is to be told.
    pub(crate) fn line(&mut self, report: &StallReport, now: Nanos) -> Option<String> {
        if report.is_over {
            let is_told = self.open == Some(report.worker);
            self.open = self.open.filter(|_| !is_told);
            return is_told.then(|| format!("mainspring: {report} (MS0019)"));
        }
        let is_due = self.told.is_none_or(|told| now.since(told) >= Self::EVERY);
        if !is_due {
            self.untold += 1;
            return None;
        }
        self.told = Some(now);
        self.open = Some(report.worker);
        let others = match std::mem::take(&mut self.untold) {
            0 => String::new(),
            untold => format!("; {untold} more since the last report"),
        };
        Some(format!(
            "mainspring: MS0019 {report}; its other tasks run elsewhere{others} (docs/errors.md)"
        ))
    }
}

#[cfg(test)]
mod tests;
