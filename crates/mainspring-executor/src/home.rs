//! The way to a one-thread executor from other threads.
//!
//! # Invariants
//!
//! - **home.packed** — before its first poll a journey holds `make` alone; the future, which may
//!   be anything but `Send`, exists only at home.
//! - **home.pinned** — the future inside a journey is pinned structurally: never moved once made.

use crate::local::CURRENT;
use crate::local::hub::Hub;
use crate::local::shared::Admission;
use crate::pool::Metrics;
use mainspring_core::blocking::BlockingGroup;
use mainspring_core::context::Slot;
use mainspring_core::spawn::Lane;
use mainspring_core::task::{self, JoinHandle, TaskInfo};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A handle to a [`LocalExecutor`](crate::LocalExecutor) that any thread may hold: "run this over
/// there".
///
/// What is sent is a closure; the future it makes is made at home, and so need not be `Send`.
///
/// A `Home` keeps nothing running: when the executor was dropped, what is spawned is cancelled at
/// once.
///
/// ```
/// use mainspring_executor::{LocalExecutor, block_on, spawn_local};
/// use std::rc::Rc;
///
/// let executor = LocalExecutor::new();
/// let home = executor.home();
/// let other = std::thread::spawn(move || {
///     let task = home.spawn(|| async {
///         let local = Rc::new(7); // lives over there, across the await
///         let task = spawn_local({ let local = Rc::clone(&local); async move { *local } });
///         task.await.map_or(0, |n| n + *local)
///     });
///     block_on(task)
/// });
/// executor.block_on(async {
///     while !other.is_finished() {
///         mainspring_core::task::yield_now().await;
///     }
/// });
/// assert!(matches!(other.join(), Ok(Ok(14))));
/// ```
#[derive(Clone)]
pub struct Home {
    hub: Hub,
}

impl Home {
    pub(crate) fn new(hub: Hub) -> Self {
        Self { hub }
    }

    /// The executor that is running on this thread, if a one-thread executor of this crate is.
    #[must_use]
    pub fn current() -> Option<Self> {
        Slot::look(&CURRENT).map(|hub| Self::new((*hub).clone()))
    }

    /// The executor's jobs on the blocking pool, for who submits some from another thread: its
    /// shutdown waits for them.
    #[must_use]
    pub fn blocking(&self) -> BlockingGroup {
        self.hub.blocking().clone()
    }

    /// Every task there that has not ended, as [`LocalExecutor::tasks`]; `None` on another thread
    /// than that one, which alone knows: [`run`](Self::run) asks there.
    ///
    /// [`LocalExecutor::tasks`]: crate::LocalExecutor::tasks
    #[must_use]
    pub fn tasks(&self) -> Option<Vec<TaskInfo>> {
        self.hub.infos(Lane::Tasks)
    }

    /// What the executor there has done, as [`LocalExecutor::metrics`]; `None` on another thread.
    ///
    /// [`LocalExecutor::metrics`]: crate::LocalExecutor::metrics
    #[must_use]
    pub fn metrics(&self) -> Option<Metrics> {
        self.hub.metrics()
    }

    /// Spawns a task there: `make` is called at home and its future polled and dropped there only.
    ///
    /// One allocation; one compare-exchange, and an unpark if the executor may be asleep.
    #[track_caller]
    pub fn spawn<M, F>(&self, make: M) -> JoinHandle<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let journey = Journey::packed(make);
        // SAFETY: [home.packed] what crosses threads is `make`, which is `Send`: until the first
        // poll, at home, there is nothing else in it. The output is `Send` and goes to the handle.
        let (runnable, handle) =
            unsafe { task::create_local_unchecked(journey, self.hub.tasks().clone()) };
        match self.hub.shared.admit(Lane::Tasks, runnable) {
            Admission::Admitted => {}
            // SAFETY: [home.packed] never polled: its destructor runs that of `make` alone, which
            // may run on any thread.
            Admission::Refused(runnable) => unsafe { runnable.cancel_unchecked() },
        }
        handle
    }

    /// Hops to that thread for one call: `job` runs there, between two polls, and its value comes
    /// back.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: dropping the handle leaves the job to run and discards what it returns.
    #[track_caller]
    pub fn run<T, J>(&self, job: J) -> JoinHandle<T>
    where
        J: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn(|| std::future::ready(job()))
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home").finish_non_exhaustive()
    }
}

/// A future that is made where it is polled first.
pub(crate) enum Journey<M, F> {
    Packed(M),
    Unpacked(F),
    Lost,
}

impl<M, F> Journey<M, F> {
    pub(crate) fn packed(make: M) -> Self {
        Self::Packed(make)
    }
}

impl<M: FnOnce() -> F, F: Future> Future for Journey<M, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: [home.pinned] below, `make` is moved out of its variant and nothing else is.
        let this = unsafe { self.get_unchecked_mut() };
        if let Self::Packed(_) = this {
            // `Lost` stays behind if `make` panics.
            if let Self::Packed(make) = std::mem::replace(this, Self::Lost) {
                *this = Self::Unpacked(make());
            }
        }
        match this {
            // SAFETY: [home.pinned] `this` was pinned, and the future does not leave its place.
            Self::Unpacked(future) => unsafe { Pin::new_unchecked(future) }.poll(cx),
            Self::Packed(_) | Self::Lost => unreachable!("home.packed: polled after a panic"),
        }
    }
}

#[cfg(all(test, not(mainspring_loom)))]
mod tests;
