//! The executors.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

pub(crate) type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An executor that runs the tests as a user's program runs in it.
pub(crate) trait Host {
    fn block_on<T>(future: impl Future<Output = T>) -> T;
    /// Inside of `block_on`.
    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T>;
    /// `None` if it took longer: the future is dropped then.
    fn timeout<T: Send>(
        limit: Duration,
        future: impl Future<Output = T> + Send,
    ) -> impl Future<Output = Option<T>> + Send;
}

pub(crate) struct TokioMulti;
pub(crate) struct TokioSingle;
pub(crate) struct Smol;
/// `block_on` of the futures crates; each task is a thread.
pub(crate) struct Futures;

fn tokio_spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let task = tokio::spawn(future);
    Box::pin(async { task.await.unwrap() })
}

impl Host for TokioMulti {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_time().build();
        runtime.unwrap().block_on(future)
    }

    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        tokio_spawn(future)
    }

    async fn timeout<T: Send>(
        limit: Duration,
        future: impl Future<Output = T> + Send,
    ) -> Option<T> {
        tokio::time::timeout(limit, future).await.ok()
    }
}

impl Host for TokioSingle {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap().block_on(future)
    }

    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        tokio_spawn(future)
    }

    async fn timeout<T: Send>(
        limit: Duration,
        future: impl Future<Output = T> + Send,
    ) -> Option<T> {
        tokio::time::timeout(limit, future).await.ok()
    }
}

async fn with_smols_timer<T: Send>(
    limit: Duration,
    future: impl Future<Output = T> + Send,
) -> Option<T> {
    let late = async {
        smol::Timer::after(limit).await;
        None
    };
    smol::future::or(async { Some(future.await) }, late).await
}

impl Host for Smol {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }

    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Box::pin(smol::spawn(future))
    }

    async fn timeout<T: Send>(
        limit: Duration,
        future: impl Future<Output = T> + Send,
    ) -> Option<T> {
        with_smols_timer(limit, future).await
    }
}

impl Host for Futures {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        futures_executor::block_on(future)
    }

    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let (done, task) = futures_channel::oneshot::channel();
        std::thread::spawn(move || {
            let _ = done.send(futures_executor::block_on(future));
        });
        Box::pin(async { task.await.unwrap() })
    }

    async fn timeout<T: Send>(
        limit: Duration,
        future: impl Future<Output = T> + Send,
    ) -> Option<T> {
        // It has a thread of its own, and no executor of ours.
        with_smols_timer(limit, future).await
    }
}

/// Gives the others a turn, under any executor.
pub(crate) use smol::future::yield_now;

/// All that were spawned, in order.
pub(crate) async fn all<T>(tasks: Vec<Task<T>>) -> Vec<T> {
    let mut outputs = Vec::with_capacity(tasks.len());
    for task in tasks {
        outputs.push(task.await);
    }
    outputs
}
