//! The runtimes with two workers, each with its best documented settings.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::thread;

use mainspring_core::blocking::{self, Blocking};
use mainspring_core::task::JoinHandle;
use mainspring_core::{Completer, Completion, completion};
use mainspring_executor::Pool;

use super::TwoWorkers;
use crate::runtime::{Sure, YieldOnce};

/// Ours, over a ring and timers on each worker, as the facade builds it.
#[derive(Debug)]
pub struct Ours(Pool);

/// A join handle that unwraps.
pub struct Joined<T>(JoinHandle<T>);

impl<T> Future for Joined<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(cx).map(|done| match done {
            Ok(output) => output,
            Err(_) => panic!("no task of a row panics"),
        })
    }
}

impl TwoWorkers for Ours {
    type Join<T: Send + 'static> = Joined<T>;
    type Sender<T: Send + 'static> = Completer<T>;
    type Receiver<T: Send + 'static> = Sure<Completion<T>>;

    fn build() -> Self {
        let pool = Pool::builder().workers(2).driver(|_| {
            let reactor = mainspring_reactor::Reactor::shared(mainspring_reactor::Backend::Auto)?;
            Ok(Box::new(mainspring_timer::TimerDriver::new(reactor)))
        });
        Self(pool.build().expect("a pool"))
    }

    fn block_on<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(main)
    }

    fn spawn_from_outside<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Joined<T> {
        Joined(self.0.spawn(task))
    }

    fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Joined<T> {
        Joined(mainspring_executor::spawn(task))
    }

    fn detach<T: Send + 'static>(join: Joined<T>) {
        drop(join);
    }

    fn yield_now() -> impl Future<Output = ()> + Send + 'static {
        mainspring_core::task::yield_now()
    }

    fn oneshot<T: Send + 'static>() -> (Completer<T>, Sure<Completion<T>>) {
        let (sender, receiver) = completion();
        (sender, Sure(receiver))
    }

    fn send<T: Send + 'static>(sender: Completer<T>, value: T) {
        assert!(sender.complete(value).is_ok(), "the receiver is there");
    }

    fn blocking(
        job: impl FnOnce() -> u64 + Send + 'static,
    ) -> impl Future<Output = u64> + Send + 'static {
        Sure(blocking::run(Blocking::Syscall, job))
    }
}

/// tokio's multi-thread runtime.
#[derive(Debug)]
pub struct Tokio(tokio::runtime::Runtime);

/// A join handle that unwraps.
pub struct TokioJoined<T>(tokio::task::JoinHandle<T>);

impl<T> Future for TokioJoined<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|done| done.expect("no task of a row panics"))
    }
}

impl TwoWorkers for Tokio {
    type Join<T: Send + 'static> = TokioJoined<T>;
    type Sender<T: Send + 'static> = tokio::sync::oneshot::Sender<T>;
    type Receiver<T: Send + 'static> = Sure<tokio::sync::oneshot::Receiver<T>>;

    fn build() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        Self(runtime.expect("a runtime"))
    }

    fn block_on<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(main)
    }

    fn spawn_from_outside<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> TokioJoined<T> {
        TokioJoined(self.0.spawn(task))
    }

    fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> TokioJoined<T> {
        TokioJoined(tokio::spawn(task))
    }

    fn detach<T: Send + 'static>(join: TokioJoined<T>) {
        drop(join);
    }

    fn yield_now() -> impl Future<Output = ()> + Send + 'static {
        tokio::task::yield_now()
    }

    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        (sender, Sure(receiver))
    }

    fn send<T: Send + 'static>(sender: Self::Sender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is there");
    }

    fn blocking(
        job: impl FnOnce() -> u64 + Send + 'static,
    ) -> impl Future<Output = u64> + Send + 'static {
        Sure(tokio::task::spawn_blocking(job))
    }
}

/// smol's parts: the leaked executor, its fastest form, with two threads under async-io's
/// `block_on`, as smol's global executor does it.
#[derive(Debug)]
pub struct Smol;

static EXECUTOR: OnceLock<&'static async_executor::StaticExecutor> = OnceLock::new();

fn executor() -> &'static async_executor::StaticExecutor {
    EXECUTOR.get().expect("a built executor")
}

impl TwoWorkers for Smol {
    type Join<T: Send + 'static> = async_executor::Task<T>;
    type Sender<T: Send + 'static> = futures_channel::oneshot::Sender<T>;
    type Receiver<T: Send + 'static> = Sure<futures_channel::oneshot::Receiver<T>>;

    fn build() -> Self {
        EXECUTOR.get_or_init(|| async_executor::Executor::new().leak());
        for _ in 0..2 {
            thread::spawn(|| {
                async_io::block_on(executor().run(std::future::pending::<()>()));
            });
        }
        Self
    }

    fn block_on<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        async_io::block_on(main)
    }

    fn spawn_from_outside<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> async_executor::Task<T> {
        executor().spawn(task)
    }

    fn spawn<T: Send + 'static>(
        task: impl Future<Output = T> + Send + 'static,
    ) -> async_executor::Task<T> {
        executor().spawn(task)
    }

    fn detach<T: Send + 'static>(join: async_executor::Task<T>) {
        join.detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send + 'static {
        YieldOnce::default()
    }

    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        let (sender, receiver) = futures_channel::oneshot::channel();
        (sender, Sure(receiver))
    }

    fn send<T: Send + 'static>(sender: Self::Sender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is there");
    }

    fn blocking(
        job: impl FnOnce() -> u64 + Send + 'static,
    ) -> impl Future<Output = u64> + Send + 'static {
        blocking_crate(job)
    }
}

fn blocking_crate(
    job: impl FnOnce() -> u64 + Send + 'static,
) -> impl Future<Output = u64> + Send + 'static {
    ::blocking::unblock(job)
}
