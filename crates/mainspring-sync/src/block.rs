//! Waiting on a plain thread: the blocking end of everything here.
//!
//! # Invariants
//!
//! - **block.seat** — a thread's parker is used by one wait at a time: it is taken out while a wait
//!   has it, and a wait inside a wait (a waker that blocks) makes one of its own.

use mainspring_core::driver::Until;
use mainspring_core::park::{Parker, Woken};
use mainspring_core::poll;
use mainspring_core::sync::thread_local;
use mainspring_core::time;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What a thread needs to wait; made once a thread and kept.
struct Seat {
    parker: Parker,
    waker: Waker,
}

impl Seat {
    fn new() -> Self {
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(parker.unparker()));
        Self { parker, waker }
    }
}

thread_local! {
    static SEAT: Cell<Option<Seat>> = const { Cell::new(None) };
}

/// Lends this thread's seat, and puts it back on unwind too.
struct Borrowed(Option<Seat>);

impl Borrowed {
    fn take() -> Self {
        // CLAIM: [block.seat] nested, or while the thread ends, there is none: a fresh one serves.
        let kept = SEAT.try_with(Cell::take).ok().flatten();
        Self(Some(kept.unwrap_or_else(Seat::new)))
    }

    fn seat(&self) -> &Seat {
        self.0
            .as_ref()
            .expect("a borrowed seat is there until it is dropped")
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let seat = self.0.take();
        // Nothing is kept when the thread is ending.
        let _ = SEAT.try_with(|kept| kept.set(seat));
    }
}

/// Polls `future` on this thread until it is ready, and sleeps in between.
///
/// # Panics
///
/// With `MS0013` inside a task of the family.
#[track_caller]
pub(crate) fn wait<F: Future>(future: Pin<&mut F>) -> F::Output {
    refuse_inside_a_poll();
    match poll_until(future, Until::Forever) {
        Some(output) => output,
        None => unreachable!("waited for ever, and no longer"),
    }
}

/// As [`wait`], for `limit` at most: `None` when it has passed and the future is not ready. The
/// future is polled once more then, so that what came in time is not missed.
///
/// # Panics
///
/// As [`wait`].
#[track_caller]
pub(crate) fn wait_for<F: Future>(future: Pin<&mut F>, limit: Duration) -> Option<F::Output> {
    refuse_inside_a_poll();
    let until = Until::At(time::now().saturating_add(limit));
    poll_until(future, until)
}

fn poll_until<F: Future>(mut future: Pin<&mut F>, until: Until) -> Option<F::Output> {
    let borrowed = Borrowed::take();
    let seat = borrowed.seat();
    let mut cx = Context::from_waker(&seat.waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        // What an earlier wait left behind does no harm: at worst one more poll.
        if seat.parker.park_until(until) == Woken::TimedOut {
            return match future.as_mut().poll(&mut cx) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            };
        }
    }
}

/// Panics with `MS0013` where blocking the thread would stop an executor of the family.
#[track_caller]
pub(crate) fn refuse_inside_a_poll() {
    assert!(
        !poll::is_active(),
        "MS0013: a blocking call inside a task would stop the executor that has to make progress; \
         use the form with `.await`, or run it on the blocking pool (docs/errors.md)"
    );
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
