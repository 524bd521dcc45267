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
    /// A callback panicked, or a waker did, in a place that contains it: the cancellation of a
    /// token. No task is to blame.
    Callback(&'a (dyn Any + Send)),
}

/// A failure that no join handle will tell of.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnobservedFailure<'a> {
    /// The task; `None` where it was none.
    pub task: Option<TaskId>,
    /// Its name, if it was given one.
    pub name: Option<&'a str>,
    /// Where it was spawned; for a callback, where it was registered.
    pub spawned_at: &'static Location<'static>,
    /// What failed.
    pub what: Unobserved<'a>,
}

impl fmt::Display for UnobservedFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Some(task) => write!(f, "{} (spawned at ", Label(task, self.name))?,
            None => f.write_str("a callback (registered at ")?,
        }
        write!(f, "{}) ", self.spawned_at)?;
        let (said, payload) = match self.what {
            Unobserved::Panic(payload) => ("panicked and nobody joins it", Some(payload)),
            Unobserved::Leak => ("leaked: it was dropped after its executor ended", None),
            Unobserved::Callback(payload) => ("panicked", Some(payload)),
        };
        f.write_str(said)?;
        match payload.and_then(message) {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

type Hook = dyn Fn(&UnobservedFailure<'_>) + Send + Sync;

static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);
static LEAKED: AtomicU64 = AtomicU64::new(0);

/// Sets what is called when a task fails and nobody will learn of it: it panicked after its
/// [`JoinHandle`](super::JoinHandle) was dropped, or the handle was dropped with the panic unread.
/// So it is when a callback panics whose caller must not: that of a token that is cancelled.
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
        task: Some(header.id()),
        name: trailer.map(|trailer| TaskName::as_str(&trailer.name)),
        spawned_at: header.spawned_at,
        what,
    };
    tell(&failure);
}

/// Reports the panic of a callback that was contained. The payload stays the caller's.
///
/// For the sibling crates, and not covered by semantic versioning.
#[doc(hidden)]
#[cold]
pub fn report_callback_panic(
    registered_at: &'static Location<'static>,
    payload: &(dyn Any + Send),
) {
    tell(&UnobservedFailure {
        task: None,
        name: None,
        spawned_at: registered_at,
        what: Unobserved::Callback(payload),
    });
}

fn tell(failure: &UnobservedFailure<'_>) {
    let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
    absorb(|| match hook {
        Some(hook) => hook(failure),
        None => eprintln!("{failure}"),
    });
}
