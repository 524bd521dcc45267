//! The smallest executor: one future, one thread.

use crate::sync::Arc;
use mainspring_core::driver::Until;
use mainspring_core::park::{Parker, Woken};
use mainspring_core::time;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How long a test may wait for something that has to happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Polls `future` on this thread until it is ready.
///
/// # Panics
///
/// If it was not woken for half a minute: a test that hangs says less.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    match block_for(future, LIMIT) {
        Some(output) => output,
        None => panic!("not woken for {LIMIT:?}: a wake-up is lost, or never comes"),
    }
}

/// As [`block_on`]; `None` when nothing woke it for `limit`.
pub(crate) fn block_for<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        let until = Until::At(time::now().saturating_add(limit));
        if parker.park_until(until) == Woken::TimedOut {
            return None;
        }
    }
}
