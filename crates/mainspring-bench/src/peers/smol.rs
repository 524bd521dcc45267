//! smol's parts: the leaked local executor (its fastest form) under async-io's `block_on`.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_executor::{LocalExecutor, StaticLocalExecutor, Task};
use async_io::Timer;
use futures_channel::oneshot;

use crate::runtime::{OneThread, Sleeper, Sure};

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

    fn sleeper() -> impl Sleeper {
        Timers
    }
}

#[derive(Clone, Copy)]
struct Timers;

impl Sleeper for Timers {
    type Sleep = TimerSleep;

    fn sleep(self, duration: Duration) -> TimerSleep {
        TimerSleep(Timer::after(duration))
    }

    fn rearm(self, mut slot: Pin<&mut Option<TimerSleep>>, duration: Duration) {
        match slot.as_mut().as_pin_mut() {
            Some(mut sleep) => sleep.0.set_after(duration),
            None => slot.set(Some(self.sleep(duration))),
        }
    }
}

/// async-io's timer as a future of nothing.
struct TimerSleep(Timer);

impl Future for TimerSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}
