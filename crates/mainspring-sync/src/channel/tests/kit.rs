//! Futures polled by hand, each as a task of its own.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Counts its wakes.
#[derive(Default)]
pub(in crate::channel) struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// One future and who polls it.
pub(in crate::channel) struct Hand<F: Future> {
    pub(in crate::channel) future: Pin<Box<F>>,
    pub(in crate::channel) bell: Arc<Bell>,
}

impl<F: Future> Hand<F> {
    pub(in crate::channel) fn new(future: F) -> Self {
        Self {
            future: Box::pin(future),
            bell: Arc::default(),
        }
    }

    /// Made and polled once, which leaves it waiting.
    pub(in crate::channel) fn waiting(future: F) -> Self {
        let mut hand = Self::new(future);
        assert!(hand.poll().is_pending(), "it was to wait");
        hand
    }

    pub(in crate::channel) fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.bell));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub(in crate::channel) fn ready(&mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it was to be ready"),
        }
    }

    /// Forgets the future, whose memory a leak checker finds here.
    pub(in crate::channel) fn forget(self) {
        static KEPT: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());
        let kept = Box::into_raw(Box::new(self)).cast();
        KEPT.lock().unwrap().push(AtomicPtr::new(kept));
    }

    /// How often it was woken since the last time it was asked.
    pub(in crate::channel) fn wakes(&self) -> usize {
        self.bell.0.swap(0, SeqCst)
    }
}

/// Panics when it is dropped, the first time.
pub(in crate::channel) struct Grenade<'a>(pub(in crate::channel) &'a Cell<u32>);

impl Drop for Grenade<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(self.0.get() > 1, "a destructor that panics");
    }
}
