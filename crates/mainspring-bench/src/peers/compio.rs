//! compio on io_uring with the ring flags its documentation advises for one thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use compio::driver::ProactorBuilder;
use compio::runtime::{JoinHandle, RuntimeBuilder};
use futures_channel::oneshot;

use crate::runtime::{Fresh, OneThread, Sleeper, Sure, YieldOnce};

#[derive(Debug)]
pub struct Compio;

impl Compio {
    pub fn runtime() -> compio::runtime::Runtime {
        let mut proactor = ProactorBuilder::new();
        proactor
            .single_issuer(true)
            .coop_taskrun(true)
            .taskrun_flag(true);
        RuntimeBuilder::new()
            .with_proactor(proactor)
            .build()
            .expect("a runtime")
    }
}

impl OneThread for Compio {
    type Join<T: 'static> = Joined<T>;
    type Sender<T: 'static> = oneshot::Sender<T>;
    type Receiver<T: 'static> = Sure<oneshot::Receiver<T>>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        Compio::runtime().block_on(main)
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Joined<T> {
        Joined(compio::runtime::spawn(task))
    }

    fn detach<T: 'static>(join: Joined<T>) {
        join.0.detach();
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
        Fresh(compio::time::sleep)
    }
}

/// A join handle that unwraps.
pub struct Joined<T>(JoinHandle<T>);

impl<T: 'static> Future for Joined<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(cx).map(|done| match done {
            Ok(output) => output,
            Err(_) => panic!("no task of a row panics"),
        })
    }
}
