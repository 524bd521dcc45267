//! Ending a task from outside.

use super::{TaskId, TaskRef};
use std::fmt;

/// The right to abort a task, without the right to its output.
///
/// For watchdogs and supervisors that end tasks whose [`JoinHandle`] somebody else awaits. It keeps
/// the task's memory while it lives, but not its future.
///
/// [`JoinHandle`]: super::JoinHandle
#[derive(Clone)]
pub struct AbortHandle {
    task: TaskRef,
}

impl AbortHandle {
    pub(crate) fn new(task: TaskRef) -> Self {
        Self { task }
    }

    /// Asks for the task's end: its future is dropped instead of polled the next time it runs, at
    /// its home. Does nothing if it is complete. Never drops the future inline; can be called from
    /// any thread, also after the executor is gone.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task's future is gone.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// The task's number.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.task.id()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &self.id())
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
