//! The worker beside a scripted driver.

use crate::{LocalExecutor, Step};
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::task::yield_now;
use mainspring_core::time::{self, Nanos};
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What the script of a driver does when it is parked.
type Park = Box<dyn FnMut(Until) -> io::Result<Turn>>;

struct Scripted {
    park: Park,
    ready: Rc<Cell<bool>>,
}

struct Handle;

impl DriverHandle for Handle {
    fn enter(&self) -> Entered {
        Entered::nothing()
    }
    fn unpark(&self) {}
    fn rescue(&self, _now: Nanos, _limit: usize) -> usize {
        0
    }
    fn next(&self) -> Option<Nanos> {
        Some(Nanos(77))
    }
}

impl Driver for Scripted {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        (self.park)(until)
    }
    fn peek(&self) -> bool {
        self.ready.get()
    }
    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::new(Handle)
    }
}

fn executor(
    ready: &Rc<Cell<bool>>,
    park: impl FnMut(Until) -> io::Result<Turn> + 'static,
) -> LocalExecutor {
    LocalExecutor::with_driver(Box::new(Scripted {
        park: Box::new(park),
        ready: Rc::clone(ready),
    }))
}

fn turn() -> io::Result<Turn> {
    Ok(Turn {
        now: time::now(),
        woken: 0,
    })
}

// WITNESS: worker.turn
#[test]
fn tasks_that_always_yield_do_not_keep_the_driver_from_being_looked_at() {
    let parks = Rc::new(Cell::new(0));
    let polls = Rc::new(Cell::new(0));
    let seen = Rc::clone(&parks);
    let executor = executor(&Rc::new(Cell::new(false)), move |until| {
        assert_eq!(until, Until::Now, "there is always work");
        seen.set(seen.get() + 1);
        turn()
    });
    let counted = Rc::clone(&polls);
    let task = executor.spawn_local(async move {
        for _ in 0..1_000 {
            counted.set(counted.get() + 1);
            yield_now().await;
        }
    });
    assert!(executor.block_on(task).is_ok());
    let turns = parks.get();
    assert!(
        polls.get() <= 61 * (turns + 1),
        "worker.turn: {} polls in {turns} turns",
        polls.get()
    );
}

// WITNESS: worker.turn
#[test]
fn driver_with_something_ready_ends_the_turn() {
    let ready = Rc::new(Cell::new(false));
    let polls = Rc::new(Cell::new(0));
    // A clock that stands still: polls of any length leave the pace as it is.
    let standing = Turn {
        now: Nanos(1),
        woken: 0,
    };
    let executor = executor(&ready, move |_| Ok(standing));
    for _ in 0..10 {
        let (ready, polls) = (Rc::clone(&ready), Rc::clone(&polls));
        executor
            .spawn_local(async move {
                polls.set(polls.get() + 1);
                ready.set(polls.get() == 4);
            })
            .detach();
    }
    assert_eq!(executor.tick(), Step::Busy);
    assert_eq!(
        polls.get(),
        4,
        "worker.turn: went on although the driver was ready"
    );
    assert_eq!(executor.tick(), Step::Idle);
    assert_eq!(polls.get(), 10);
}

// WITNESS: worker.faults
#[test]
fn driver_that_fails_neither_ends_the_worker_nor_stops_its_tasks() {
    let failures = Rc::new(Cell::new(0));
    let waker: Rc<Cell<Option<Waker>>> = Rc::default();
    let (count, parked) = (Rc::clone(&failures), Rc::clone(&waker));
    let executor = executor(&Rc::new(Cell::new(false)), move |_| {
        count.set(count.get() + 1);
        if count.get() < 4 {
            return Err(io::Error::from_raw_os_error(24));
        }
        if let Some(waker) = parked.take() {
            waker.wake();
        }
        turn()
    });
    let task = executor.spawn_local(async move {
        let mut polled = false;
        poll_fn(|cx| {
            if polled {
                return Poll::Ready(());
            }
            polled = true;
            waker.set(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    });
    assert!(executor.block_on(task).is_ok());
    assert!(failures.get() >= 4);
}

// WITNESS: worker.faults
#[test]
fn driver_that_panics_ends_neither_the_root_future_nor_its_tasks() {
    let parks = Rc::new(Cell::new(0));
    let root: Rc<Cell<Option<Waker>>> = Rc::default();
    let (count, parked) = (Rc::clone(&parks), Rc::clone(&root));
    let executor = executor(&Rc::new(Cell::new(false)), move |_| {
        count.set(count.get() + 1);
        assert!(count.get() > 3, "on purpose");
        if let Some(waker) = parked.take() {
            waker.wake();
        }
        turn()
    });
    let task = executor.spawn_local(async { 7 });
    let mut polls = 0;
    let output = executor.block_on(poll_fn(|cx| {
        polls += 1;
        if polls == 2 {
            return Poll::Ready("the root future lives");
        }
        root.set(Some(cx.waker().clone()));
        Poll::Pending
    }));
    assert_eq!(output, "the root future lives");
    // Three that panic, the one that wakes, and the look of who leaves.
    assert_eq!(parks.get(), 5);
    assert_eq!(executor.block_on(task).ok(), Some(7));
}

#[test]
fn foreign_loop_is_told_when_to_come_back() {
    let executor = executor(&Rc::new(Cell::new(false)), |until| {
        assert_eq!(until, Until::Now, "a tick never waits");
        turn()
    });
    assert_eq!(executor.next_deadline(), Some(Nanos(77)));
    assert_eq!(executor.tick(), Step::Idle);
    drop(executor.spawn_local(pending::<()>()));
    assert_eq!(executor.tick(), Step::Idle);
    assert_eq!(executor.len(), 1);
}
