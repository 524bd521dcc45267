//! The kernel's buffer is a [`ManualClock`], whose accesses are relaxed: that the caller sees what
//! was reported is the word's own doing.

use crate::backend::poll::readiness::{Half, OnClear, Readiness, Report};
use crate::backend::poll::waiters::Waiters;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
use mainspring_core::time::{Clock, ManualClock, Nanos};
use std::future::poll_fn;
use std::task::{Context, Poll};

/// The waiter's place has models of its own; here its steps, many, are interleaved at two points.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

struct Source {
    word: Readiness,
    waiters: Waiters,
}

impl Source {
    /// One that a poll has.
    fn new() -> Arc<Self> {
        let source = Self::loose();
        source.word.fasten();
        source
    }

    /// One that no poll has yet.
    fn loose() -> Arc<Self> {
        Arc::new(Self {
            word: Readiness::new(),
            waiters: Waiters::one(),
        })
    }

    /// What the driver does for an event.
    fn event(&self) {
        self.word.report(Report {
            read: true,
            write: false,
        });
        if let Some(waker) = self.waiters.take(Half::Read) {
            waker.wake();
        }
    }

    /// What a leaf does: `true` when `buffer` holds `wanted`, `false` when nobody reports.
    fn poll(&self, cx: &Context<'_>, buffer: &ManualClock, wanted: Nanos) -> Poll<bool> {
        loop {
            let seen = self.word.snapshot();
            if seen.is_ready(Half::Read) {
                if buffer.now() >= wanted {
                    return Poll::Ready(true);
                }
                match self.word.clear(seen, Half::Read) {
                    OnClear::Wait => {}
                    OnClear::Retry => continue,
                    OnClear::Loose => return Poll::Ready(false),
                }
            }
            self.waiters.register(Half::Read, cx.waker());
            if !self.word.snapshot().is_ready(Half::Read) {
                // Who meets a wake at the waiter's place is polled again at once: let it end.
                thread::yield_now();
                return Poll::Pending;
            }
        }
    }
}

// WITNESS: readiness.event, readiness.newer
#[test]
fn second_event_is_not_erased_by_the_clear_of_the_first() {
    explore(|| {
        let source = Source::new();
        let buffer = ManualClock::new(Nanos(0));
        let (theirs, filled) = (Arc::clone(&source), buffer.clone());
        let kernel = thread::spawn(move || {
            filled.set(Nanos(1));
            theirs.event();
            filled.set(Nanos(2));
            theirs.event();
        });
        assert!(block_on(poll_fn(|cx| source.poll(cx, &buffer, Nanos(2)))));
        kernel.join().unwrap();
    });
}

/// The poll has been told, the word not yet.
// WITNESS: readiness.loose, hub.watched, poll-io.watched
#[test]
fn event_racing_the_first_wait_is_found() {
    explore(|| {
        let source = Source::loose();
        let buffer = ManualClock::new(Nanos(0));
        let (theirs, filled) = (Arc::clone(&source), buffer.clone());
        let kernel = thread::spawn(move || {
            filled.set(Nanos(1));
            theirs.event();
        });
        let arrives = block_on(poll_fn(|cx| {
            loop {
                match source.poll(cx, &buffer, Nanos(1)) {
                    Poll::Ready(false) => source.word.fasten(),
                    other => return other,
                }
            }
        }));
        assert!(arrives);
        kernel.join().unwrap();
    });
}

/// The poll goes while somebody waits, who finds another.
// WITNESS: readiness.loose, hub.closed
#[test]
fn end_of_one_poll_racing_an_event_of_the_next_loses_neither() {
    explore(|| {
        let source = Source::new();
        let buffer = ManualClock::new(Nanos(0));
        let (theirs, filled) = (Arc::clone(&source), buffer.clone());
        let driver = thread::spawn(move || {
            theirs.word.leave();
            if let Some(waker) = theirs.waiters.take(Half::Read) {
                waker.wake();
            }
            filled.set(Nanos(1));
        });
        let (mut driver, mut moves) = (Some(driver), 0);
        let arrives = block_on(poll_fn(|cx| {
            loop {
                match source.poll(cx, &buffer, Nanos(1)) {
                    Poll::Ready(false) => {
                        // The registration reports what has come by then; here, all there is.
                        driver.take().unwrap().join().unwrap();
                        source.event();
                        source.word.fasten();
                        moves += 1;
                    }
                    other => return other,
                }
            }
        }));
        assert!(arrives && moves <= 1);
    });
}

// WITNESS: readiness.loose
#[test]
fn end_of_the_driver_racing_a_wait_ends_it() {
    explore(|| {
        let source = Source::new();
        let buffer = ManualClock::new(Nanos(0));
        let theirs = Arc::clone(&source);
        let driver = thread::spawn(move || {
            theirs.word.leave();
            if let Some(waker) = theirs.waiters.take(Half::Read) {
                waker.wake();
            }
        });
        assert!(!block_on(poll_fn(|cx| source.poll(cx, &buffer, Nanos(1)))));
        driver.join().unwrap();
    });
}

/// The printed form: look, register, return `Pending`.
mod printed {
    use super::{Context, Half, ManualClock, Nanos, OnClear, Poll, Source};
    use mainspring_core::time::Clock;

    impl Source {
        pub(super) fn poll_as_printed(
            &self,
            cx: &Context<'_>,
            buffer: &ManualClock,
            wanted: Nanos,
        ) -> Poll<bool> {
            loop {
                let seen = self.word.snapshot();
                if seen.is_ready(Half::Read) {
                    if buffer.now() >= wanted {
                        return Poll::Ready(true);
                    }
                    match self.word.clear(seen, Half::Read) {
                        OnClear::Wait => {}
                        OnClear::Retry => continue,
                        OnClear::Loose => return Poll::Ready(false),
                    }
                }
                self.waiters.register(Half::Read, cx.waker());
                return Poll::Pending;
            }
        }
    }
}

// CORRECTION: 12
#[test]
fn printed_connect_loses_the_event_between_look_and_registration() {
    explore(|| {
        let source = Source::new();
        let connected = ManualClock::new(Nanos(0));
        let (theirs, done) = (Arc::clone(&source), connected.clone());
        let kernel = thread::spawn(move || {
            done.set(Nanos(1));
            theirs.event();
        });
        let connect = poll_fn(|cx| source.poll_as_printed(cx, &connected, Nanos(1)));
        assert!(block_on(connect));
        kernel.join().unwrap();
    });
}

// CORRECTION: 12
// WITNESS: readiness.event, readiness.newer
#[test]
fn connect_looks_again_after_the_registration() {
    explore(|| {
        let source = Source::new();
        let connected = ManualClock::new(Nanos(0));
        let (theirs, done) = (Arc::clone(&source), connected.clone());
        let kernel = thread::spawn(move || {
            done.set(Nanos(1));
            theirs.event();
        });
        assert!(block_on(poll_fn(|cx| source.poll(
            cx,
            &connected,
            Nanos(1)
        ))));
        kernel.join().unwrap();
    });
}
