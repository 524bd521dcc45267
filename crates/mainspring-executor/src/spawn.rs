//! Free functions for code that runs inside an executor.

use crate::local::CURRENT;
use mainspring_core::context::Slot;
use mainspring_core::task::JoinHandle;
use std::future::Future;

/// Spawns a task on the executor that is running on this thread.
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
    match Slot::look(&CURRENT) {
        // SAFETY: [hub.home] an executor is current only where it runs, and it runs at home.
        Some(hub) => Ok(unsafe { hub.spawn_local(future) }),
        None => Err(future),
    }
}

#[cold]
#[track_caller]
pub(crate) fn outside(function: &str) -> ! {
    // PANIC: documented at the callers; a program that spawns where nothing runs cannot go on by
    // itself.
    panic!(
        "MS0001: `{function}` was called outside an executor; call it inside `block_on` or a \
         task, or spawn through a `LocalExecutor`, a `Home` or a `Spawner` (docs/errors.md)"
    )
}
