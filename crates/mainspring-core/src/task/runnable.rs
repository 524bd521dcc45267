//! The right to run a task once.

use super::header::{self, Header, TaskPtr};
use super::reference::TaskRef;
use super::schedule::SchedulerRef;
use super::unobserved::{report_leak, report_panic};
use super::verdict::{OnBegin, OnComplete, OnEnd, OnRelease, OnRoute, Outcome};
use super::vtable::Progress;
use super::{TaskId, WakeCause, waker};
use crate::payload::absorb;
use crate::poll::{self, Plain, Polling, TaskStamp};
use crate::trace;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;
use std::task::Context;

/// A task that is to be polled: it exists exactly while the task is scheduled, so nobody can run a
/// task twice, or one that does not want to run.
///
/// An executor keeps runnables in its queues and calls [`run`](Self::run). It is one pointer wide.
///
/// # Dropping it
///
/// cancels the task: the future is dropped on the spot and the join handle learns that the task
/// was cancelled. A local task's runnable that is dropped away from home is sent home instead, by
/// its scheduler; if it is dropped away from home a second time, nobody is there: the future is
/// leaked, since no other thread may drop it, and the
/// [hook](super::set_unobserved_failure_hook) is told.
#[must_use = "dropping a runnable cancels its task"]
#[repr(transparent)]
pub struct Runnable {
    task: ManuallyDrop<TaskRef>,
}

/// What became of a task that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "an executor counts what it ran"]
pub enum Ran {
    /// It waits to be woken.
    Idle,
    /// It was woken while it was polled, and has been handed to its scheduler again.
    Rescheduled,
    /// Its future is gone: finished, panicked or cancelled.
    Complete,
    /// It is a local task and this is not its home: it was not polled, but handed to its scheduler.
    SentHome,
}

impl Runnable {
    /// Takes the runnable of a task.
    ///
    /// # Safety
    ///
    /// The task is SCHEDULED and not RUNNING, or it is new; and no other `Runnable` of it exists.
    #[inline]
    pub(crate) unsafe fn from_ptr(task: TaskPtr) -> Self {
        Self {
            // SAFETY: [task.runnable] a flag is the reference, and `task` is not dropped as a
            // `TaskRef`.
            task: ManuallyDrop::new(unsafe { TaskRef::from_ptr(task) }),
        }
    }

    #[inline]
    pub(crate) fn into_ptr(self) -> TaskPtr {
        let task = self.task.as_ptr();
        mem::forget(self);
        task
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        self.task.header()
    }

    /// The task's number.
    #[inline]
    pub fn id(&self) -> TaskId {
        self.header().id()
    }

    /// The task's number and the number of its last poll.
    pub fn stamp(&self) -> TaskStamp {
        self.header().wait.stamp()
    }

    /// The task, to be listed in a registry or looked at.
    #[inline]
    pub fn task(&self) -> &TaskRef {
        &self.task
    }

    /// Hands the task to its scheduler for the first time: how a spawn ends.
    #[inline]
    pub fn schedule(self) {
        header::schedule(self, WakeCause::Spawn);
    }

    /// Turns the runnable into a pointer, for a queue of pointers.
    #[inline]
    pub fn into_raw(self) -> NonNull<()> {
        self.into_ptr().cast()
    }

    /// Turns the pointer back.
    ///
    /// # Safety
    ///
    /// `raw` came from [`into_raw`](Self::into_raw), and is turned back once.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: [task.runnable] the caller's contract: this is the runnable that `into_raw` took.
        unsafe { Self::from_ptr(raw.cast()) }
    }

    /// Cancels the task on this thread, also if this is not its home.
    ///
    /// # Safety
    ///
    /// The future may be dropped on this thread: any may drop it, or it was never polled and what
    /// it holds until then is `Send`.
    pub unsafe fn cancel_unchecked(self) {
        let task = self.into_ptr();
        // SAFETY: [task.alive] the runnable is our reference.
        let header = unsafe { task.as_ref() };
        let _ = header.state.begin_to_drop();
        // SAFETY: [task.one-poller] begun; where, is the caller's contract.
        unsafe { cancel(task) };
    }

    /// Polls the task once, or drops its future if it was aborted.
    ///
    /// A panic of the future is caught and becomes the task's result. The scheduler is called
    /// before this returns [`Ran::Rescheduled`] or [`Ran::SentHome`].
    #[inline]
    pub fn run(self) -> Ran {
        // SAFETY: [task.scheduler] we own the runnable.
        if !unsafe { self.header().is_home() } {
            header::schedule(self, WakeCause::Home);
            return Ran::SentHome;
        }
        // SAFETY: [scheduler.home] this is its home, or it has none.
        unsafe { self.run_at_home() }
    }

    /// As [`run`](Self::run), without asking where its home is: for the worker that knows.
    ///
    /// # Safety
    ///
    /// The calling thread is the task's home, or the task is not a local one.
    #[inline]
    pub unsafe fn run_at_home(self) -> Ran {
        let task = self.into_ptr();
        // SAFETY: [task.alive] the runnable is our reference, then RUNNING.
        let header = unsafe { task.as_ref() };
        match header.state.begin() {
            // SAFETY: [task.one-poller] [task.home] the verdict, and the look above.
            OnBegin::Poll => unsafe { poll(task) },
            OnBegin::Drop => {
                // SAFETY: [task.one-poller] the verdict.
                unsafe { cancel(task) };
                Ran::Complete
            }
        }
    }
}

/// Polls a task that has just begun.
///
/// # Safety
///
/// The caller is its poller, at its home, and gives that up.
#[inline]
unsafe fn poll(task: TaskPtr) -> Ran {
    if !poll::is_plain() {
        // SAFETY: [task.one-poller] the caller's contract.
        return unsafe { poll_otherwise(task) };
    }
    // SAFETY: [task.alive] RUNNING is our reference.
    let header = unsafe { task.as_ref() };
    header.wait.begin_poll();
    let traced = trace::poll_begin(&header.wait);
    let polling = Plain::begin(&header.wait);
    // SAFETY: [task.one-poller] we are the poller, and the future is there.
    let progress = unsafe { poll_future(task) };
    drop(polling);
    // SAFETY: [task.one-poller] we are the poller, and this is what the poll came to.
    let ran = unsafe { conclude(task, progress, poll::has_yielded) };
    trace::poll_end(traced, ran);
    ran
}

/// As [`poll()`], within the poll of something else (from a destructor, or a `block_on` in a task),
/// or where grants may have to be taken back.
///
/// # Safety
///
/// As for [`poll()`].
#[cold]
#[inline(never)]
unsafe fn poll_otherwise(task: TaskPtr) -> Ran {
    // SAFETY: [task.alive] RUNNING is our reference.
    let header = unsafe { task.as_ref() };
    header.wait.begin_poll();
    let traced = trace::poll_begin(&header.wait);
    let polling = Polling::begin(Some(&header.wait));
    // SAFETY: [task.one-poller] we are the poller, and the future is there.
    let progress = unsafe { poll_future(task) };
    let yielded = poll::has_yielded();
    drop(polling);
    // SAFETY: [task.one-poller] we are the poller, and this is what the poll came to.
    let ran = unsafe { conclude(task, progress, || yielded) };
    trace::poll_end(traced, ran);
    ran
}

/// # Safety
///
/// The caller is the task's poller, at its home, and the future is there.
#[inline(always)]
unsafe fn poll_future(task: TaskPtr) -> Progress {
    // SAFETY: [task.alive] RUNNING is the caller's reference.
    let header = unsafe { task.as_ref() };
    // SAFETY: [task.alive] the waker is lent for this poll, during which the caller holds RUNNING.
    let waker = unsafe { waker::lend(task) };
    // SAFETY: [task.one-poller] the caller's contract.
    unsafe { (header.vtable.poll)(task, &mut Context::from_waker(&waker)) }
}

/// Does what a poll that came to `progress` leads to.
///
/// # Safety
///
/// The caller is the task's poller, at its home, and gives that up.
#[inline(always)]
unsafe fn conclude(task: TaskPtr, progress: Progress, yielded: impl FnOnce() -> bool) -> Ran {
    match progress {
        Progress::Pending => {
            // SAFETY: [task.one-poller] the caller's contract.
            unsafe { park(task, yielded) }
        }
        Progress::Output => {
            // SAFETY: [task.one-poller] the caller's contract; the output is in the place.
            unsafe { finish(task, Outcome::Output) };
            Ran::Complete
        }
        Progress::Panic => {
            // SAFETY: [task.one-poller] the caller's contract; the payload is in the place.
            unsafe { finish_otherwise(task, Outcome::Panic) };
            Ran::Complete
        }
    }
}

/// Ends a poll that returned `Pending`.
///
/// # Safety
///
/// The caller is the task's poller, at its home, and gives that up.
#[inline]
unsafe fn park(task: TaskPtr, yielded: impl FnOnce() -> bool) -> Ran {
    // SAFETY: [task.alive] RUNNING is our reference, until `end`.
    let header = unsafe { task.as_ref() };
    match header.state.end() {
        OnEnd::Idle => Ran::Idle,
        OnEnd::Schedule => {
            let cause = if yielded() {
                WakeCause::Yield
            } else {
                WakeCause::SelfWake
            };
            // SAFETY: [task.runnable] the verdict makes the runnable ours.
            header::schedule(unsafe { Runnable::from_ptr(task) }, cause);
            Ran::Rescheduled
        }
        OnEnd::Drop => {
            let begun = header.state.begin();
            debug_assert_eq!(begun, OnBegin::Drop, "task.one-poller: an abort was lost");
            // SAFETY: [task.one-poller] the runnable was ours, and is begun.
            unsafe { cancel(task) };
            Ran::Complete
        }
    }
}

/// Drops the future of a task that has just begun.
///
/// # Safety
///
/// The caller is its poller, at its home, and gives that up.
#[cold]
unsafe fn cancel(task: TaskPtr) {
    // SAFETY: [task.alive] RUNNING is our reference.
    let header = unsafe { task.as_ref() };
    // The destructor runs as the task.
    let polling = Polling::begin(Some(&header.wait));
    // SAFETY: [task.future-once] we are the poller; the future is there, and is dropped only here.
    let panicked = unsafe { (header.vtable.drop_future)(task) };
    drop(polling);
    let outcome = match panicked {
        None => Outcome::Empty,
        Some(payload) => {
            // SAFETY: [task.one-poller] the future is gone, so the place is empty.
            unsafe { (header.vtable.put_panic)(task, payload) };
            Outcome::Panic
        }
    };
    // SAFETY: [task.one-poller] we are the poller, and the place is as `outcome` says.
    unsafe { finish_otherwise(task, outcome) };
}

/// Completes a task whose future is gone: off the registry, the result to whoever joins, the
/// scheduler released.
///
/// # Safety
///
/// The caller is the task's poller and gives that up; `outcome` says what is in the place.
#[inline(always)]
unsafe fn finish(task: TaskPtr, outcome: Outcome) {
    // SAFETY: [task.alive] RUNNING is our reference.
    let header = unsafe { task.as_ref() };
    // SAFETY: [task.scheduler] we are the poller and the future is gone.
    let scheduler = unsafe { header.take_scheduler() };
    // SAFETY: [task.alive] RUNNING covers the loan.
    let lent = unsafe { header::lend(task) };
    scheduler.retire(&lent);
    let owed = header.state.complete(outcome);
    if owed != OnComplete::Done {
        // SAFETY: [task.one-poller] the verdict was given to us.
        unsafe { settle(task, outcome, owed) };
    }
    release_scheduler(scheduler);
}

/// As [`finish`], for ends that are no output.
///
/// # Safety
///
/// As for [`finish`].
#[cold]
#[inline(never)]
unsafe fn finish_otherwise(task: TaskPtr, outcome: Outcome) {
    // SAFETY: [task.one-poller] the caller's contract.
    unsafe { finish(task, outcome) };
}

/// Does what a completion owes beyond itself.
///
/// # Safety
///
/// `owed` is the verdict on completing with `outcome`, given to the caller.
#[inline(never)]
unsafe fn settle(task: TaskPtr, outcome: Outcome, owed: OnComplete) {
    match owed {
        OnComplete::Done => {}
        OnComplete::Unwanted => {
            // SAFETY: [task.output-once] still RUNNING and nobody joins: the place is ours.
            unsafe { discard(task, outcome) };
            // SAFETY: [task.alive] RUNNING is our reference still.
            let owed = unsafe { task.as_ref() }.state.complete(Outcome::Empty);
            // SAFETY: [task.one-poller] as for the caller; what is empty is not unwanted again.
            unsafe { settle(task, Outcome::Empty, owed) };
        }
        // SAFETY: [task.joiner-slot] the verdict gives us the waker and the reference.
        OnComplete::WakeJoiner => unsafe { wake_joiner(task) },
        // SAFETY: [task.alive] the verdict.
        OnComplete::Free => unsafe { header::free(task) },
    }
}

/// Away from the executor's threads the last reference may end the executor right here, with code
/// of the user's inside.
#[inline]
fn release_scheduler(scheduler: SchedulerRef) {
    if let Some(counted) = scheduler.return_to_purse() {
        drop_scheduler(counted);
    }
}

#[cold]
fn drop_scheduler(counted: SchedulerRef) {
    absorb(|| drop(counted));
}

/// Wakes the joiner of a task that is complete, and gives RUNNING up.
///
/// # Safety
///
/// The verdict `WakeJoiner` was given to the caller.
unsafe fn wake_joiner(task: TaskPtr) {
    // SAFETY: [task.alive] RUNNING is our reference.
    let header = unsafe { task.as_ref() };
    // SAFETY: [task.joiner-slot] the verdict: JOIN_WAKER was set, and we cleared it.
    let joiner = unsafe { header.take_joiner() };
    if header.state.release_running() == OnRelease::Free {
        // SAFETY: [task.alive] the verdict.
        unsafe { header::free(task) };
    }
    // After the release: waking may take long, or panic.
    absorb(|| joiner.wake());
}

/// Drops a result that nobody will take.
///
/// # Safety
///
/// The caller owns the place, and `outcome` says what is in it.
#[cold]
pub(super) unsafe fn discard(task: TaskPtr, outcome: Outcome) {
    // SAFETY: [task.alive] whoever owns the place holds a reference.
    let header = unsafe { task.as_ref() };
    let payload = match outcome {
        Outcome::Empty => None,
        // SAFETY: [task.output-once] the output is in the place.
        Outcome::Output => unsafe { (header.vtable.drop_output)(task) },
        // SAFETY: [task.output-once] the payload is in the place.
        Outcome::Panic => Some(unsafe { (header.vtable.take_panic)(task) }),
    };
    if let Some(payload) = payload {
        // SAFETY: [task.alive] as above.
        unsafe { report_panic(task, payload) };
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        let task = self.task.as_ptr();
        // SAFETY: [task.alive] the runnable is our reference.
        let header = unsafe { task.as_ref() };
        // SAFETY: [task.scheduler] we own the runnable.
        if unsafe { header.is_home() } {
            let _ = header.state.begin_to_drop();
            // SAFETY: [task.one-poller] [task.home] begun, at home.
            unsafe { cancel(task) };
            return;
        }
        match header.state.route() {
            OnRoute::Home => {
                // SAFETY: [task.runnable] it is ours, and this one is being dropped.
                header::schedule(unsafe { Runnable::from_ptr(task) }, WakeCause::Home);
            }
            // SAFETY: [task.runnable] it is ours.
            OnRoute::Nowhere => unsafe { leak(task) },
        }
    }
}

/// Completes a local task whose home is gone, and leaks its future: a pinned future's memory is
/// never used for anything else before it was dropped, so the whole task stays.
///
/// # Safety
///
/// The caller owns the runnable and gives it up.
#[cold]
unsafe fn leak(task: TaskPtr) {
    // SAFETY: [task.alive] the runnable is our reference.
    let header = unsafe { task.as_ref() };
    // A reference that nobody ever gives up.
    header.state.retain();
    let _ = header.state.begin_to_drop();
    // SAFETY: [task.alive] the reference that was taken above.
    unsafe { report_leak(task) };
    // SAFETY: [task.one-poller] begun; the future is never touched again, so the place counts as
    // empty.
    unsafe { finish_otherwise(task, Outcome::Empty) };
}

impl fmt::Debug for Runnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable")
            .field("id", &self.id())
            .field("name", &self.task.name())
            .field("spawned_at", &self.header().spawned_at)
            .finish()
    }
}
