//! The pool as its users see it.

use crate::pool::Pool;
use crate::{spawn, spawn_local, spawn_pinned};
use mainspring_core::budget;
use mainspring_core::poll::BUDGET_UNITS;
use mainspring_core::task::yield_now;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().expect("threads")
}

#[test]
fn spawned_tasks_end_and_are_joined() {
    let pool = pool(2);
    let done = Arc::new(AtomicUsize::new(0));
    pool.block_on(async {
        let tasks: Vec<_> = (0..1000)
            .map(|n| {
                let done = Arc::clone(&done);
                spawn(async move {
                    for _ in 0..n % 7 {
                        yield_now().await;
                    }
                    done.fetch_add(1, Relaxed);
                    n
                })
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.expect("no panic"), n);
        }
    });
    assert_eq!(done.load(Relaxed), 1000);
}

#[test]
fn local_and_pinned_tasks_stay_on_their_worker() {
    let pool = pool(3);
    for worker in 0..3 {
        let handle = pool.handle();
        let task = pool.spawn_pinned(worker, move || async move {
            let local = Rc::new(worker);
            let task = spawn_local({
                let (local, handle) = (Rc::clone(&local), handle.clone());
                async move {
                    yield_now().await;
                    (*local, handle.current_worker())
                }
            });
            yield_now().await;
            (task.await.expect("no panic"), handle.current_worker())
        });
        let ((local, inner), outer) = pool.block_on(task).expect("no panic");
        assert_eq!((local, inner, outer), (worker, Some(worker), Some(worker)));
    }
    let other = pool.block_on(async { spawn_pinned(1, || async { 7 }).await });
    assert_eq!(other.ok(), Some(7));
}

#[test]
fn a_dropped_pool_drops_its_tasks() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let pool = pool(2);
    for n in 0..100 {
        let counted = Counted(Arc::clone(&dropped));
        let wait = async move {
            let _counted = counted;
            std::future::pending::<()>().await;
        };
        if n % 2 == 0 {
            pool.spawn(wait).detach();
        } else {
            pool.spawn_pinned(n % 4 / 2, || wait).detach();
        }
    }
    drop(pool);
    assert_eq!(dropped.load(Relaxed), 100);
}

#[test]
fn a_shutdown_names_who_was_left() {
    let pool = pool(2);
    pool.spawn(std::future::pending::<()>()).detach();
    let report = pool.shutdown(Duration::from_millis(20));
    assert_eq!(report.dropped.len(), 1);
    assert!(pool.block_on(pool.spawn(async {})).is_err());
}

/// How many operations the poll of a task on `worker`, or of the future of `block_on`, completes
/// before it is asked to yield.
fn units_of_a_poll() -> impl Future<Output = u32> {
    poll_fn(|cx| {
        let mut units = 0;
        while let Poll::Ready(unit) = budget::poll_proceed(cx) {
            unit.spend();
            units += 1;
        }
        Poll::Ready(units)
    })
}

#[test]
fn budget_of_a_pool_is_that_of_its_tasks_and_of_who_blocks_on_it() {
    let other = pool(1);
    let pool = Pool::builder()
        .workers(2)
        .budget(3)
        .build()
        .expect("threads");
    for worker in 0..2 {
        let task = pool.spawn_pinned(worker, units_of_a_poll);
        assert_eq!(pool.block_on(task).expect("no panic"), 3);
    }
    assert_eq!(pool.block_on(units_of_a_poll()), 3);
    assert_eq!(other.block_on(units_of_a_poll()), BUDGET_UNITS);
    let task = other.spawn(units_of_a_poll());
    assert_eq!(other.block_on(task).expect("no panic"), BUDGET_UNITS);
}

#[test]
fn budget_of_nothing_is_refused() {
    let refused = Pool::builder().workers(1).budget(0).build();
    let error = refused.expect_err("no task would ever end");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

// WITNESS: watchdog.sleeps, idle.watched
#[test]
fn watchdog_of_an_idle_pool_sleeps_and_is_there_when_it_is_needed() {
    let (reports, inbox) = mpsc::channel();
    let builder = Pool::builder()
        .workers(3)
        .stall_threshold(Duration::from_millis(1));
    let builder = builder.on_stall(move |report| _ = reports.send(report.is_over));
    let pool = builder.build().expect("threads");
    let hub = pool.handle.hub().clone();
    for _ in 0..5 {
        while !hub.shared().idle.is_dozing() {
            std::thread::yield_now();
        }
        let (release, held) = mpsc::channel::<()>();
        let task = pool.spawn(async move { held.recv() });
        assert_eq!(inbox.recv(), Ok(false));
        assert!(
            !hub.shared().idle.is_dozing(),
            "watchdog.sleeps: one is awake"
        );
        drop(release);
        assert_eq!(inbox.recv(), Ok(true));
        assert!(pool.block_on(task).is_ok());
    }
    // Nor does a pool that ends while it sleeps wait for it.
    while !hub.shared().idle.is_dozing() {
        std::thread::yield_now();
    }
    drop(pool);
}
