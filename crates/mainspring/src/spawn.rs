//! Spawning on whatever runtime is running.

use mainspring_core::spawn;
use mainspring_core::task::JoinHandle;
use std::future::Future;

/// Spawns a task that may run on any thread of the runtime that is running here.
///
/// Code that spawns with it runs on every runtime. On a [`LocalRuntime`](crate::LocalRuntime) there
/// is one thread, and [`spawn_local`](crate::spawn_local) asks for less: its futures need not be
/// `Send`.
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
    match spawn::current() {
        Some(spawner) => spawner.spawn(future),
        None => outside(),
    }
}

#[cold]
#[track_caller]
fn outside() -> ! {
    // PANIC: documented above; a program that spawns where nothing runs cannot go on by itself.
    panic!(
        "MS0001: `spawn` was called outside a runtime; call it inside `block_on` or a task, or \
         spawn through a `LocalRuntime`, a `Home` or a `Spawner` (docs/errors.md)"
    )
}
