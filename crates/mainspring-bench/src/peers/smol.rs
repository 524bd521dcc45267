//! smol's parts: the leaked local executor (its fastest form) under async-io's `block_on`.

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

use async_executor::{LocalExecutor, StaticLocalExecutor, Task};
use futures_channel::oneshot;

use crate::runtime::{OneThread, Sure};

#[derive(Debug)]
pub struct Smol;

thread_local! {
    static EXECUTOR: Cell<Option<&'static StaticLocalExecutor>> = const { Cell::new(None) };
}

impl OneThread for Smol {
    type Join<T: 'static> = Task<T>;
    type Sender<T: 'static> = oneshot::Sender<T>;
    type Receiver<T: 'static> = Sure<oneshot::Receiver<T>>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        let executor = LocalExecutor::new().leak();
        EXECUTOR.set(Some(executor));
        async_io::block_on(executor.run(main))
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Task<T> {
        EXECUTOR.get().expect("inside block_on").spawn(task)
    }

    fn detach<T: 'static>(join: Task<T>) {
        join.detach();
    }

    fn yield_now() -> impl Future<Output = ()> + 'static {
        futures_lite::future::yield_now()
    }

    fn oneshot<T: 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (sender, Sure(receiver))
    }

    fn send<T: 'static>(sender: Self::Sender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is there");
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        let timer = async_io::Timer::after(duration);
        async move {
            timer.await;
        }
    }
}
