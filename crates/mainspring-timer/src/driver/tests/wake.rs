//! Who is woken, when, and under which locks: T5 to T8.

use super::rig::{Rig, Woken, poll, polled};
use crate::sleep;
use mainspring_core::driver::Until;
use mainspring_core::time::{self, Nanos, Sleep};
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

// WITNESS: shard.next-wake
#[test]
fn sleeping_driver_is_unparked_only_for_an_earlier_deadline() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let naps = Arc::new(std::sync::Mutex::new(Vec::new()));
    naps.lock().unwrap().push(polled(sleep(100 * MS), &woken));
    assert_eq!(rig.unparks.count(), 0, "nobody sleeps");
    let unparks = Arc::clone(&rig.unparks);
    let inside = Arc::clone(&naps);
    rig.driver.inner_mut().meanwhile = Some(Box::new(move || {
        let mut naps = inside.lock().unwrap();
        naps.push(polled(sleep(200 * MS), &woken));
        assert_eq!(unparks.count(), 0, "later than what it sleeps for");
        naps.push(polled(sleep(50 * MS), &woken));
        assert_eq!(unparks.count(), 1, "earlier");
        naps.push(polled(sleep(20 * MS).precise(), &woken));
        assert_eq!(unparks.count(), 1, "it is being woken already");
        let last = naps.last_mut().unwrap().as_mut();
        last.reset_nanos(time::now().saturating_add(MS));
        assert_eq!(unparks.count(), 1);
    }));
    let _ = rig.park(Until::Forever);
    drop(polled(sleep(MS / 2), &Woken::new()));
    assert_eq!(rig.unparks.count(), 1, "awake again");
    drop(naps);
}

// WITNESS: shard.next-wake
#[test]
fn reset_to_an_earlier_deadline_unparks_the_sleeping_driver() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let nap = Arc::new(std::sync::Mutex::new(polled(sleep(100 * MS), &woken)));
    let unparks = Arc::clone(&rig.unparks);
    let inside = Arc::clone(&nap);
    rig.driver.inner_mut().meanwhile = Some(Box::new(move || {
        let earlier = time::now().saturating_add(MS);
        inside.lock().unwrap().as_mut().reset_nanos(earlier);
        assert_eq!(unparks.count(), 1);
    }));
    let _ = rig.park(Until::Forever);
}

// WITNESS: shard.quiet, turn.quiet
#[test]
fn waker_may_make_reset_and_drop_timers() {
    let mut rig = Rig::new();
    let quiet = Woken::new();
    let kept = Arc::new(std::sync::Mutex::new(Some(polled(sleep(9 * MS), &quiet))));
    let inside = Arc::clone(&kept);
    let inner = Arc::clone(&quiet);
    let woken = Woken::doing(move || {
        // With the shard locked, each of these would wait for ever.
        let mut other = inside.lock().unwrap();
        if let Some(nap) = other.as_mut() {
            nap.as_mut().reset_nanos(Nanos(1));
        }
        *other = Some(polled(sleep(3 * MS), &inner));
        drop(polled(sleep(4 * MS), &inner));
    });
    let naps = [
        polled(sleep(MS), &woken),
        polled(sleep(MS).precise(), &woken),
    ];
    while woken.count() < 2 {
        let _ = rig.park(Until::Forever);
    }
    drop(naps);
    assert_eq!(rig.armed(), 1);
    let _ = rig.park(Until::Forever);
    assert_eq!(quiet.count(), 1);
    drop(kept);
}

// WITNESS: turn.quiet
#[test]
fn waker_that_panics_keeps_no_other_from_being_woken() {
    let mut rig = Rig::new();
    let bad = Woken::doing(|| panic!("a waker's own fault"));
    let good = Woken::new();
    let naps = [
        polled(sleep(MS), &bad),
        polled(sleep(MS), &good),
        polled(sleep(MS), &good),
    ];
    assert_eq!(
        rig.park(Until::At(time::now().saturating_add(2 * MS)))
            .woken,
        3
    );
    assert_eq!((bad.count(), good.count()), (1, 2));
    assert_eq!(rig.armed(), 0);
    drop(naps);
}

// WITNESS: turn.bounded
#[test]
fn waker_that_always_arms_a_due_timer_does_not_keep_the_turn() {
    let mut rig = Rig::new();
    let naps = Arc::new(std::sync::Mutex::new(Vec::new()));
    let timers = time::current_timers().expect("entered");
    let endless = Woken::new();
    let (again, inside) = (Arc::clone(&endless), Arc::clone(&naps));
    let rearm = Woken::doing(move || {
        for _ in 0..3 {
            let mut entry = Box::pin(time::TimerEntry::new(time::TimerClass::Normal));
            let waker = Arc::clone(&again).into();
            let _ = entry.as_mut().arm(timers, Nanos(1), &waker);
            inside.lock().unwrap().push(entry);
        }
    });
    let first = polled(sleep(MS), &rearm);
    rig.clock.advance(2 * MS);
    assert!(rig.park(Until::Now).woken >= 1, "the turn ends");
    drop((first, naps));
}

#[test]
fn backlog_of_a_jump_fires_whole_in_one_turn() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let naps: Vec<_> = (0..1000u32)
        .map(|number| polled(sleep(number * 7 * MS + MS), &woken))
        .collect();
    rig.clock.advance(Duration::from_secs(60));
    assert_eq!(rig.park(Until::Now).woken, 1000);
    drop(naps);
}

#[test]
fn never_polled_and_fired_sleeps_take_no_lock() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let mut fired = polled(sleep(MS), &woken);
    let mut armed = polled(sleep(MS), &woken);
    armed.as_mut().reset_nanos(Nanos(1 << 60));
    let _ = rig.park(Until::Forever);
    assert!(poll(fired.as_mut(), &woken).is_ready());
    let lock = rig.driver.lease.rouse();
    // None of these may wait for the lock, which this very thread holds.
    drop(fired);
    let mut idle = Box::pin(sleep(MS));
    idle.as_mut().reset_nanos(Nanos(7));
    drop(idle);
    armed.as_mut().reset_nanos(Nanos(1 << 61));
    drop(lock);
    drop(armed);
}

// WITNESS: entries.registered, entries.links
#[test]
fn dropped_sleep_frees_its_place_and_its_waker_at_once() {
    let rig = Rig::new();
    let woken = Woken::new();
    for _ in 0..2000 {
        drop(polled(sleep(Duration::from_secs(1 << 30)), &woken));
        drop(polled(Sleep::until(Nanos::MAX).precise(), &woken));
    }
    assert_eq!(rig.armed(), 0);
    assert_eq!(Arc::strong_count(&woken), 1);
}
