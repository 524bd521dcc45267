//! The root's flag beside a driver that parks as the shipped thread driver does.

use crate::root::Root;
use loom::thread;
use mainspring_core::driver::{Driver, ThreadDriver, Until};

// WITNESS: root.not-lost, root.wake
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
