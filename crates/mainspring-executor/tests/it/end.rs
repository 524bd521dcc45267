//! How pools begin and end.

use mainspring_core::driver::{Driver, ThreadDriver};
use mainspring_executor::{Pool, spawn_pinned};
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

const AMPLE: Duration = Duration::from_secs(60);

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().expect("threads")
}

/// Notes on which thread it is dropped.
struct Witness(mpsc::Sender<ThreadId>);

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().id());
    }
}

// B025.
#[test]
fn driver_that_cannot_be_made_is_an_error_and_leaves_no_thread() {
    let (sender, receiver) = mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let built = Pool::builder()
        .workers(3)
        .driver(move |number| -> io::Result<Box<dyn Driver>> {
            let witness = Witness(sender.lock().unwrap().clone());
            if number == 1 {
                return Err(io::Error::from_raw_os_error(24));
            }
            drop(witness);
            Ok(Box::new(ThreadDriver::new()))
        })
        .build();
    assert_eq!(built.err().and_then(|error| error.raw_os_error()), Some(24));
    // The maker is gone, and its sender with it: all threads have ended.
    assert!(receiver.iter().count() >= 1);
}

#[test]
fn maker_of_drivers_that_panics_is_an_error_and_keeps_nobody_waiting() {
    let built = Pool::builder()
        .workers(3)
        .driver(|number| -> io::Result<Box<dyn Driver>> {
            assert!(number != 1, "on purpose");
            Ok(Box::new(ThreadDriver::new()))
        })
        .build();
    assert!(built.is_err_and(|error| error.to_string().contains("worker 1 panicked")));
}

#[test]
fn name_that_no_thread_can_have_is_an_error() {
    let built = Pool::builder().workers(1).name("a\0b").build();
    assert!(built.is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput));
}

// WITNESS: pool-end.all, registry.told
#[test]
fn two_shutdowns_at_once_both_return() {
    for _ in 0..100 {
        let pool = Arc::new(pool(2));
        for _ in 0..20 {
            pool.spawn(pending::<()>()).detach();
        }
        let start = Arc::new(Barrier::new(3));
        let threads = [0, 1].map(|_| {
            let (pool, start) = (Arc::clone(&pool), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                pool.shutdown(Duration::ZERO).dropped.len()
            })
        });
        start.wait();
        let dropped = threads.map(|thread| thread.join().expect("no panic"));
        assert_eq!(dropped.iter().sum::<usize>(), 20);
    }
}

// WITNESS: pool-end.home, lane.home
#[test]
fn pinned_tasks_are_dropped_by_their_workers() {
    let (sender, receiver) = mpsc::channel();
    let pool = pool(2);
    let homes = [0, 1].map(|worker| {
        let witness = Witness(sender.clone());
        let (told, home) = mpsc::channel();
        let task = pool.spawn_pinned(worker, move || async move {
            let _kept = witness;
            let _ = told.send(thread::current().id());
            pending::<()>().await;
        });
        task.detach();
        home.recv().expect("it runs")
    });
    drop(sender);
    drop(pool);
    let mut dropped: Vec<ThreadId> = receiver.iter().collect();
    if dropped != homes {
        dropped.reverse();
    }
    assert_eq!(dropped, homes, "pool-end.home");
}

// WITNESS: pool-end.not-itself
#[test]
fn pool_dropped_by_a_task_of_its_own_ends_by_itself() {
    let (sender, receiver) = mpsc::channel();
    let pool = pool(3);
    for worker in 0..3 {
        let witness = Witness(sender.clone());
        pool.spawn_pinned(worker, move || async move {
            let _kept = witness;
            pending::<()>().await;
        })
        .detach();
        let witness = Witness(sender.clone());
        let wait = async move {
            let _kept = witness;
            pending::<()>().await;
        };
        pool.spawn(wait).detach();
    }
    drop(sender);
    let handle = pool.handle();
    handle.spawn(async move { drop(pool) }).detach();
    // Ends when every sender is gone.
    assert_eq!(receiver.iter().count(), 6, "pool-end.not-itself");
}

// WITNESS: pool-hub.packed
#[test]
fn closure_that_is_refused_is_dropped_where_it_was_handed_in() {
    let (sender, receiver) = mpsc::channel();
    let pool = pool(1);
    let _report = pool.shutdown(AMPLE);
    let witness = Witness(sender);
    let task = pool.spawn_pinned(0, move || async move {
        let _kept = witness;
    });
    assert_eq!(
        receiver.recv(),
        Ok(thread::current().id()),
        "pool-hub.packed"
    );
    assert!(mainspring_executor::block_on(task).is_err_and(|error| error.is_cancelled()));
}

// WITNESS: seat.kept, seat.not-twice
#[test]
fn thread_that_blocks_keeps_one_driver_also_when_it_unwinds() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let pool = Pool::builder()
        .workers(1)
        .driver(move |_| {
            counted.fetch_add(1, Relaxed);
            Ok(Box::new(ThreadDriver::new()) as Box<dyn Driver>)
        })
        .build()
        .expect("threads");
    assert_eq!(made.load(Relaxed), 1);
    for _ in 0..10 {
        assert_eq!(pool.block_on(async { 7 }), 7);
    }
    assert_eq!(made.load(Relaxed), 2, "seat.kept");
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.block_on(async { std::panic::resume_unwind(Box::new("on purpose")) })
    }));
    assert!(unwound.is_err());
    assert_eq!(
        pool.block_on(async { spawn_pinned(0, || async { 8 }).await })
            .ok(),
        Some(8)
    );
    assert_eq!(made.load(Relaxed), 2, "seat.not-twice");
    let other = thread::scope(|scope| scope.spawn(|| pool.block_on(async { 9 })).join());
    assert_eq!(other.ok(), Some(9));
    assert_eq!(made.load(Relaxed), 3, "seat.kept: one a thread");
}

#[test]
fn hooks_see_the_beginning_and_the_end_of_each_worker() {
    let (sender, receiver) = mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let say = Arc::new(move |what: &'static str, worker| {
        let _ = sender.lock().unwrap().send((what, worker));
    });
    let (start, stop) = (Arc::clone(&say), say);
    let pool = Pool::builder()
        .workers(2)
        .on_thread_start(move |worker| start("start", worker))
        .on_thread_stop(move |worker| {
            stop("stop", worker);
            panic!("on purpose");
        })
        .build()
        .expect("threads");
    drop(pool);
    let mut seen: Vec<_> = receiver.iter().collect();
    seen.sort_unstable();
    assert_eq!(seen, [("start", 0), ("start", 1), ("stop", 0), ("stop", 1)]);
}
