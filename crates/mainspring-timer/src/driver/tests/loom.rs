//! The driver against threads that arm, reset and drop its timers. The deadlines have passed by the
//! real clock or never come, so the clock decides nothing.

use crate::driver::TimerDriver;
use loom::thread;
use mainspring_core::driver::{Driver, ThreadDriver, Turn, Until};
use mainspring_core::time::{
    Nanos, OnRegister, Phase, TimerClass, TimerEntry, TimersRef, current_timers,
};
use std::pin::Pin;
use std::task::Waker;

const PAST: Nanos = Nanos(1);
const FAR: Nanos = Nanos(u64::MAX / 2);

fn driver() -> (TimerDriver<ThreadDriver>, TimersRef) {
    let driver = TimerDriver::new(ThreadDriver::new());
    let entered = driver.handle().enter();
    let timers = current_timers().expect("entered");
    drop(entered);
    (driver, timers)
}

fn arm(class: TimerClass, timers: TimersRef, deadline: Nanos) -> Pin<Box<TimerEntry>> {
    let mut entry = Box::pin(TimerEntry::new(class));
    let armed = entry.as_mut().arm(timers, deadline, Waker::noop());
    assert!(matches!(armed, OnRegister::Armed));
    entry
}

fn park(driver: &mut TimerDriver<ThreadDriver>, until: Until) -> Turn {
    driver
        .park(until)
        .expect("the thread's driver does not fail")
}

// A lost timer is a deadlock: in a model no limit passes, so only the unpark ends the wait.
// WITNESS: shard.next-wake, timer-driver.capped
#[test]
fn insert_earlier_racing_park_is_seen_or_wakes() {
    loom::model(|| {
        let (mut driver, timers) = driver();
        let far = arm(TimerClass::Normal, timers, FAR);
        let other = thread::spawn(move || arm(TimerClass::Normal, timers, PAST));
        while park(&mut driver, Until::Forever).woken == 0 {}
        let earlier = other.join().unwrap();
        assert_eq!(earlier.phase(), Phase::Fired);
        assert_eq!(far.phase(), Phase::Armed(FAR));
        drop(far);
    });
}

// WITNESS: shard.next-wake
#[test]
fn reset_earlier_racing_park_is_seen_or_wakes() {
    loom::model(|| {
        let (mut driver, timers) = driver();
        let mut entry = arm(TimerClass::Precise, timers, FAR);
        let other = thread::spawn(move || {
            entry.as_mut().reset(Some(timers), PAST);
            entry
        });
        while park(&mut driver, Until::Forever).woken == 0 {}
        assert_eq!(other.join().unwrap().phase(), Phase::Fired);
    });
}

// WITNESS: shard.home, entries.registered
#[test]
fn drop_racing_fire_wakes_at_most_once_and_leaves_nothing() {
    for class in [TimerClass::Normal, TimerClass::Precise] {
        loom::model(move || {
            let (mut driver, timers) = driver();
            let entry = arm(class, timers, PAST);
            let other = thread::spawn(move || drop(entry));
            assert!(park(&mut driver, Until::Now).woken <= 1);
            other.join().unwrap();
            assert_eq!(park(&mut driver, Until::Now).woken, 0);
            assert_eq!(driver.handle().next(), None);
        });
    }
}

// WITNESS: shard.home
#[test]
fn extend_racing_fire_either_fires_or_waits_for_the_later_deadline() {
    for class in [TimerClass::Normal, TimerClass::Precise] {
        loom::model(move || {
            let (mut driver, timers) = driver();
            let mut entry = arm(class, timers, PAST);
            let other = thread::spawn(move || {
                entry.as_mut().reset(Some(timers), FAR);
                entry
            });
            let woken = park(&mut driver, Until::Now).woken;
            let entry = other.join().unwrap();
            match entry.phase() {
                Phase::Idle => assert_eq!((woken, driver.handle().next()), (1, None)),
                phase => assert_eq!((woken, phase), (0, Phase::Armed(FAR))),
            }
        });
    }
}

// WITNESS: shard.closed
#[test]
fn register_racing_close_is_evicted_or_refused() {
    loom::model(|| {
        let (driver, timers) = driver();
        let other = thread::spawn(move || {
            let mut entry = Box::pin(TimerEntry::new(TimerClass::Normal));
            let armed = entry.as_mut().arm(timers, FAR, Waker::noop());
            (entry, matches!(armed, OnRegister::Armed))
        });
        drop(driver);
        let (entry, _armed) = other.join().unwrap();
        assert_eq!(entry.phase(), Phase::Idle);
    });
}

// WITNESS: shard.lease
#[test]
fn rescue_racing_the_owner_wakes_once() {
    loom::model(|| {
        let (mut driver, timers) = driver();
        let entry = arm(TimerClass::Normal, timers, PAST);
        let handle = driver.handle();
        let other = thread::spawn(move || handle.rescue(Nanos(1 << 40), 8));
        let woken = park(&mut driver, Until::Now).woken;
        assert_eq!(woken + other.join().unwrap(), 1);
        assert_eq!(entry.phase(), Phase::Fired);
    });
}
