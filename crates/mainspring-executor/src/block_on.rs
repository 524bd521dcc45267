//! Drive one future to its end on the current thread.

use crate::root::Root;
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::poll;
use mainspring_core::sync::thread_local;
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What a thread needs to block on a future; made once a thread and kept.
struct Seat {
    driver: ThreadDriver,
    root: Arc<Root>,
    waker: Waker,
}

impl Seat {
    fn new() -> Self {
        let driver = ThreadDriver::new();
        let root = Root::new(driver.handle());
        let waker = root.waker();
        Self {
            driver,
            root,
            waker,
        }
    }
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// Lends this thread's seat, and puts it back on unwind too.
struct Borrowed(Option<Seat>);

impl Borrowed {
    fn take() -> Self {
        // During thread-local destruction there is no seat to borrow: a fresh one serves.
        let cached = SEAT.try_with(RefCell::take).ok().flatten();
        Self(Some(cached.unwrap_or_else(Seat::new)))
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let seat = self.0.take();
        // Nothing is kept when the thread is ending.
        let _ = SEAT.try_with(|cached| cached.replace(seat));
    }
}

/// Runs `future` on this thread until it is ready, sleeping while it is pending.
///
/// For `main`, tests, and threads that have one thing to wait for. It drives nothing but its
/// future: a program with tasks of its own wants [`LocalExecutor`](crate::LocalExecutor). Timers
/// and sockets work inside, served by the family's fallback threads.
///
/// The future need be neither `Send` nor `'static`. After the first call on a thread nothing is
/// allocated.
///
/// ```
/// use mainspring_executor::block_on;
///
/// let word = String::from("borrowed");
/// assert_eq!(block_on(async { word.len() }), 8);
/// ```
///
/// # Panics
///
/// With `MS0002` inside a task or another `block_on` of the family: it would stop the executor that
/// has to make progress. What `future` panics with is passed on.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    refuse_inside_a_poll();
    let mut seat = Borrowed::take();
    let Seat {
        driver,
        root,
        waker,
    } = seat
        .0
        .as_mut()
        .expect("a borrowed seat is there until it is dropped");
    let mut future = pin!(future);
    let mut polled = poll::Root::new();
    let mut cx = Context::from_waker(waker);
    let _entered = driver.handle().enter();
    loop {
        // What the seat's last user left behind does no harm: at worst one more poll.
        let _due = root.take();
        let result = polled.poll(|| future.as_mut().poll(&mut cx));
        if let Poll::Ready(output) = result {
            return output;
        }
        while !root.is_woken() {
            // A thread driver has no errors; a spurious return looks at the flag again.
            let _turn = driver.park(Until::Forever);
        }
    }
}

/// Panics with `MS0002` where blocking the thread would stop an executor of the family.
#[track_caller]
pub(crate) fn refuse_inside_a_poll() {
    assert!(
        !poll::is_active(),
        "MS0002: `block_on` inside a task or another `block_on` would stop the executor that has \
         to make progress; use `.await`, or run it on the blocking pool (docs/errors.md)"
    );
}

#[cfg(all(test, not(mainspring_loom)))]
mod tests;
