//! The runtime of several threads, over every backend that this system allows.

mod ending;
mod looking;
mod nesting;
mod running;
mod sockets;

use super::backends;
use mainspring::Runtime;
use mainspring::task::JoinHandle;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const WORKERS: usize = 4;

/// A runtime of four workers for each backend that is to be had here.
pub(crate) fn stealing() -> Vec<Runtime> {
    let build = |backend| {
        let builder = Runtime::builder().workers(WORKERS).backend(backend);
        builder.build().expect("a runtime over what is to be had")
    };
    backends().into_iter().map(build).collect()
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
