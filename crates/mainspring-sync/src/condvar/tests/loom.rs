//! Models of the condition variable.

use crate::condvar::tests::Flag;
use crate::semaphore::tests::support::poll_alone;
use loom::future::block_on;
use mainspring_core::sync::thread;
use std::sync::Arc;

fn wait_until_set(flag: &Flag) {
    block_on(async {
        let guard = flag.is_set.lock().await;
        let guard = flag.changed.wait_while(guard, |is_set| !*is_set).await;
        assert!(*guard);
    });
}

fn set(flag: &Flag) {
    *block_on(flag.is_set.lock()) = true;
    flag.changed.notify_one();
}

// WITNESS: condvar.queued
#[test]
fn change_that_is_announced_is_never_missed() {
    loom::model(|| {
        let flag = Arc::new(Flag::default());
        let other = {
            let flag = Arc::clone(&flag);
            thread::spawn(move || set(&flag))
        };
        wait_until_set(&flag);
        other.join().unwrap();
    });
    loom::model(|| {
        let flag = Arc::new(Flag::default());
        let other = {
            let flag = Arc::clone(&flag);
            thread::spawn(move || wait_until_set(&flag))
        };
        set(&flag);
        other.join().unwrap();
    });
}

// WITNESS: condvar.passed-on, condvar.pinned
#[test]
fn notification_racing_the_drop_of_a_wait_reaches_the_other() {
    loom::model(|| {
        let flag = Arc::new(Flag::default());
        let mut first = Box::pin(flag.changed.wait(flag.is_set.try_lock().unwrap()));
        assert!(poll_alone(first.as_mut()).is_pending());
        let mut second = Box::pin(flag.changed.wait(flag.is_set.try_lock().unwrap()));
        assert!(poll_alone(second.as_mut()).is_pending());
        let other = {
            let flag = Arc::clone(&flag);
            thread::spawn(move || flag.changed.notify_one())
        };
        let early = poll_alone(first.as_mut());
        let was_first = early.is_ready();
        drop(early);
        drop(first);
        other.join().unwrap();
        assert_ne!(poll_alone(second.as_mut()).is_ready(), was_first);
    });
}
