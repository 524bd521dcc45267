//! Where hyper's own tasks run.

use hyper::rt::Executor;
use std::future::Future;

/// Runs hyper's tasks on the runtime that is running here, on any of its threads: for connections
/// whose futures are `Send`.
///
/// HTTP/2 spawns a task for each stream, and so asks for an executor; HTTP/1 does not.
///
/// # Panics
///
/// [`execute`](Executor::execute) panics with `MS0001` where no runtime is running, as
/// [`spawn`](crate::spawn()) does.
///
/// ```
/// use hyper::rt::Executor;
/// use mainspring::compat::hyper::Spawn;
///
/// let (sender, receiver) = mainspring::sync::oneshot::channel();
/// let heard = mainspring::block_on(async move {
///     Spawn.execute(async move { sender.send(1) });
///     receiver.await
/// });
/// assert_eq!(heard, Ok(1));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Spawn;

impl<F> Executor<F> for Spawn
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        crate::spawn(future).detach();
    }
}

/// Runs hyper's tasks on the thread that asks, which has to be one that runs tasks: their futures
/// need not be `Send`.
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
