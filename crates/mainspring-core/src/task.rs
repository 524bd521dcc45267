//! Tasks: a future that runs by itself, in one allocation.
use crate::poll;
use crate::trace;
use crate::wait::{self, WaitKind};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

mod abort;
mod cell;
mod error;
mod header;
mod id;
mod inbox;
mod join;
mod queue;
mod reference;
mod registry;
mod runnable;
mod schedule;
mod state;
mod unobserved;
mod vtable;
mod waker;

pub use self::abort::AbortHandle;
pub use self::error::JoinError;
pub use self::id::TaskId;
pub use self::inbox::{Inbox, Pushed};
pub use self::join::{AbortOnDrop, JoinHandle};
pub use self::queue::RunQueue;
pub use self::reference::{TaskInfo, TaskRef, TaskState};
pub use self::registry::{Iter, Listed, Registry};
pub use self::runnable::{Ran, Runnable};
pub use self::schedule::{LocalSchedule, Resident, Schedule, SchedulerRef, WakeCause};
pub use self::unobserved::{Unobserved, UnobservedFailure, leaked, set_unobserved_failure_hook};

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

/// Makes a task of a future that is polled and dropped at home only: on the thread where its
/// scheduler [is home](LocalSchedule::is_home).
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
    assert!(
        scheduler.is_home(),
        "a local task can be made only at its scheduler's home"
    );
    let spawned_at = Location::caller();
    // SAFETY: [scheduler.home] this thread is home, no other ever is, and the task is touched only
    // there; `'static`, as in `create`.
    unsafe { new_task::<F, true>(future, scheduler, spawned_at) }
}

/// Makes a task of a future that may borrow, and that any thread may poll.
///
/// # Safety
///
/// The future may be polled and dropped on every thread where the caller runs, drops or sends the
/// runnable, and so may the output, on those and where the join handle is dropped. Both outlive the
/// task's end: the caller runs or drops every runnable of the task, until
/// [`Schedule::retire`] was called for it, before anything ends that they borrow.
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
    // SAFETY: [task.lifetime] the caller's contract.
    unsafe { new_task::<F, false>(future, scheduler, spawned_at) }
}

/// Makes a task that is polled and dropped at home only, on any thread: how an executor takes work
/// for a thread from another one.
///
/// # Safety
///
/// Until its first poll the future may be moved to the home of `scheduler`, which was made by
/// [`SchedulerRef::local`]; from then on it stays there. Its output may be taken or dropped wherever
/// the join handle is.
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
    // SAFETY: [scheduler.home] the caller's contract for what precedes the first poll; after it the
    // task is touched at home only. `'static`, as in `create`.
    unsafe { new_task::<F, true>(future, scheduler, spawned_at) }
}

/// # Safety
///
/// As for [`create_unchecked`]; if `LOCAL`, at home instead of everywhere.
#[inline]
unsafe fn new_task<F: Future, const LOCAL: bool>(
    future: F,
    scheduler: SchedulerRef,
    spawned_at: &'static Location<'static>,
) -> (Runnable, JoinHandle<F::Output>) {
    let task = cell::allocate::<F, LOCAL>(future, scheduler, spawned_at);
    // SAFETY: [task.runnable] a new task is SCHEDULED, and this is its first runnable.
    let runnable = unsafe { Runnable::from_ptr(task) };
    trace::spawn(runnable.id(), spawned_at);
    // SAFETY: [task.alive] a new task has JOIN_INTEREST, and this is its handle.
    let join = unsafe { JoinHandle::from_ptr(task) };
    (runnable, join)
}

/// The task whose poll is under way on this thread, or whose future is being dropped.
#[inline]
#[must_use]
pub fn current_id() -> Option<TaskId> {
    poll::stamp().and_then(|stamp| TaskId::from_u64(stamp.task))
}

/// Lets other tasks run: ready at its second poll, which comes after everything that is queued now.
///
/// # Cancel safety
///
/// *Safe*: it holds nothing.
///
/// ```
/// # async fn example(lots: Vec<u64>) -> u64 {
/// let mut sum = 0;
/// for (i, number) in lots.iter().enumerate() {
///     sum += number;
///     if i % 10_000 == 0 {
///         mainspring_core::task::yield_now().await;
///     }
/// }
/// # sum
/// # }
/// ```
#[inline]
pub fn yield_now() -> YieldNow {
    YieldNow { has_yielded: false }
}

/// The future of [`yield_now`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_yielded {
            return Poll::Ready(());
        }
        self.has_yielded = true;
        poll::note_yield();
        wait::note(WaitKind::Yield, 0);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
