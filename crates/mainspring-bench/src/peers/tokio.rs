//! tokio's current-thread runtime, all drivers enabled as `#[tokio::main]` does.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::runtime::{OneThread, Sleeper, Sure};

#[derive(Debug)]
pub struct Tokio;

impl OneThread for Tokio {
    type Join<T: 'static> = Joined<T>;
    type Sender<T: 'static> = oneshot::Sender<T>;
    type Receiver<T: 'static> = Sure<oneshot::Receiver<T>>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(main)
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Joined<T> {
        Joined(tokio::spawn(StaysHere(task)))
    }

    fn detach<T: 'static>(join: Joined<T>) {
        drop(join);
    }

    fn yield_now() -> impl Future<Output = ()> + 'static {
        tokio::task::yield_now()
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
    type Sleep = tokio::time::Sleep;

    fn sleep(self, duration: Duration) -> tokio::time::Sleep {
        tokio::time::sleep(duration)
    }

    fn rearm(self, mut slot: Pin<&mut Option<tokio::time::Sleep>>, duration: Duration) {
        match slot.as_mut().as_pin_mut() {
            Some(sleep) => sleep.reset(tokio::time::Instant::now() + duration),
            None => slot.set(Some(self.sleep(duration))),
        }
    }
}

/// Claims `Send` for a task of the current-thread runtime, which saves the rows a bound that
/// the other runtimes do not need, at no cost at run time.
struct StaysHere<V>(V);

// SAFETY: a current-thread runtime polls and drops its tasks, and hands over their outputs, on
// the thread of `block_on`; no row moves a handle to another thread.
unsafe impl<V> Send for StaysHere<V> {}

impl<F: Future> Future for StaysHere<F> {
    type Output = StaysHere<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the field is never moved out of the pinned wrapper.
        unsafe { self.map_unchecked_mut(|wrapper| &mut wrapper.0) }
            .poll(cx)
            .map(StaysHere)
    }
}

/// A join handle that unwraps.
pub struct Joined<T>(tokio::task::JoinHandle<StaysHere<T>>);

impl<T> Future for Joined<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|done| done.expect("no task of a row panics").0)
    }
}
