//! Free functions for code that runs inside an executor.

use crate::local::CURRENT;
use crate::pool::PoolHandle;
use mainspring_core::blocking::{self, Blocking, BlockingTask};
use mainspring_core::context::Slot;
use mainspring_core::spawn;
use mainspring_core::task::JoinHandle;
use std::future::Future;

/// Spawns a task that may run on any thread of the executor that is running here: a [`Pool`], a
/// [`LocalExecutor`], or whichever has entered core's [`Spawner`](mainspring_core::spawn::Spawner).
///
/// Dropping the handle detaches the task. One allocation.
///
/// ```
/// use mainspring_executor::{Pool, spawn};
///
/// let pool = Pool::builder().workers(2).build()?;
/// let sum = pool.block_on(async { spawn(async { 2 + 3 }).await });
/// assert_eq!(sum.ok(), Some(5));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
///
/// With `MS0001` where no executor is running. [`try_spawn`] is the form that gives the future back
/// instead.
///
/// [`Pool`]: crate::Pool
/// [`LocalExecutor`]: crate::LocalExecutor
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match try_spawn(future) {
        Ok(handle) => handle,
        Err(_) => outside("spawn"),
    }
}

/// Spawns a task that may run on any thread of the executor that is running here, if one is.
///
/// # Errors
///
/// The future, where no executor is running.
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn::try_spawn(future)
}

/// Spawns a task that stays on one worker of the pool that is running here: `make` is called on
/// that worker's thread, and its future, which need not be `Send`, is polled and dropped there
/// only.
///
/// # Panics
///
/// With `MS0001` where no pool is running, and with `MS0015` if there is no such worker.
/// [`PoolHandle::current`] and [`PoolHandle::workers`] say so without.
#[track_caller]
pub fn spawn_pinned<M, F>(worker: usize, make: M) -> JoinHandle<F::Output>
where
    M: FnOnce() -> F + Send + 'static,
    F: Future + 'static,
    F::Output: Send + 'static,
{
    match PoolHandle::current() {
        Some(pool) => pool.spawn_pinned(worker, make),
        None => outside("spawn_pinned"),
    }
}

/// Spawns a task on the executor that is running on this thread: on a pool, on the worker whose
/// thread this is.
///
/// The future need not be `Send`: it stays on this thread. One allocation.
///
/// ```
/// use mainspring_executor::{LocalExecutor, spawn_local};
///
/// let sum = LocalExecutor::new().block_on(async { spawn_local(async { 2 + 3 }).await });
/// assert_eq!(sum.ok(), Some(5));
/// ```
///
/// # Panics
///
/// With `MS0001` where no executor with local tasks is running. [`try_spawn_local`] is the form
/// that gives the future back instead.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match try_spawn_local(future) {
        Ok(handle) => handle,
        Err(_) => outside("spawn_local"),
    }
}

/// Spawns a task on the executor that is running on this thread, if one is.
///
/// # Errors
///
/// The future, where no executor with local tasks is running.
#[track_caller]
pub fn try_spawn_local<F>(future: F) -> Result<JoinHandle<F::Output>, F>
where
    F: Future + 'static,
    F::Output: 'static,
{
    if let Some(hub) = Slot::look(&CURRENT) {
        // SAFETY: [hub.home] an executor is current only where it runs, and it runs at home.
        return Ok(unsafe { hub.spawn_local(future) });
    }
    match spawn::current_local() {
        Some(spawner) => Ok(spawner.spawn_local(future)),
        None => Err(future),
    }
}

/// Runs `work`, which blocks, on a thread of the process's blocking pool, and resolves to what it
/// returns.
///
/// For files, and for libraries without asynchronous calls. For long computations and for what may
/// hang for ever, [`spawn_blocking_as`] has lanes of their own. Not for work that never ends: start
/// a thread. Works where no executor is running, too.
///
/// # Cancel safety
///
/// *Loses value*: dropped while the job is queued, the job never runs; dropped while it runs, it
/// runs to its end and the result is discarded. `detach` lets it run in any case.
///
/// # Guarantees
///
/// The job is queued at once, before the first poll. A panic in it is the result of this future and
/// takes no thread down. The shutdown of the executor that it was started in waits for it.
///
/// Two allocations.
///
/// ```
/// use mainspring_executor::{block_on, spawn_blocking};
///
/// let sum = block_on(async { spawn_blocking(|| (1..=10).sum::<u32>()).await });
/// assert!(matches!(sum, Ok(55)));
/// ```
#[track_caller]
pub fn spawn_blocking<T, F>(work: F) -> BlockingTask<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    blocking::run(Blocking::Syscall, work)
}

/// As [`spawn_blocking`], in the lane of `class`: computations have as many threads as there are
/// processors, and no shutdown waits for what may be abandoned.
///
/// # Cancel safety
///
/// *Loses value*: as [`spawn_blocking`].
///
/// ```
/// use mainspring_core::blocking::Blocking;
/// use mainspring_executor::{block_on, spawn_blocking_as};
///
/// let is_prime = || (2..97).all(|n| 97 % n != 0);
/// let prime = block_on(async { spawn_blocking_as(Blocking::Compute, is_prime).await });
/// assert!(matches!(prime, Ok(true)));
/// ```
#[track_caller]
pub fn spawn_blocking_as<T, F>(class: Blocking, work: F) -> BlockingTask<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    blocking::run(class, work)
}

#[cold]
#[track_caller]
pub(crate) fn outside(function: &str) -> ! {
    // PANIC: documented at the callers; a program that spawns where nothing runs cannot go on by
    // itself.
    panic!(
        "MS0001: `{function}` was called outside an executor that it could spawn on; call it \
         inside a task, or spawn through a `Pool`, a `LocalExecutor`, a `Home` or a `Spawner` \
         (docs/errors.md)"
    )
}
