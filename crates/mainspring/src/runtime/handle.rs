//! Any runtime, from any thread.

use crate::Metrics;
use mainspring_core::blocking::{Blocking, BlockingTask};
use mainspring_core::task::{JoinHandle, TaskInfo};
use mainspring_executor::{Home, PoolHandle};
use std::fmt;
use std::future::Future;

/// A handle to a runtime, of either kind, that any thread may hold: it spawns there.
///
/// It does not keep the runtime running: what is spawned after the runtime has ended is cancelled
/// at once.
///
/// ```
/// use mainspring::{Handle, Runtime};
///
/// let runtime = Runtime::builder().workers(2).build()?;
/// let handle = runtime.handle();
/// let other = std::thread::spawn(move || mainspring::block_on(handle.spawn(async { 6 * 7 })));
/// assert!(matches!(other.join(), Ok(Ok(42))));
/// let inside = runtime.block_on(async { Handle::current().workers() });
/// assert_eq!(inside, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Pool(PoolHandle),
    Local(Home),
}

impl Handle {
    pub(super) fn of_pool(pool: PoolHandle) -> Self {
        Self {
            kind: Kind::Pool(pool),
        }
    }

    pub(super) fn of_home(home: Home) -> Self {
        Self {
            kind: Kind::Local(home),
        }
    }

    /// The runtime that is running on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0001` where none is. [`try_current`](Self::try_current) is the form that says so
    /// instead.
    #[must_use]
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Some(handle) => handle,
            // PANIC: documented above.
            None => panic!(
                "MS0001: `Handle::current` was called outside a runtime; call it inside \
                 `block_on` or a task, or take the runtime's `handle()` along (docs/errors.md)"
            ),
        }
    }

    /// The runtime that is running on this thread, if one is.
    #[must_use]
    pub fn try_current() -> Option<Self> {
        // A one-thread runtime first: where both are, it runs on a pool's thread, inside.
        Home::current()
            .map(Self::of_home)
            .or_else(|| PoolHandle::current().map(Self::of_pool))
    }

    /// Spawns a task there.
    ///
    /// Dropping the handle that is returned detaches the task. One allocation.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match &self.kind {
            Kind::Pool(pool) => pool.spawn(future),
            Kind::Local(home) => home.spawn(|| future),
        }
    }

    /// Spawns a task that stays on one worker: `make` is called there, and its future, which need
    /// not be `Send`, is polled and dropped there only. A one-thread runtime is its own worker 0.
    ///
    /// # Panics
    ///
    /// With `MS0015` if there is no such worker.
    #[track_caller]
    pub fn spawn_pinned<M, F>(&self, worker: usize, make: M) -> JoinHandle<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        match &self.kind {
            Kind::Pool(pool) => pool.spawn_pinned(worker, make),
            Kind::Local(home) if worker == 0 => home.spawn(make),
            // PANIC: documented above: a number that the program has made up.
            Kind::Local(_) => panic!(
                "MS0015: there is no worker {worker}: the runtime has one thread, which is worker \
                 0 (docs/errors.md)"
            ),
        }
    }

    /// Runs `future` on the calling thread until it is ready, from any thread that is in no task.
    ///
    /// With a runtime of several threads it runs beside the workers, as
    /// [`Runtime::block_on`](crate::Runtime::block_on): what it spawns runs on them, and is
    /// cancelled at once after the runtime has ended. A one-thread runtime is run by nobody but its
    /// owner, so there the future runs as by [`block_on`](crate::block_on()), beside the runtime,
    /// and what it spawns ends with it; what is to run over there goes by [`spawn`](Self::spawn),
    /// whose handle can be awaited here.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. With `MS0011` if the system
    /// refuses the thread its reactor, with a runtime of several threads. What `future` panics with
    /// is passed on.
    ///
    /// ```
    /// use mainspring::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let handle = runtime.handle();
    /// let other = std::thread::spawn(move || {
    ///     handle.block_on(async { mainspring::spawn(async { 6 * 7 }).await })
    /// });
    /// assert!(matches!(other.join(), Ok(Ok(42))));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.kind {
            Kind::Pool(pool) => pool.block_on(future),
            Kind::Local(_) => super::block_on(future),
        }
    }

    /// Runs `work`, which blocks, on a thread of the blocking pool, as
    /// [`spawn_blocking`](crate::spawn_blocking) does inside the runtime: its shutdown waits for
    /// the job, and after it the job is refused.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: as [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// ```
    /// let runtime = mainspring::LocalRuntime::new()?;
    /// let sum = runtime.handle().spawn_blocking(|| (1..=10).sum::<u32>());
    /// assert!(matches!(runtime.block_on(sum), Ok(55)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<T, F>(&self, work: F) -> BlockingTask<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_blocking_as(Blocking::Syscall, work)
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), in the lane of `class`.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: as [`spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking_as<T, F>(&self, class: Blocking, work: F) -> BlockingTask<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let group = match &self.kind {
            Kind::Pool(pool) => pool.blocking(),
            Kind::Local(home) => home.blocking(),
        };
        group.run(class, work)
    }

    /// Every task there that has not ended: where it was spawned, what it waits for and since when.
    /// Polls nobody.
    ///
    /// `None` for a one-thread runtime on another thread than its own, which alone knows: spawn
    /// the question there.
    ///
    /// ```
    /// use mainspring::Handle;
    ///
    /// mainspring::block_on(async {
    ///     mainspring::spawn(std::future::pending::<()>()).detach();
    ///     mainspring::yield_now().await;
    ///     for task in Handle::current().tasks().into_iter().flatten() {
    ///         println!("{task}");
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn tasks(&self) -> Option<Vec<TaskInfo>> {
        match &self.kind {
            Kind::Pool(pool) => Some(pool.tasks()),
            Kind::Local(home) => home.tasks(),
        }
    }

    /// What its workers have done; `None` as with [`tasks`](Self::tasks).
    #[must_use]
    pub fn metrics(&self) -> Option<Metrics> {
        match &self.kind {
            Kind::Pool(pool) => Some(pool.metrics()),
            Kind::Local(home) => home.metrics(),
        }
    }

    /// How many workers it has; a one-thread runtime has one.
    #[must_use]
    pub fn workers(&self) -> usize {
        match &self.kind {
            Kind::Pool(pool) => pool.workers(),
            Kind::Local(_) => 1,
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Pool(pool) => f.debug_tuple("Handle").field(pool).finish(),
            Kind::Local(home) => f.debug_tuple("Handle").field(home).finish(),
        }
    }
}
