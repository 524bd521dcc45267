//! Polling by hand, and wakers that count.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) use super::counted::counted;

pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}
