//! A set of tasks whose results come in the order of their ends.

mod members;
mod ready;

use self::members::Members;
use self::ready::Ready;
use crate::task_builder::TaskBuilder;
use futures_core::Stream;
use mainspring_core::payload::absorb;
use mainspring_core::spawn::Spawner;
use mainspring_core::task::{AbortHandle, JoinError, JoinHandle};
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::{CancelSafe, budget, poll};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How many handles one poll registers with, so that it stays short after a burst of spawns.
const REGISTERED_A_POLL: usize = 256;

/// Tasks that are joined as they end, whichever ends first, and aborted with the set.
///
/// Use it where a task starts others and wants their results, or wants them gone when it is: a
/// server and its connections, a fan-out of requests. For one task there is its [`JoinHandle`]; for
/// two or three, join them; for tasks that nobody waits for, detach them.
///
/// It works under any executor, with tasks of any executor of the family or of a [`Spawner`].
///
/// # Guarantees
///
/// - Every task that was added gives its result once, or is detached, or aborted by the drop.
/// - Dropping the set aborts what is in it, and does not wait: a future that is aborted is dropped
///   by its executor, soon. [`shutdown`](Self::shutdown) waits.
/// - Results come in the order of the tasks' ends, as far as these were seen: tasks that had ended
///   before the set first waited for them come in any order among themselves.
///
/// # Trade-offs
///
/// A result that nobody takes stays in its task: a set that only grows keeps them all. Take them,
/// or detach the tasks.
///
/// # Complexity and allocation
///
/// Joining is O(1), amortized, whatever the number of tasks. A member costs 24 bytes, and if the
/// set had to wait for it one allocation more; both are given back when it has been joined.
///
/// # Examples
///
/// ```
/// use mainspring_executor::{JoinSet, LocalExecutor};
///
/// let sum = LocalExecutor::new().block_on(async {
///     let mut set = JoinSet::new();
///     for n in 0..10 {
///         set.spawn_local(async move { n * n });
///     }
///     let mut sum = 0;
///     while let Some(result) = set.join_next().await {
///         sum += result.unwrap_or(0); // an `Err`: it panicked, or was aborted
///     }
///     sum
/// });
/// assert_eq!(sum, 285);
/// ```
#[must_use = "dropping the set aborts its tasks"]
pub struct JoinSet<T> {
    // Before the queue: a handle that goes takes its waker along.
    members: Members<T>,
    ready: Ready,
}

impl<T> JoinSet<T> {
    /// An empty set. One allocation.
    pub fn new() -> Self {
        Self {
            members: Members::new(),
            ready: Ready::new(),
        }
    }

    /// How many tasks are in it: those whose result was not taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether every result was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a task that was spawned elsewhere: with a name, through a
    /// [`Home`](crate::Home), on another executor.
    ///
    /// ```
    /// use mainspring_executor::{JoinSet, LocalExecutor, TaskBuilder};
    /// use std::future::pending;
    ///
    /// let ended = LocalExecutor::new().block_on(async {
    ///     let mut set = JoinSet::new();
    ///     let patient = TaskBuilder::new().name("patient").spawn_local(pending::<()>());
    ///     set.insert(patient).abort();
    ///     set.join_next().await
    /// });
    /// let error = ended.and_then(Result::err);
    /// assert_eq!(error.as_ref().and_then(|error| error.task_name()), Some("patient"));
    /// ```
    pub fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.members.push(handle);
        abort
    }

    /// Spawns a task on the executor that runs this thread.
    ///
    /// # Panics
    ///
    /// With `MS0001` where none is current; see [`try_spawn`](Self::try_spawn).
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let handle = TaskBuilder::new().spawn(future);
        self.insert(handle)
    }

    /// Spawns a task on the executor that runs this thread, if one does.
    ///
    /// # Errors
    ///
    /// The future, where none is current.
    #[track_caller]
    pub fn try_spawn<F>(&mut self, future: F) -> Result<AbortHandle, F>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let handle = TaskBuilder::new().try_spawn(future)?;
        Ok(self.insert(handle))
    }

    /// Spawns a task on the executor of `spawner`.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, spawner: &Spawner, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let handle = spawner.spawn(future);
        self.insert(handle)
    }

    /// Spawns a task that stays on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0001` where no executor with local tasks is running; see
    /// [`try_spawn_local`](Self::try_spawn_local).
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let handle = TaskBuilder::new().spawn_local(future);
        self.insert(handle)
    }

    /// Spawns a task that stays on this thread, if an executor with local tasks is running here.
    ///
    /// # Errors
    ///
    /// The future, where none is.
    #[track_caller]
    pub fn try_spawn_local<F>(&mut self, future: F) -> Result<AbortHandle, F>
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let handle = TaskBuilder::new().try_spawn_local(future)?;
        Ok(self.insert(handle))
    }

    /// Waits for the next task to end and takes its result; `None` if the set is empty.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: a result is taken out of its task by the poll that returns it, and not before.
    pub fn join_next(&mut self) -> JoinNext<'_, T> {
        JoinNext {
            set: self,
            is_registered: false,
        }
    }

    /// The result of a task that has ended, if there is one.
    ///
    /// Amortized O(1): the first call after a spawn makes the new task announce its end.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        if let Some(result) = self.take_ready() {
            return Some(result);
        }
        while self.members.fresh().is_some() {
            if let Some(result) = self.look_at_fresh() {
                return Some(result);
            }
        }
        None
    }

    /// As [`join_next`](Self::join_next), for futures that are written by hand. When it returns
    /// `Pending`, the waker of the latest call is woken.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let unit = ready!(budget::poll_proceed(cx));
        let mut found = self.take_ready();
        let mut looks = REGISTERED_A_POLL;
        while found.is_none() && self.members.fresh().is_some() {
            if looks == 0 {
                poll::note_yield();
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            looks -= 1;
            found = self.look_at_fresh();
        }
        if found.is_none() {
            self.ready.register(cx.waker());
            found = self.take_ready();
            if found.is_some() {
                // With a result in hand, a waker that panics when it is dropped must not lose it.
                absorb(|| drop(self.ready.unregister()));
            }
        }
        match found {
            Some(result) => {
                unit.spend();
                Poll::Ready(Some(result))
            }
            None => {
                let one = self.members.handles().next();
                wait::note(WaitKind::Join, one.map_or(0, |one| one.id().as_u64()));
                Poll::Pending
            }
        }
    }

    /// Waits for all tasks and gives their results, in the order of their ends.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: dropping it loses the results it has, and aborts the rest. It can be polled
    /// by `&mut`.
    pub fn join_all(self) -> JoinAll<T> {
        JoinAll {
            results: Vec::with_capacity(self.len()),
            set: self,
        }
    }

    /// Asks for the end of every task, as [`JoinHandle::abort`]; their results are still to be
    /// taken.
    pub fn abort_all(&self) {
        self.members.handles().for_each(JoinHandle::abort);
    }

    /// Lets every task go on by itself. The set is empty afterwards.
    pub fn detach_all(&mut self) {
        self.members.clear();
        while let Some(node) = self.ready.pop() {
            drop(node);
        }
    }

    /// Aborts every task and waits until all futures are gone. Gives the errors of those that
    /// panicked; what was cancelled or finished is dropped.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: dropping it loses the errors it has. The rest is aborted already, if it was
    /// polled, and another call goes on waiting.
    pub fn shutdown(&mut self) -> Shutdown<'_, T> {
        Shutdown {
            set: self,
            is_begun: false,
            panics: Vec::new(),
        }
    }

    /// The result of a member that has announced its end.
    fn take_ready(&mut self) -> Option<Result<T, JoinError>> {
        while let Some(node) = self.ready.pop() {
            // One without a place was detached. One that has not ended was woken by somebody who
            // need not have: its handle still has the waker.
            let place = node.place();
            let result = place.and_then(|place| self.members.take_waited(place));
            if result.is_some() {
                return result;
            }
        }
        None
    }

    /// Has the next new member announce its end, or takes its result.
    fn look_at_fresh(&mut self) -> Option<Result<T, JoinError>> {
        let place = self.members.fresh()?;
        if let Some(result) = self.members.take_fresh() {
            return Some(result);
        }
        let node = self.ready.node(place);
        self.members.wait_for_fresh(node)
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Ends when the set is empty, and goes on when something is added.
impl<T> Stream for JoinSet<T> {
    type Item = Result<T, JoinError>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_join_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl<T> Extend<JoinHandle<T>> for JoinSet<T> {
    fn extend<I: IntoIterator<Item = JoinHandle<T>>>(&mut self, handles: I) {
        for handle in handles {
            self.members.push(handle);
        }
    }
}

impl<T> FromIterator<JoinHandle<T>> for JoinSet<T> {
    fn from_iter<I: IntoIterator<Item = JoinHandle<T>>>(handles: I) -> Self {
        let mut set = Self::new();
        set.extend(handles);
        set
    }
}

/// The future of [`JoinSet::join_next`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct JoinNext<'a, T> {
    set: &'a mut JoinSet<T>,
    is_registered: bool,
}

impl<T> Future for JoinNext<'_, T> {
    type Output = Option<Result<T, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.set.poll_join_next(cx);
        self.is_registered |= polled.is_pending();
        polled
    }
}

impl<T> CancelSafe for JoinNext<'_, T> {}

impl<T> Drop for JoinNext<'_, T> {
    fn drop(&mut self) {
        // A waker holds its task's memory; the set may live much longer.
        if self.is_registered {
            drop(self.set.ready.unregister());
        }
    }
}

/// The future of [`JoinSet::join_all`].
///
/// # Cancel safety
///
/// *Loses value*: the results it has, and it aborts the rest.
#[must_use = "futures do nothing unless polled"]
pub struct JoinAll<T> {
    set: JoinSet<T>,
    results: Vec<Result<T, JoinError>>,
}

impl<T> Unpin for JoinAll<T> {}

impl<T> Future for JoinAll<T> {
    type Output = Vec<Result<T, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(result) = ready!(self.set.poll_join_next(cx)) {
            self.results.push(result);
        }
        Poll::Ready(std::mem::take(&mut self.results))
    }
}

impl<T> fmt::Debug for JoinAll<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinAll")
            .field("waits_for", &self.set.len())
            .field("has", &self.results.len())
            .finish()
    }
}

/// The future of [`JoinSet::shutdown`].
///
/// # Cancel safety
///
/// *Loses value*: the errors it has. The tasks stay aborted.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Shutdown<'a, T> {
    set: &'a mut JoinSet<T>,
    is_begun: bool,
    panics: Vec<JoinError>,
}

impl<T> Future for Shutdown<'_, T> {
    type Output = Vec<JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.set.abort_all();
        }
        while let Some(result) = ready!(self.set.poll_join_next(cx)) {
            let failed = result.err().filter(JoinError::is_panic);
            self.panics.extend(failed);
        }
        Poll::Ready(std::mem::take(&mut self.panics))
    }
}

#[cfg(test)]
mod tests;
