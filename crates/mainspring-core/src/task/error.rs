//! Why a task gave no output.

use super::TaskId;
use super::cell;
use super::header::TaskPtr;
use super::name::{Label, TaskName};
use crate::payload::{Payload, message};
use std::any::Any;
use std::fmt;
use std::panic::Location;

/// A task gave no output: it was cancelled, or it panicked.
pub struct JoinError {
    whose: Whose,
    why: Why,
}

/// Which task it was. Boxed with the name, so that the others' errors are no larger for it.
enum Whose {
    Unnamed(TaskId, &'static Location<'static>),
    Named(Box<(TaskId, &'static Location<'static>, TaskName)>),
}

impl Whose {
    /// # Safety
    ///
    /// The caller holds a reference of any kind to the task.
    unsafe fn of(task: TaskPtr) -> Self {
        // SAFETY: [task.alive] the caller's contract.
        let header = unsafe { task.as_ref() };
        let (id, spawned_at) = (header.id(), header.spawned_at);
        // SAFETY: [task.trailer] the caller's reference, during this call.
        match unsafe { cell::trailer(task) } {
            None => Self::Unnamed(id, spawned_at),
            Some(trailer) => Self::Named(Box::new((id, spawned_at, trailer.name.clone()))),
        }
    }
}

enum Why {
    Cancelled,
    Panic(Shared),
}

/// A panic's payload that may be shared, though what it holds may not.
struct Shared(Payload);

// SAFETY: [join.payload] through a shared reference the payload is only asked for its type, and
// read if it is a text, which is `Sync`; everything else needs the error by value.
unsafe impl Sync for Shared {}

impl JoinError {
    /// # Safety
    ///
    /// The caller holds a reference of any kind to the task.
    pub(crate) unsafe fn cancelled(task: TaskPtr) -> Self {
        Self {
            // SAFETY: [task.alive] the caller's contract.
            whose: unsafe { Whose::of(task) },
            why: Why::Cancelled,
        }
    }

    /// # Safety
    ///
    /// The caller holds a reference of any kind to the task.
    pub(crate) unsafe fn panicked(task: TaskPtr, payload: Payload) -> Self {
        Self {
            // SAFETY: [task.alive] the caller's contract.
            whose: unsafe { Whose::of(task) },
            why: Why::Panic(Shared(payload)),
        }
    }

    /// Whether the task was aborted, or dropped by its executor, before it finished.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.why, Why::Cancelled)
    }

    /// Whether the task panicked: its future in `poll` or in its destructor.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.why, Why::Panic(_))
    }

    /// Whether trying again may help: never, the task is gone.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }

    /// The payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// With `MS0018` if the task was cancelled; see [`try_into_panic`](Self::try_into_panic).
    #[must_use]
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            // PANIC: documented; `try_into_panic` is the way without.
            Err(error) => panic!("MS0018: there is no panic to take: {error} (docs/errors.md)"),
        }
    }

    /// The payload of the panic.
    ///
    /// # Errors
    ///
    /// The error itself, if the task was cancelled.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        match self.why {
            Why::Panic(Shared(payload)) => Ok(payload),
            Why::Cancelled => Err(self),
        }
    }

    /// The task's number.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        match &self.whose {
            Whose::Unnamed(id, _) => *id,
            Whose::Named(named) => named.0,
        }
    }

    /// The task's name, if it was given one.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        match &self.whose {
            Whose::Unnamed(..) => None,
            Whose::Named(named) => Some(&named.2),
        }
    }

    /// Where the task was spawned.
    #[must_use]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        match &self.whose {
            Whose::Unnamed(_, spawned_at) => spawned_at,
            Whose::Named(named) => named.1,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = Label(self.task_id(), self.task_name());
        write!(f, "{label} (spawned at {}) ", self.spawned_at())?;
        match &self.why {
            Why::Cancelled => f.write_str("was cancelled"),
            Why::Panic(Shared(payload)) => match message(&**payload) {
                Some(message) => write!(f, "panicked: {message}"),
                None => f.write_str("panicked"),
            },
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
