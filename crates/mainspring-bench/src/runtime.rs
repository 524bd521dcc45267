//! What a one-thread runtime must offer to take part in the rows.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A runtime whose tasks all stay on the thread of `block_on`.
///
/// Every method but [`block_on`](OneThread::block_on) is called inside it.
pub trait OneThread: Sized + 'static {
    /// The handle of a spawned task; its output is the task's.
    type Join<T: 'static>: Future<Output = T> + 'static;
    /// The sending half of the oneshot that users of this runtime take.
    type Sender<T: 'static>: 'static;
    /// The receiving half; dropping the sender unsent is a panic.
    type Receiver<T: 'static>: Future<Output = T> + 'static;

    /// Builds a runtime with its best documented settings and runs `main` on it.
    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T;
    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Self::Join<T>;
    /// Lets the task run on without its handle.
    fn detach<T: 'static>(join: Self::Join<T>);
    fn yield_now() -> impl Future<Output = ()> + 'static;
    fn oneshot<T: 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: 'static>(sender: Self::Sender<T>, value: T);
    fn sleeper() -> impl Sleeper;
}

/// How a runtime makes its sleeps.
pub trait Sleeper: Copy + 'static {
    type Sleep: Future<Output = ()> + 'static;

    fn sleep(self, duration: Duration) -> Self::Sleep;

    /// Gives the sleep in the slot a new deadline by the best way that the runtime has; by
    /// default it is dropped and another one takes its place.
    fn rearm(self, mut slot: Pin<&mut Option<Self::Sleep>>, duration: Duration) {
        slot.set(Some(self.sleep(duration)));
    }
}

/// A function that makes sleeps which cannot be given another deadline.
#[derive(Clone, Copy, Debug)]
pub struct Fresh<F>(pub F);

impl<F, S> Sleeper for Fresh<F>
where
    F: Fn(Duration) -> S + Copy + 'static,
    S: Future<Output = ()> + 'static,
{
    type Sleep = S;

    fn sleep(self, duration: Duration) -> S {
        (self.0)(duration)
    }
}

/// A future of a result that is never an error here.
#[derive(Debug)]
pub struct Sure<F>(pub F);

impl<F, T, E> Future for Sure<F>
where
    F: Future<Output = Result<T, E>> + Unpin,
    E: Debug,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|result| result.expect("the other side is there"))
    }
}

/// Yields once by waking itself: for runtimes that have no yield of their own.
#[derive(Debug, Default)]
pub struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
