//! glommio with the placement left to the caller (the process is pinned already).

use std::future::Future;
use std::time::Duration;

use futures_channel::oneshot;

use crate::runtime::{OneThread, Sure, YieldOnce};

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

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        glommio::timer::sleep(duration)
    }
}
