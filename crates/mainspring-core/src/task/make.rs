//! Making tasks: of futures that any thread may poll, of such that have a home, and of such that
//! borrow; each with [`Options`] or without.

use super::cell::{self, Trailer};
use super::header::TaskPtr;
use super::name::TaskName;
use super::{JoinHandle, Runnable, SchedulerRef};
use crate::trace;
use std::future::Future;
use std::panic::Location;

/// What a task may be given when it is made, beyond its future.
///
/// The first of them that is set puts a trailer behind the task, in the same allocation: 24 bytes
/// on a 64-bit machine. A task without pays nothing.
///
/// ```
/// use mainspring_core::task::Options;
///
/// let options = Options::new().name("accept");
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a task is made with them"]
pub struct Options {
    name: Option<TaskName>,
}

impl Options {
    /// None.
    pub const fn new() -> Self {
        Self { name: None }
    }

    /// Names the task: in [`TaskInfo`](super::TaskInfo), [`JoinError`](super::JoinError) and
    /// [`UnobservedFailure`](super::UnobservedFailure).
    pub fn name(mut self, name: impl Into<TaskName>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Makes a task of a future that any thread may poll.
///
/// The runnable is the task's first schedule: the caller lists the task in its registry, if it has
/// one, and then calls [`Runnable::schedule`].
///
/// One allocation of 88 bytes plus the larger of the future and its output; the future is built in
/// place. On a thread that has [entered](SchedulerRef::enter) the scheduler, no read-modify-write.
#[inline]
#[track_caller]
pub fn create<F>(future: F, scheduler: SchedulerRef) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // SAFETY: [task.lifetime] `Send` and `'static`: any thread may poll and drop it, at any time.
    unsafe { create_unchecked(future, scheduler) }
}

/// As [`create`], with options.
#[track_caller]
pub fn create_with<F>(
    future: F,
    scheduler: SchedulerRef,
    options: Options,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // SAFETY: [task.lifetime] as in `create`.
    unsafe { create_unchecked_with(future, scheduler, options) }
}

/// Makes a task of a future that is polled and dropped at home only: on the thread where its
/// scheduler [is home](super::LocalSchedule::is_home).
///
/// Its wakers, its abort handle and its runnable are `Send` all the same: a runnable that is run or
/// dropped elsewhere is sent home.
///
/// # Panics
///
/// If the calling thread is not the home of `scheduler`, or `scheduler` was not made by
/// [`SchedulerRef::local`].
#[inline]
#[track_caller]
pub fn create_local<F>(future: F, scheduler: SchedulerRef) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
{
    assert_home(&scheduler);
    // SAFETY: [scheduler.home] this thread is home, no other ever is, and the task is touched only
    // there; `'static`, as in `create`.
    unsafe { create_local_unchecked(future, scheduler) }
}

/// As [`create_local`], with options.
///
/// # Panics
///
/// As [`create_local`].
#[track_caller]
pub fn create_local_with<F>(
    future: F,
    scheduler: SchedulerRef,
    options: Options,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
{
    assert_home(&scheduler);
    // SAFETY: [scheduler.home] as in `create_local`.
    unsafe { create_local_unchecked_with(future, scheduler, options) }
}

#[inline]
#[track_caller]
fn assert_home(scheduler: &SchedulerRef) {
    assert!(
        scheduler.is_home(),
        "MS0018: a local task can be made only at its scheduler's home (docs/errors.md)"
    );
}

/// Makes a task of a future that may borrow, and that any thread may poll.
///
/// # Safety
///
/// The future may be polled and dropped on every thread where the caller runs, drops or sends the
/// runnable, and so may the output, on those and where the join handle is dropped. Both outlive the
/// task's end: the caller runs or drops every runnable of the task, until
/// [`Schedule::retire`](super::Schedule::retire) was called for it, before anything ends that they
/// borrow.
#[inline]
#[track_caller]
pub unsafe fn create_unchecked<F>(
    future: F,
    scheduler: SchedulerRef,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future,
{
    let spawned_at = Location::caller();
    let task = cell::allocate::<F, false>(future, scheduler, spawned_at);
    // SAFETY: [task.lifetime] the caller's contract; a new task of an `F`.
    unsafe { hand_out(task, spawned_at) }
}

/// As [`create_unchecked`], with options.
///
/// # Safety
///
/// As for [`create_unchecked`].
#[track_caller]
pub unsafe fn create_unchecked_with<F>(
    future: F,
    scheduler: SchedulerRef,
    options: Options,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future,
{
    let spawned_at = Location::caller();
    let task = allocate::<F, false>(future, scheduler, spawned_at, options);
    // SAFETY: [task.lifetime] the caller's contract; a new task of an `F`.
    unsafe { hand_out(task, spawned_at) }
}

/// Makes a task that is polled and dropped at home only, on any thread: how an executor takes work
/// for a thread from another one.
///
/// # Safety
///
/// Until its first poll the future may be moved to the home of `scheduler`, which was made by
/// [`SchedulerRef::local`]; from then on it stays there. Its output may be taken or dropped
/// wherever the join handle is.
#[inline]
#[track_caller]
pub unsafe fn create_local_unchecked<F>(
    future: F,
    scheduler: SchedulerRef,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
{
    let spawned_at = Location::caller();
    let task = cell::allocate::<F, true>(future, scheduler, spawned_at);
    // SAFETY: [scheduler.home] the caller's contract for what precedes the first poll; after it the
    // task is touched at home only. `'static`, as in `create`; a new task of an `F`.
    unsafe { hand_out(task, spawned_at) }
}

/// As [`create_local_unchecked`], with options.
///
/// # Safety
///
/// As for [`create_local_unchecked`].
#[track_caller]
pub unsafe fn create_local_unchecked_with<F>(
    future: F,
    scheduler: SchedulerRef,
    options: Options,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
{
    let spawned_at = Location::caller();
    let task = allocate::<F, true>(future, scheduler, spawned_at, options);
    // SAFETY: [scheduler.home] as in `create_local_unchecked`.
    unsafe { hand_out(task, spawned_at) }
}

/// Allocates a task with a trailer if it needs one.
fn allocate<F: Future, const LOCAL: bool>(
    future: F,
    scheduler: SchedulerRef,
    spawned_at: &'static Location<'static>,
    options: Options,
) -> TaskPtr {
    match options.name {
        None => cell::allocate::<F, LOCAL>(future, scheduler, spawned_at),
        Some(name) => {
            let trailer = Trailer { name };
            cell::allocate_trailed::<F, LOCAL>(future, scheduler, spawned_at, trailer)
        }
    }
}

/// The two handles of a new task.
///
/// # Safety
///
/// The task is new, its output is a `T`, and its future and output may go where these handles do.
#[inline]
unsafe fn hand_out<T>(
    task: TaskPtr,
    spawned_at: &'static Location<'static>,
) -> (Runnable, JoinHandle<T>) {
    // SAFETY: [task.runnable] a new task has one runnable, and this is it.
    let runnable = unsafe { Runnable::from_ptr(task) };
    trace::spawn(runnable.id(), spawned_at);
    // SAFETY: [task.alive] a new task has JOIN_INTEREST, and this is its handle.
    let join = unsafe { JoinHandle::from_ptr(task) };
    (runnable, join)
}
