//! Hook points: where a recorder learns what tasks do.
//!
//! Off, each point is one relaxed load and one predictable branch. On, it calls the installed
//! [`Hooks`]. This module records nothing itself.
//!
//! ```
//! use mainspring_core::trace::{self, Hooks, Wake};
//! use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
//!
//! #[derive(Debug)]
//! struct CountWakes(AtomicUsize);
//!
//! impl Hooks for CountWakes {
//!     fn wake(&self, _wake: Wake) {
//!         self.0.fetch_add(1, Relaxed);
//!     }
//! }
//!
//! static COUNT: CountWakes = CountWakes(AtomicUsize::new(0));
//! trace::install(&COUNT)?;
//! trace::enable(true);
//! // .. run something, read COUNT ..
//! trace::enable(false);
//! # Ok::<(), trace::AlreadyInstalled>(())
//! ```

use crate::poll::{self, TaskStamp};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::global::{AtomicBool, OnceLock};
use crate::task::{Ran, TaskId, WakeCause};
use crate::wait::WaitSlot;
use std::fmt;
use std::panic::Location;

/// A task was made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Spawn {
    /// The new task.
    pub task: TaskId,
    /// The task whose poll made it, if it was made in one of ours.
    pub parent: Option<TaskStamp>,
    /// Where in the program.
    pub at: &'static Location<'static>,
}

/// A task was handed to its scheduler.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Wake {
    /// The task that will run.
    pub task: TaskId,
    /// The task whose poll did it; `None` for a driver or a foreign thread.
    pub by: Option<TaskStamp>,
    /// Why it was handed over.
    pub cause: WakeCause,
}

/// Receives what happens. Every method has an empty default.
///
/// The methods are called on the thread where it happens, in the middle of the scheduler: they must
/// be short, must not block and must not panic.
pub trait Hooks: fmt::Debug + Sync {
    /// A task was made.
    fn spawn(&self, spawn: Spawn) {
        let _ = spawn;
    }

    /// A task was handed to its scheduler: by its spawner, a waker, an abort, or by its own yield.
    fn wake(&self, wake: Wake) {
        let _ = wake;
    }

    /// A poll begins.
    fn poll_begin(&self, stamp: TaskStamp) {
        let _ = stamp;
    }

    /// A poll ended, and what became of the task. After [`Ran::Rescheduled`] the task may already
    /// run elsewhere. Not called for a poll that began while the hook points were off.
    fn poll_end(&self, stamp: TaskStamp, ran: Ran) {
        let _ = (stamp, ran);
    }
}

/// Hooks are installed already: they stay for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyInstalled;

impl AlreadyInstalled {
    /// Whether trying again may help: never.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for AlreadyInstalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trace hooks are installed already")
    }
}

impl std::error::Error for AlreadyInstalled {}

static ON: AtomicBool = AtomicBool::new(false);
static HOOKS: OnceLock<&'static dyn Hooks> = OnceLock::new();

/// Installs the hooks, once in a process. They are called after [`enable`].
///
/// # Errors
///
/// [`AlreadyInstalled`] if this is not the first call.
pub fn install(hooks: &'static dyn Hooks) -> Result<(), AlreadyInstalled> {
    HOOKS.set(hooks).map_err(|_| AlreadyInstalled)
}

/// Turns the hook points on or off, now or later, as often as wanted.
pub fn enable(on: bool) {
    ON.store(on, Relaxed);
}

/// Whether the hook points are on.
#[inline]
#[must_use]
pub fn is_enabled() -> bool {
    ON.load(Relaxed)
}

/// Calls `tell` with the hooks if they are on and installed.
#[inline(always)]
fn emit(tell: impl FnOnce(&'static dyn Hooks)) {
    if is_enabled() {
        emit_enabled(tell);
    }
}

#[cold]
#[inline(never)]
fn emit_enabled(tell: impl FnOnce(&'static dyn Hooks)) {
    if let Some(hooks) = HOOKS.get() {
        tell(*hooks);
    }
}

#[inline(always)]
pub(crate) fn spawn(task: TaskId, at: &'static Location<'static>) {
    emit(|hooks| {
        let parent = poll::task_stamp();
        hooks.spawn(Spawn { task, parent, at });
    });
}

#[inline(always)]
pub(crate) fn wake(task: TaskId, cause: WakeCause) {
    emit(|hooks| {
        let by = poll::task_stamp();
        hooks.wake(Wake { task, by, cause });
    });
}

#[inline(always)]
pub(crate) fn poll_begin(slot: &WaitSlot) -> Option<TaskStamp> {
    if !is_enabled() {
        return None;
    }
    let stamp = slot.stamp();
    emit_enabled(|hooks| hooks.poll_begin(stamp));
    Some(stamp)
}

/// `began` is what [`poll_begin`] said: by now the task may be gone.
#[inline(always)]
pub(crate) fn poll_end(began: Option<TaskStamp>, ran: Ran) {
    if let Some(stamp) = began {
        emit_enabled(|hooks| hooks.poll_end(stamp, ran));
    }
}
