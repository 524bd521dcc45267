use crate::sync::brief::Brief;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

// WITNESS: brief.exclusive
#[test]
fn increments_of_four_threads_are_all_counted() {
    const EACH: u64 = 50_000;
    let lock = Brief::new(0);
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..EACH {
                    *lock.lock() += 1;
                }
            });
        }
    });
    assert_eq!(*lock.lock(), 4 * EACH);
}

// WITNESS: brief.exclusive
#[test]
fn lock_that_is_held_is_not_had_by_trying() {
    let lock = Brief::new(1);
    let held = lock.lock();
    assert!(lock.try_lock().is_none());
    drop(held);
    assert_eq!(lock.try_lock().map(|value| *value), Some(1));
}

// WITNESS: brief.exclusive
#[test]
fn lock_is_free_after_a_panic_under_it() {
    let lock = Brief::new(1);
    let panics = AssertUnwindSafe(|| {
        let _held = lock.lock();
        panic!("on purpose");
    });
    assert!(catch_unwind(panics).is_err());
    assert_eq!(*lock.lock(), 1);
}

// WITNESS: brief.rest
#[test]
fn one_that_waits_for_a_holder_that_sleeps_gets_the_lock() {
    let lock = Arc::new(Brief::new(0));
    let held = lock.lock();
    let (tell, told) = mpsc::channel();
    let waits = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            tell.send(()).expect("the other end is there");
            *lock.lock() += 1;
        })
    };
    told.recv().expect("the other thread runs");
    // However far it has come, to sleeping even: nothing tells it that the lock is free.
    for _ in 0..1_000 {
        thread::yield_now();
    }
    drop(held);
    waits.join().expect("it gets the lock");
    assert_eq!(*lock.lock(), 1);
}
