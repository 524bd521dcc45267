//! monoio on its io_uring driver, without the fallback's dispatch; its oneshot is local-sync's.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use local_sync::oneshot;

use crate::runtime::{OneThread, Sleeper, Sure, YieldOnce};

#[derive(Debug)]
pub struct Monoio;

impl OneThread for Monoio {
    type Join<T: 'static> = monoio::task::JoinHandle<T>;
    type Sender<T: 'static> = oneshot::Sender<T>;
    type Receiver<T: 'static> = Sure<oneshot::Receiver<T>>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        let builder = monoio::RuntimeBuilder::<monoio::IoUringDriver>::new();
        builder
            .enable_timer()
            .build()
            .expect("a runtime")
            .block_on(main)
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Self::Join<T> {
        monoio::spawn(task)
    }

    fn detach<T: 'static>(join: Self::Join<T>) {
        drop(join);
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
    type Sleep = monoio::time::Sleep;

    fn sleep(self, duration: Duration) -> monoio::time::Sleep {
        monoio::time::sleep(duration)
    }

    fn rearm(self, mut slot: Pin<&mut Option<monoio::time::Sleep>>, duration: Duration) {
        match slot.as_mut().as_pin_mut() {
            Some(sleep) => sleep.reset(monoio::time::Instant::now() + duration),
            None => slot.set(Some(self.sleep(duration))),
        }
    }
}
