//! A loop of one's own, as a user would write it.

use mainspring_core::park::Parker;
use mainspring_core::spawn::{Boxed, Spawn};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Polls on this thread until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}

/// Each future on a thread of its own.
pub(crate) struct Threads;

impl Spawn for Threads {
    fn spawn(&self, future: Boxed) {
        std::thread::spawn(|| block_on(future));
    }
}
