//! What the tests of several modules share: wakers that count, a hand-driven executor, and a cell
//! that a model watches.

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod probe;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) use self::probe::{Otherwise, Probe, auto_traits};
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod tasks;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) use self::tasks::Tasks;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod watched;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(crate) use self::watched::Watched;

use std::cell::RefCell;
use std::pin::Pin;
// DOOR: the tests' own, which no model explores.
use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

/// A waker that counts its calls.
#[derive(Default)]
pub(crate) struct Counter(AtomicUsize);

#[cfg(not(all(mainspring_loom, feature = "loom")))]
impl Counter {
    pub(crate) fn calls(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A waker of its own task.
pub(crate) fn counted() -> (Arc<Counter>, Waker) {
    let counter = Arc::new(Counter::default());
    (Arc::clone(&counter), Waker::from(counter))
}

/// A waker that does something the first time that it is called.
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) fn once(run: impl FnOnce() + Send + 'static) -> Waker {
    // DOOR: as above.
    struct Once(std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>);

    impl Wake for Once {
        fn wake(self: Arc<Self>) {
            let run = self.0.lock().unwrap().take();
            if let Some(run) = run {
                run();
            }
        }
    }
    // DOOR: as above.
    let run = std::sync::Mutex::new(Some(Box::new(run) as Box<_>));
    Waker::from(Arc::new(Once(run)))
}

pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

thread_local! {
    /// Wakers are kept, so that no later one has the address of an earlier one: two futures polled
    /// with one address count as of one task.
    static KEPT: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// Polls once, as a task of its own.
pub(crate) fn poll_alone<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    let (_, waker) = counted();
    KEPT.with(|kept| kept.borrow_mut().push(waker.clone()));
    poll(future, &waker)
}
