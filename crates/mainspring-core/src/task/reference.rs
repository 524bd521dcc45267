//! A counted reference to a task of any kind, and what a snapshot of it says.

use super::TaskId;
use super::cell;
use super::header::{self, Header, TaskPtr};
use super::name::{Label, TaskName};
use super::state::Seen;
use crate::time::Nanos;
use crate::wait::{self, WaitReason};
use std::fmt;
use std::panic::Location;

/// A counted reference to a task: what an executor lists, looks at and aborts.
///
/// It keeps the task's memory, not its future: the future goes when the task completes. Cloning and
/// dropping is one read-modify-write.
#[repr(transparent)]
pub struct TaskRef {
    task: TaskPtr,
}

// SAFETY: [task.alive] the count is atomic, and through a `TaskRef` only atomics, fields that are
// never written, and the state word's transitions are reached; never the future or its output.
unsafe impl Send for TaskRef {}
// SAFETY: [task.alive] as above.
unsafe impl Sync for TaskRef {}

/// In which state a task was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// It waits to be woken.
    Waiting,
    /// It waits to be polled.
    Scheduled,
    /// It is being polled.
    Running,
    /// Its future is gone.
    Complete,
}

/// What a task was like at one moment.
///
/// Its `Display` is a line without an end: the number, the name if it has one, the place of the
/// spawn, and what the task does or waits for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskInfo {
    /// Its number.
    pub id: TaskId,
    /// Its name, if it was given one.
    pub name: Option<TaskName>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// Its state.
    pub state: TaskState,
    /// How often it was polled, wrapping.
    pub polls: u32,
    /// Somebody has aborted it.
    pub is_cancelled: bool,
    /// What it waits for, if it waits and that is of the family: a future from elsewhere does not
    /// say what it waits for. When several leaves of one poll returned `Pending`, one of them.
    pub waits_for: Option<WaitReason>,
}

impl TaskRef {
    /// Takes a counted reference over.
    ///
    /// # Safety
    ///
    /// The caller holds it, and gives it up to the new `TaskRef`.
    #[inline]
    pub(crate) unsafe fn from_ptr(task: TaskPtr) -> Self {
        Self { task }
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> TaskPtr {
        self.task
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: [task.alive] this reference is counted, or lent by a holder of one.
        let header = unsafe { self.task.as_ref() };
        header.touch();
        header
    }

    /// The task's number.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.header().id()
    }

    /// Its name, if it was given one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.task_name().map(TaskName::as_str)
    }

    fn task_name(&self) -> Option<&TaskName> {
        // SAFETY: [task.trailer] this reference, which is lent for as long as the name.
        let trailer = unsafe { cell::trailer(self.task) };
        trailer.map(|trailer| &trailer.name)
    }

    /// Where it was spawned.
    #[must_use]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.header().spawned_at
    }

    /// Whether its future is gone.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().state.seen().is_complete()
    }

    /// Asks for the task's end: its future is dropped instead of polled the next time it runs, at
    /// its home. Does nothing if it is complete.
    ///
    /// Can be called from any thread, also after the executor is gone; never drops the future
    /// inline.
    pub fn abort(&self) {
        // SAFETY: [task.alive] this reference.
        unsafe { header::abort(self.task) }
    }

    /// Looks at the task without disturbing it. `now` is the moment that waits are measured to, on
    /// the scale of the workers' turn clocks.
    ///
    /// Lock-free. When the task runs at the same time, the state is what it was at one moment, and
    /// not [`TaskState::Waiting`], and `waits_for` is `None`.
    #[must_use]
    pub fn info(&self, now: Nanos) -> TaskInfo {
        let header = self.header();
        let before = header.state.seen();
        let word = header.wait.word();
        let polls = wait::polls_of(word);
        let reason = header.wait.reason(now);
        // CLAIM: [wait.torn] equal reads around it, with the task idle, make the reason the one of
        // that poll. The second word is read last: it shows a poll that came and went.
        let after = header.state.seen();
        let whole = before.is_idle() && after.is_idle() && word == header.wait.word();
        TaskInfo {
            id: header.id(),
            name: self.task_name().cloned(),
            spawned_at: header.spawned_at,
            // Idle again, after it was polled between the two looks, or just before the second.
            state: match TaskState::of(after, polls) {
                TaskState::Waiting if !whole => TaskState::Running,
                state => state,
            },
            polls,
            is_cancelled: after.is_cancelled(),
            waits_for: reason.filter(|_| whole),
        }
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = Label(self.id, self.name.as_deref());
        write!(f, "{label} spawned at {}, ", self.spawned_at)?;
        match (self.state, self.waits_for) {
            (TaskState::Waiting, Some(reason)) => write!(f, "waiting for {reason}"),
            (TaskState::Waiting, None) => f.write_str("waiting for something outside the family"),
            (TaskState::Scheduled, _) => f.write_str("waiting to be polled"),
            (TaskState::Running, _) => f.write_str("being polled"),
            (TaskState::Complete, _) => f.write_str("complete"),
        }
    }
}

impl TaskState {
    fn of(seen: Seen, polls: u32) -> Self {
        if seen.is_complete() {
            Self::Complete
        } else if seen.is_new() && polls == 0 {
            Self::Scheduled
        } else if seen.is_running() {
            Self::Running
        } else if seen.is_scheduled() {
            Self::Scheduled
        } else {
            Self::Waiting
        }
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.header().state.retain();
        Self { task: self.task }
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        // SAFETY: [task.alive] this reference, which ends here.
        unsafe { header::release(self.task) }
    }
}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = self.header();
        f.debug_struct("TaskRef")
            .field("id", &header.id())
            .field("name", &self.name())
            .field("spawned_at", &header.spawned_at)
            .field(
                "state",
                &TaskState::of(header.state.seen(), header.wait.polls()),
            )
            .finish()
    }
}
