//! One future, for once, on the current thread.

use super::stack::Lent;
use mainspring_core::driver::{Driver, ThreadDriver};
use mainspring_executor::LocalExecutor;
use mainspring_timer::TimerDriver;
use std::future::Future;

/// Runs `future` on this thread until it is ready, and what it spawns beside it.
///
/// For `main`, for tests, and for threads that have one thing to wait for. Sockets and timers are
/// served by this thread while it waits: no other is started. A program that configures its
/// runtime, or ends it with a deadline and a report, makes a [`LocalRuntime`](crate::LocalRuntime)
/// or a [`Runtime`](crate::Runtime), whose `block_on` is another: what is spawned there runs there.
///
/// The future need be neither `Send` nor `'static`. Tasks that have not ended when it is ready are
/// dropped, and so are cleanups; jobs on the blocking pool that have not begun are refused.
///
/// A sleep belongs to the runtime that was running where it was made, and what a socket waits for
/// to the one where it was polled, or with readiness first waited. While that runtime is not
/// running (here: between two calls), nobody serves it, and a wait for it from elsewhere does not
/// end.
///
/// # Complexity and allocation
///
/// The first call on a thread opens a reactor, which the thread keeps; sockets made in one call
/// work in the next. Over the ring that, and its end with the thread, costs about a millisecond: a
/// thread that lives shortly does better with a [`LocalRuntime`](crate::LocalRuntime) over
/// [`Backend::Poll`](crate::Backend::Poll). Every call makes an executor, some ten small
/// allocations.
///
/// If the system refuses the reactor its descriptors, the call does without: timers work, and
/// sockets fall back to the background thread, or say why not.
///
/// ```
/// use mainspring::time::sleep;
/// use std::time::Duration;
///
/// let sum = mainspring::block_on(async {
///     let task = mainspring::spawn_local(async {
///         sleep(Duration::from_millis(1)).await;
///         2
///     });
///     task.await.map(|n| n + 3)
/// });
/// assert_eq!(sum.ok(), Some(5));
/// ```
///
/// # Panics
///
/// With `MS0002` inside a task or another `block_on` of the family. What `future` panics with is
/// passed on.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let driver: Box<dyn Driver> = match Lent::take() {
        Ok(reactor) => Box::new(TimerDriver::new(reactor)),
        Err(_) => Box::new(TimerDriver::new(ThreadDriver::new())),
    };
    LocalExecutor::with_driver(driver).block_on(future)
}
