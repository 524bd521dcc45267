//! The least that can run tasks on one thread, without being a runtime: one block a task from a
//! free list, an intrusive run queue, counts and cells without atomics. It shows how much room
//! is left. It has no I/O, no threads, no panics to contain, and its wakers must stay home.

mod oneshot;
mod task;
mod wheel;

pub use oneshot::{Receiver, Sender};
pub use task::{Join, block_on, spawn};
pub use wheel::Sleep;

use std::future::Future;

use crate::runtime::{Fresh, OneThread, Sleeper, YieldOnce};

#[derive(Debug)]
pub struct Floor;

impl OneThread for Floor {
    type Join<T: 'static> = Join<T>;
    type Sender<T: 'static> = Sender<T>;
    type Receiver<T: 'static> = Receiver<T>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        block_on(main)
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Join<T> {
        spawn(task)
    }

    fn detach<T: 'static>(join: Join<T>) {
        drop(join);
    }

    fn yield_now() -> impl Future<Output = ()> + 'static {
        YieldOnce::default()
    }

    fn oneshot<T: 'static>() -> (Sender<T>, Receiver<T>) {
        oneshot::channel()
    }

    fn send<T: 'static>(sender: Sender<T>, value: T) {
        sender.send(value);
    }

    fn sleeper() -> impl Sleeper {
        Fresh(Sleep::new)
    }
}
