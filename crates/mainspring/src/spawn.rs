//! Spawning on whatever runtime is running.

use crate::Handle;
use mainspring_core::spawn;
use mainspring_core::task::JoinHandle;
use std::future::Future;

/// Spawns a task that may run on any thread of the runtime that is running here.
///
/// Code that spawns with it runs on every runtime. On a [`Runtime`](crate::Runtime) the task stands
/// in the queue of the worker whose thread this is, where others may take it. On a
/// [`LocalRuntime`](crate::LocalRuntime) there is one thread, and
/// [`spawn_local`](crate::spawn_local) asks for less: its futures need not be `Send`.
///
/// Dropping the handle detaches the task. One allocation.
///
/// ```
/// let answer = mainspring::block_on(async { mainspring::spawn(async { 6 * 7 }).await });
/// assert_eq!(answer.ok(), Some(42));
/// ```
///
/// # Panics
///
/// With `MS0001` where no runtime is running. [`task::current`](crate::task::current) is the form
/// that says so instead.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match spawn::try_spawn(future) {
        Ok(handle) => handle,
        Err(_) => outside("spawn"),
    }
}

/// Spawns a task that stays on one worker of the runtime that is running here: `make` is called on
/// that worker's thread, and its future, which need not be `Send`, is polled and dropped there
/// only.
///
/// Workers are numbered from 0; [`Handle::workers`] says how many there are. A
/// [`LocalRuntime`](crate::LocalRuntime) is its own worker 0. A pinned task waits while its worker
/// is busy with another's poll.
///
/// Dropping the handle detaches the task. One allocation.
///
/// ```
/// use std::rc::Rc;
///
/// let answer = mainspring::block_on(async {
///     mainspring::spawn_pinned(0, || async {
///         let shared = Rc::new(6 * 7); // made over there, and not `Send`
///         mainspring::yield_now().await;
///         *shared
///     })
///     .await
/// });
/// assert_eq!(answer.ok(), Some(42));
/// ```
///
/// # Panics
///
/// With `MS0001` where no runtime is running, and with `MS0015` if there is no such worker.
#[track_caller]
pub fn spawn_pinned<M, F>(worker: usize, make: M) -> JoinHandle<F::Output>
where
    M: FnOnce() -> F + Send + 'static,
    F: Future + 'static,
    F::Output: Send + 'static,
{
    match Handle::try_current() {
        Some(handle) => handle.spawn_pinned(worker, make),
        None => outside("spawn_pinned"),
    }
}

#[cold]
#[track_caller]
fn outside(function: &str) -> ! {
    // PANIC: documented above; a program that spawns where nothing runs cannot go on by itself.
    panic!(
        "MS0001: `{function}` was called outside a runtime; call it inside `block_on` or a task, \
         or spawn through a `Runtime`, a `LocalRuntime` or a `Handle` (docs/errors.md)"
    )
}
