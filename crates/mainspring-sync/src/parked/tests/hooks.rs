//! A waker that does as it is told whenever it is touched.

use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// How a waker is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Clone,
    Wake,
    Drop,
}

type Hook = Arc<dyn Fn(Touch) + Send + Sync>;

/// A waker that calls `hook` whenever it is cloned, woken or dropped.
pub(crate) fn hooked(hook: impl Fn(Touch) + Send + Sync + 'static) -> Waker {
    let hook: Hook = Arc::new(hook);
    let data = Box::into_raw(Box::new(hook)).cast_const().cast();
    // SAFETY: the table below owns a box with a count on the hook for each waker.
    unsafe { Waker::new(data, &HOOKED) }
}

static HOOKED: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the waker that is cloned owns its box.
        let hook = unsafe { &*data.cast::<Hook>() };
        hook(Touch::Clone);
        let clone = Box::into_raw(Box::new(Arc::clone(hook)));
        RawWaker::new(clone.cast_const().cast(), &HOOKED)
    },
    |data| {
        // SAFETY: `wake` consumes the waker, and with it the box.
        let hook = unsafe { Box::from_raw(data.cast_mut().cast::<Hook>()) };
        hook(Touch::Wake);
    },
    |data| {
        // SAFETY: the borrowed waker owns its box.
        let hook = unsafe { &*data.cast::<Hook>() };
        hook(Touch::Wake);
    },
    |data| {
        // SAFETY: the waker that is dropped owns its box.
        let hook = unsafe { Box::from_raw(data.cast_mut().cast::<Hook>()) };
        hook(Touch::Drop);
    },
);
