//! Polling by hand.

use std::task::{Context, Poll, Waker};
use std::{future::Future, pin::Pin};

#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) use super::counted::{Counter, counted, tasks};

pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}
