//! The right to a task's output.

use super::cell;
use super::error::JoinError;
use super::header::{self, Header, TaskPtr};
use super::name::TaskName;
use super::runnable::discard;
use super::verdict::{OnDetach, OnJoin, OnRelease, Outcome};
use super::{AbortHandle, TaskId, TaskRef};
use crate::budget;
use crate::payload::absorb;
use crate::wait::{self, WaitKind};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The right to a task's output: a future of what the task returned.
///
/// Dropping it detaches: the task goes on, and its output is dropped when it comes. For a task that
/// must not outlive its handle there is [`abort_on_drop`](Self::abort_on_drop).
///
/// # Cancel safety
///
/// *Safe* by reference: `&mut JoinHandle` may be polled, left and polled again; the output stays in
/// the task until it is taken. Dropping the handle itself *loses value*: nobody can take the output
/// any more.
///
/// # Guarantees
///
/// The output is taken or dropped exactly once. Whatever the task did happens before a join that
/// returns. A panic of the task becomes a [`JoinError`]; one that nobody reads reaches the
/// [hook](super::set_unobserved_failure_hook).
///
/// # Costs
///
/// The handle is the task itself, so it allocates nothing. Joining a complete task is one load;
/// waiting is one read-modify-write to register and one to be found.
///
/// # Panics
///
/// With `MS0017` when it is polled after it gave its output.
#[must_use = "dropping the handle detaches the task; await it, or call `detach`"]
pub struct JoinHandle<T> {
    task: TaskPtr,
    /// The output was given away.
    is_done: bool,
    output: PhantomData<T>,
}

// SAFETY: [join.send] the handle takes or drops the output, on its thread: `T: Send`. All else it
// reaches is the header, whose shared parts are atomic.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: [join.send] through a shared reference there is no way to the output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Takes the handle of a new task.
    ///
    /// # Safety
    ///
    /// JOIN_INTEREST is set and no other handle exists; the task's output is a `T`.
    #[inline]
    pub(crate) unsafe fn from_ptr(task: TaskPtr) -> Self {
        Self {
            task,
            is_done: false,
            output: PhantomData,
        }
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: [task.alive] JOIN_INTEREST is this handle's reference.
        unsafe { self.task.as_ref() }
    }

    /// Asks for the task's end: its future is dropped instead of polled the next time it runs, at
    /// its home, and the join gives a cancelled [`JoinError`]. Does nothing if it is complete.
    ///
    /// Never drops the future inline; can be called from any thread, also after the executor is
    /// gone.
    pub fn abort(&self) {
        // SAFETY: [task.alive] JOIN_INTEREST is this handle's reference.
        unsafe { header::abort(self.task) }
    }

    /// A handle that can only abort the task.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.header().state.retain();
        // SAFETY: [task.alive] counted in the line above.
        AbortHandle::new(unsafe { TaskRef::from_ptr(self.task) })
    }

    /// Whether the task's future is gone, so that a join would not wait. If so, whatever the task
    /// did is visible to the caller.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().state.seen().is_complete()
    }

    /// The task's number.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.header().id()
    }

    /// The task's name, if it was given one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        // SAFETY: [task.trailer] JOIN_INTEREST is this handle's reference, which is lent for as
        // long as the name.
        let trailer = unsafe { cell::trailer(self.task) };
        trailer.map(|trailer| TaskName::as_str(&trailer.name))
    }

    /// Lets the task go on by itself, and says so.
    pub fn detach(self) {
        drop(self);
    }

    /// A handle whose drop aborts the task.
    ///
    /// # Cancel safety
    ///
    /// Dropping what this returns *loses value*: it ends the task.
    pub fn abort_on_drop(self) -> AbortOnDrop<T> {
        AbortOnDrop { handle: self }
    }

    /// Registers `waker` unless the task is complete or would wake it anyway.
    #[inline(never)]
    fn poll_outcome(&self, waker: &Waker) -> OnJoin {
        let state = &self.header().state;
        let old = match state.look() {
            OnJoin::Complete(outcome) => return OnJoin::Complete(outcome),
            OnJoin::Pending => None,
            OnJoin::Registered => {
                // SAFETY: [task.joiner-slot] we are the handle and JOIN_WAKER is set.
                if unsafe { self.header().joiner_wakes(waker) } {
                    return OnJoin::Registered;
                }
                match self.withdraw() {
                    Ok(old) => Some(old),
                    Err(outcome) => return OnJoin::Complete(outcome),
                }
            }
        };
        // Both of these are code of the user's and may panic: nothing is registered now, so the
        // task merely has no joiner to wake.
        drop(old);
        let waker = waker.clone();
        // SAFETY: [task.joiner-slot] we are the handle and JOIN_WAKER is clear.
        unsafe { self.header().put_joiner(waker) };
        let found = state.register();
        if let OnJoin::Complete(_) = found {
            // SAFETY: [task.joiner-slot] JOIN_WAKER stayed clear, so the waker is still ours.
            drop(unsafe { self.header().take_joiner() });
        }
        found
    }

    /// Takes the registered waker back, or learns that the task is complete.
    fn withdraw(&self) -> Result<Waker, Outcome> {
        match self.header().state.withdraw() {
            OnJoin::Complete(outcome) => Err(outcome),
            // SAFETY: [task.joiner-slot] we cleared JOIN_WAKER.
            _ => Ok(unsafe { self.header().take_joiner() }),
        }
    }

    /// Takes the result out of its place.
    #[inline]
    fn take(&mut self, outcome: Outcome) -> Result<T, JoinError> {
        self.is_done = true;
        if outcome == Outcome::Output {
            // SAFETY: [task.output-once] complete with an output, which is a `T` and the handle's,
            // and is marked as taken.
            Ok(unsafe { cell::take_output(self.task) })
        } else {
            Err(self.take_error(outcome))
        }
    }

    #[cold]
    fn take_error(&self, outcome: Outcome) -> JoinError {
        if outcome != Outcome::Panic {
            // SAFETY: [task.alive] JOIN_INTEREST is this handle's reference.
            return unsafe { JoinError::cancelled(self.task) };
        }
        // SAFETY: [task.output-once] complete with a payload, which is marked as taken.
        let payload = unsafe { (self.header().vtable.take_panic)(self.task) };
        // SAFETY: [task.alive] JOIN_INTEREST is this handle's reference.
        unsafe { JoinError::panicked(self.task, payload) }
    }

    /// Gives the handle's reference up without having taken the result.
    fn give_up(&mut self) {
        loop {
            match self.header().state.detach() {
                OnDetach::Detached => return,
                OnDetach::Registered => {
                    if let Ok(waker) = self.withdraw() {
                        // A panicking waker must not keep the handle's reference from going.
                        absorb(|| drop(waker));
                    }
                }
                OnDetach::Complete(outcome) => {
                    // SAFETY: [task.output-once] complete and not taken: the place is ours.
                    unsafe { discard(self.task, outcome) };
                    return self.release();
                }
            }
        }
    }

    /// Gives the handle's reference up: the task is complete and its place is empty.
    #[inline]
    fn release(&mut self) {
        if self.header().state.release_handle() == OnRelease::Free {
            // SAFETY: [task.alive] the verdict.
            unsafe { header::free(self.task) };
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(
            !self.is_done,
            "MS0017: a join handle was polled after its output (docs/errors.md)"
        );
        let Poll::Ready(unit) = budget::poll_proceed(cx) else {
            return Poll::Pending;
        };
        // Most joins come when the task is complete: they register nothing.
        if let OnJoin::Complete(outcome) = self.header().state.look() {
            unit.spend();
            return Poll::Ready(self.take(outcome));
        }
        match self.poll_outcome(cx.waker()) {
            OnJoin::Complete(outcome) => {
                unit.spend();
                Poll::Ready(self.take(outcome))
            }
            OnJoin::Pending | OnJoin::Registered => {
                wait::note(WaitKind::Join, self.id().as_u64());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if self.is_done {
            self.release();
        } else {
            self.give_up();
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("id", &self.id())
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

/// A [`JoinHandle`] whose drop aborts the task.
///
/// # Cancel safety
///
/// *Loses value*: dropping it is what ends the task.
#[must_use = "dropping it aborts the task"]
pub struct AbortOnDrop<T> {
    handle: JoinHandle<T>,
}

impl<T> AbortOnDrop<T> {
    /// Asks for the task's end, as [`JoinHandle::abort`].
    pub fn abort(&self) {
        self.handle.abort();
    }

    /// Whether the task's future is gone.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// The task's number.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.handle.id()
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(cx)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

impl<T> fmt::Debug for AbortOnDrop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AbortOnDrop").field(&self.handle).finish()
    }
}
