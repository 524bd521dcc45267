//! The root's flag beside a driver that parks as the shipped thread driver does.

use crate::root::Root;
use loom::cell::Cell;
use loom::sync::Arc;
use loom::thread;
use mainspring_core::driver::{Driver, ThreadDriver, Until};

/// What a waker's thread wrote before its wake: plain data, whose every use loom looks at.
struct Note(Cell<bool>);

// SAFETY: what the model is about: loom reports a use that nothing orders.
unsafe impl Sync for Note {}

// WITNESS: root.wake
#[test]
fn poll_that_is_claimed_sees_what_the_waker_wrote() {
    loom::model(|| {
        let mut driver = ThreadDriver::new();
        let root = Root::new(driver.handle());
        assert!(root.take());
        let note = Arc::new(Note(Cell::new(false)));
        let (waker, theirs) = (root.waker(), Arc::clone(&note));
        let other = thread::spawn(move || {
            theirs.0.set(true);
            waker.wake();
        });
        while !root.take() {
            let _turn = driver.park(Until::Forever);
        }
        assert!(note.0.get(), "root.wake: a poll without what it was for");
        other.join().unwrap();
    });
}

// WITNESS: root.not-lost
#[test]
fn wake_racing_the_claim_and_the_park_leads_to_another_poll() {
    loom::model(|| {
        let mut driver = ThreadDriver::new();
        let root = Root::new(driver.handle());
        assert!(root.take());
        let waker = root.waker();
        let other = thread::spawn(move || waker.wake());
        while !root.take() {
            let _turn = driver.park(Until::Forever);
        }
        other.join().unwrap();
    });
}

// WITNESS: root.not-lost
#[test]
fn two_wakes_racing_leave_at_most_one_poll_each_and_lose_none() {
    loom::model(|| {
        let mut driver = ThreadDriver::new();
        let root = Root::new(driver.handle());
        assert!(root.take());
        let threads = [root.waker(), root.waker()].map(|waker| thread::spawn(move || waker.wake()));
        let mut claims = 0;
        while !root.take() {
            let _turn = driver.park(Until::Forever);
        }
        claims += 1;
        for other in threads {
            other.join().unwrap();
        }
        claims += usize::from(root.take());
        assert!((1..=2).contains(&claims), "root.not-lost: {claims} claims");
    });
}
