//! Failures that nobody awaits: contained, and reported to one hook.

use super::TaskId;
use super::cell;
use super::header::TaskPtr;
use super::name::{Label, TaskName};
use crate::payload::{Payload, absorb, discard, message};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::global::{AtomicU64, RwLock};
use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::PoisonError;

/// What failed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Unobserved<'a> {
    /// A task panicked, or its output's destructor did, and nobody joins it.
    Panic(&'a (dyn Any + Send)),
    /// A local task's runnable was dropped away from home twice: its executor is gone, and with it
    /// the one thread that may drop the future. The future has been leaked, the task is cancelled.
    Leak,
}

/// A failure that no join handle will tell of.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnobservedFailure<'a> {
    /// The task.
    pub task: TaskId,
    /// Its name, if it was given one.
    pub name: Option<&'a str>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// What failed.
    pub what: Unobserved<'a>,
}

impl fmt::Display for UnobservedFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = Label(self.task, self.name);
        write!(f, "{label} (spawned at {}) ", self.spawned_at)?;
        match self.what {
            Unobserved::Panic(payload) => match message(payload) {
                Some(message) => write!(f, "panicked and nobody joins it: {message}"),
                None => f.write_str("panicked and nobody joins it"),
            },
            Unobserved::Leak => f.write_str("leaked: it was dropped after its executor ended"),
        }
    }
}

type Hook = dyn Fn(&UnobservedFailure<'_>) + Send + Sync;

static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);
static LEAKED: AtomicU64 = AtomicU64::new(0);

/// Sets what is called when a task fails and nobody will learn of it: it panicked after its
/// [`JoinHandle`](super::JoinHandle) was dropped, or the handle was dropped with the panic unread.
///
/// Without a hook, one line goes to standard error. The hook is called on the thread where the
/// failure was found; a panic in the hook is contained. Replaces the hook before.
///
/// ```
/// mainspring_core::task::set_unobserved_failure_hook(|failure| {
///     eprintln!("lost: {failure}");
/// });
/// ```
pub fn set_unobserved_failure_hook(hook: impl Fn(&UnobservedFailure<'_>) + Send + Sync + 'static) {
    let hook: Arc<Hook> = Arc::new(hook);
    let before = HOOK
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .replace(hook);
    drop(before);
}

/// How many tasks have been leaked in this process, see [`Unobserved::Leak`].
#[must_use]
pub fn leaked() -> u64 {
    LEAKED.load(Relaxed)
}

/// Reports a panic that nobody will learn of, and drops its payload.
///
/// # Safety
///
/// The caller holds a reference of any kind to the task.
#[cold]
pub(crate) unsafe fn report_panic(task: TaskPtr, payload: Payload) {
    // SAFETY: [task.alive] the caller's contract.
    unsafe { report(task, Unobserved::Panic(&*payload)) };
    discard(payload);
}

/// Counts and reports a leak.
///
/// # Safety
///
/// The caller holds a reference of any kind to the task.
#[cold]
pub(crate) unsafe fn report_leak(task: TaskPtr) {
    LEAKED.fetch_add(1, Relaxed);
    // SAFETY: [task.alive] the caller's contract.
    unsafe { report(task, Unobserved::Leak) };
}

/// # Safety
///
/// The caller holds a reference of any kind to the task.
unsafe fn report(task: TaskPtr, what: Unobserved<'_>) {
    // SAFETY: [task.alive] the caller's contract.
    let header = unsafe { task.as_ref() };
    // SAFETY: [task.trailer] the caller's reference, during this call.
    let trailer = unsafe { cell::trailer(task) };
    let failure = UnobservedFailure {
        task: header.id(),
        name: trailer.map(|trailer| TaskName::as_str(&trailer.name)),
        spawned_at: header.spawned_at,
        what,
    };
    let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
    absorb(|| match hook {
        Some(hook) => hook(&failure),
        None => eprintln!("{failure}"),
    });
}
