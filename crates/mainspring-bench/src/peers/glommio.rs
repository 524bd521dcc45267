//! glommio with the placement left to the caller (the process is pinned already).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_channel::oneshot;
use glommio::timer::Timer;

use crate::runtime::{OneThread, Sleeper, Sure, YieldOnce};

#[derive(Debug)]
pub struct Glommio;

impl OneThread for Glommio {
    type Join<T: 'static> = glommio::Task<T>;
    type Sender<T: 'static> = oneshot::Sender<T>;
    type Receiver<T: 'static> = Sure<oneshot::Receiver<T>>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        let builder = glommio::LocalExecutorBuilder::new(glommio::Placement::Unbound);
        builder.make().expect("an executor").run(main)
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Self::Join<T> {
        glommio::spawn_local(task)
    }

    fn detach<T: 'static>(join: Self::Join<T>) {
        join.detach();
    }

    fn yield_now() -> impl Future<Output = ()> + 'static {
        YieldOnce::default()
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
        TimerSleep(Timer::new(duration))
    }

    fn rearm(self, mut slot: Pin<&mut Option<TimerSleep>>, duration: Duration) {
        match slot.as_mut().as_pin_mut() {
            Some(mut sleep) => sleep.0.reset(duration),
            None => slot.set(Some(self.sleep(duration))),
        }
    }
}

/// glommio's timer as a future of nothing.
struct TimerSleep(Timer);

impl Future for TimerSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}
