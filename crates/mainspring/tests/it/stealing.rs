//! The runtime of several threads, over every backend that this system allows.

mod ending;
mod looking;
mod nesting;
mod paused;
mod running;
mod sockets;
mod stuck;

use super::backends;
use mainspring::task::JoinHandle;
use mainspring::{Backend, ReactorError, RingRefusal, Runtime};
use std::future::{Future, pending};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

const WORKERS: usize = 4;

/// A runtime of four workers for each backend that is to be had here.
pub(crate) fn stealing() -> Vec<Runtime> {
    backends().into_iter().map(over).collect()
}

/// A runtime of four workers over one backend.
fn over(backend: Backend) -> Runtime {
    patiently(|| {
        let builder = Runtime::builder().workers(WORKERS).backend(backend);
        builder.build()
    })
}

/// What `attempt` comes to, again and again while the kernel is short of memory for rings: those
/// that were dropped give theirs back in its own time.
pub(crate) fn patiently<T>(attempt: impl Fn() -> io::Result<T>) -> T {
    loop {
        match attempt() {
            Ok(result) => return result,
            Err(error) if is_short_of_memory(&error) => thread::yield_now(),
            Err(error) => panic!("a runtime over what is to be had: {error}"),
        }
    }
}

fn is_short_of_memory(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|error| error.downcast_ref());
    matches!(inner, Some(ReactorError::NoRing(RingRefusal::Memlock)))
}

/// Spawns on a worker and waits for what it comes to.
async fn on<F>(worker: usize, make: impl FnOnce() -> F + Send + 'static) -> F::Output
where
    F: Future + 'static,
    F::Output: Send + 'static,
{
    let task: JoinHandle<_> = mainspring::spawn_pinned(worker, make);
    task.await.expect("no panic")
}

/// Counts its drop.
struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A future that never ends and counts its drop.
fn never(drops: &Arc<AtomicUsize>) -> impl Future<Output = ()> + Send + use<> {
    let counts = Counts(Arc::clone(drops));
    async move {
        let _counts = counts;
        pending().await
    }
}
