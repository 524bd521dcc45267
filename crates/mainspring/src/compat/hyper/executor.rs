//! Where hyper's own tasks run.

use hyper::rt::Executor;
use std::future::Future;

/// Runs hyper's tasks on the runtime of this thread: its futures need not be `Send`.
///
/// HTTP/2 spawns a task for each stream, and so asks for an executor; HTTP/1 does not.
///
/// # Panics
///
/// [`execute`](Executor::execute) panics with `MS0001` where no runtime is running, as
/// [`spawn_local`](crate::spawn_local) does.
///
/// ```
/// use hyper::rt::Executor;
/// use mainspring::compat::hyper::SpawnLocal;
/// use std::{cell::Cell, rc::Rc};
///
/// let count = Rc::new(Cell::new(0));
/// let seen = Rc::clone(&count);
/// mainspring::block_on(async move {
///     SpawnLocal.execute(async move { seen.set(1) });
///     mainspring::yield_now().await;
/// });
/// assert_eq!(count.get(), 1);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SpawnLocal;

impl<F> Executor<F> for SpawnLocal
where
    F: Future + 'static,
    F::Output: 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        crate::spawn_local(future).detach();
    }
}
