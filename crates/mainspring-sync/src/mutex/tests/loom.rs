//! Models of the mutex, whose value is a cell that loom watches.

use crate::mutex::tests::Counted as Lock;
use crate::semaphore::tests::support::poll_alone;
use loom::future::block_on;
use mainspring_core::sync::thread;
use std::sync::Arc;

fn add(lock: &Lock) {
    *block_on(lock.lock()) += 1;
}

// WITNESS: mutex.exclusive
#[test]
fn two_that_contend_are_never_at_it_at_once() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add(&lock))
        };
        add(&lock);
        other.join().unwrap();
        assert_eq!(*lock.try_lock().unwrap(), 2);
    });
}

// WITNESS: mutex.exclusive, mutex.pinned
#[test]
fn lock_offered_to_one_that_is_dropped_reaches_the_other() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let mut held = lock.try_lock_owned().unwrap();
        let mut given_up = Box::pin(lock.lock_owned());
        assert!(poll_alone(given_up.as_mut()).is_pending());
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add(&lock))
        };
        *held += 1;
        drop(held);
        drop(given_up);
        other.join().unwrap();
        assert_eq!(*lock.try_lock().unwrap(), 2);
    });
}

// WITNESS: mutex.exclusive
#[test]
fn whoever_tries_gets_it_or_leaves_it_alone() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || lock.try_lock().map(|mut guard| *guard += 1).is_some())
        };
        add(&lock);
        let added = 1 + i32::from(other.join().unwrap());
        assert_eq!(*lock.try_lock().unwrap(), added);
    });
}
