//! The runtime that the command line asks for, of either kind.

use mainspring::net::{TcpListener, TcpStream};
use mainspring::shutdown::{Controller, ShutdownReport};
use mainspring::time::Deadline;
use mainspring::{Backend, Explanation, Handle, LocalRuntime, Runtime, spawn};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::unless::unless;

/// How long a shutdown may take.
pub(crate) const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// One thread, or several workers.
pub(crate) enum AnyRuntime {
    Local(LocalRuntime),
    Stealing(Runtime),
}

impl AnyRuntime {
    /// So many workers; with 0, the calling thread alone.
    pub(crate) fn build(workers: usize, backend: Backend) -> io::Result<Self> {
        Ok(match workers {
            0 => Self::Local(LocalRuntime::builder().backend(backend).build()?),
            _ => {
                let builder = Runtime::builder().workers(workers);
                Self::Stealing(builder.backend(backend).build()?)
            }
        })
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            Self::Local(runtime) => runtime.block_on(future),
            Self::Stealing(runtime) => runtime.block_on(future),
        }
    }

    pub(crate) fn explanation(&self) -> Explanation {
        match self {
            Self::Local(runtime) => runtime.explanation(),
            Self::Stealing(runtime) => runtime.explanation(),
        }
    }

    pub(crate) fn shutdown(&self) -> ShutdownReport {
        match self {
            Self::Local(runtime) => runtime.shutdown(SHUTDOWN_LIMIT),
            Self::Stealing(runtime) => runtime.shutdown(SHUTDOWN_LIMIT),
        }
    }
}

/// Serves everybody who connects, each in a task of its own, until it is told to stop.
///
/// Every worker accepts for itself, so that connections are spread from the start; after that their
/// tasks may be run by any.
pub(crate) async fn accept<S, F>(
    listener: TcpListener,
    stop: &Arc<Controller>,
    serve: S,
) -> io::Result<()>
where
    S: Fn(TcpStream) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = Handle::current();
    let listener = Arc::new(listener);
    let acceptors: Vec<_> = (0..runtime.workers())
        .map(|worker| {
            let (listener, stop, serve) = (Arc::clone(&listener), Arc::clone(stop), serve.clone());
            runtime.spawn_pinned(worker, move || async move {
                let accepted = accept_here(&listener, &stop, &serve).await;
                if accepted.is_err() {
                    stop.request(Deadline::after(SHUTDOWN_LIMIT));
                }
                accepted
            })
        })
        .collect();
    let mut result = Ok(());
    for acceptor in acceptors {
        let accepted = acceptor.await.unwrap_or_else(|e| Err(io::Error::other(e)));
        result = result.and(accepted);
    }
    result
}

async fn accept_here<S, F>(listener: &TcpListener, stop: &Controller, serve: &S) -> io::Result<()>
where
    S: Fn(TcpStream) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let signal = stop.signal();
    let mut stop = pin!(signal.requested());
    while let Some(accepted) = unless(stop.as_mut(), listener.accept()).await {
        let (stream, _peer) = accepted?;
        spawn(serve(stream)).detach();
    }
    Ok(())
}
