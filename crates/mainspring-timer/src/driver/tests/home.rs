//! Which driver a timer belongs to, and what happens when that one goes: T9 and T14.

use super::rig::{Rig, START, Woken, poll, polled};
use crate::sleep;
use mainspring_core::driver::{Driver, Until};
use mainspring_core::time::{self, Nanos};
use std::time::Duration;

const FAR: Duration = Duration::from_secs(1 << 31);

// WITNESS: shard.closed
#[test]
fn dropped_driver_wakes_every_sleep_however_far_its_deadline() {
    let rig = Rig::new();
    let woken = Woken::new();
    let mut naps: Vec<_> = (0..100)
        .map(|number| {
            let nap = sleep(FAR);
            polled(if number % 2 == 0 { nap } else { nap.precise() }, &woken)
        })
        .collect();
    drop(rig);
    assert_eq!(woken.count(), 100);
    let mut other = Rig::new();
    for nap in &mut naps {
        assert!(poll(nap.as_mut(), &woken).is_pending(), "registers anew");
    }
    assert_eq!(other.armed(), 100);
    other.clock.advance(2 * FAR);
    assert_eq!(other.park(Until::Now).woken, 100);
}

#[test]
fn reset_under_another_driver_moves_the_timer_there_whichever_goes_first() {
    for first_goes_first in [true, false] {
        let first = Rig::new();
        let woken = Woken::new();
        let mut nap = polled(sleep(FAR), &woken);
        let mut second = Rig::new();
        nap.as_mut()
            .reset_nanos(time::now().saturating_add(Duration::from_millis(1)));
        assert_eq!((first.armed(), second.armed()), (0, 1));
        if first_goes_first {
            drop(first);
            assert_eq!(second.park(Until::Forever).woken, 1);
            assert!(poll(nap.as_mut(), &woken).is_ready());
        } else {
            drop(second);
            assert_eq!(woken.count(), 1, "told to look for other timers");
            assert!(poll(nap.as_mut(), &woken).is_pending());
            assert_eq!(first.armed(), 1);
        }
    }
}

#[test]
fn polling_under_another_driver_leaves_the_timer_where_it_is() {
    let first = Rig::new();
    let woken = Woken::new();
    let mut nap = polled(sleep(FAR), &woken);
    let second = Rig::new();
    let other = Woken::new();
    assert!(poll(nap.as_mut(), &other).is_pending());
    assert_eq!((first.armed(), second.armed()), (1, 0));
    drop(first);
    assert_eq!(
        (woken.count(), other.count()),
        (0, 1),
        "the waker of the last poll"
    );
}

// WITNESS: shard.lease
#[test]
fn handle_of_a_driver_that_is_gone_does_nothing_to_the_next_one() {
    let rig = Rig::new();
    let stale = rig.driver.handle();
    drop(rig);
    // Takes the same shard from the pool, unless another test was faster.
    let mut rig = Rig::new();
    let woken = Woken::new();
    let nap = polled(sleep(Duration::from_millis(1)), &woken);
    assert_eq!(stale.next(), None);
    assert_eq!(stale.rescue(Nanos(u64::MAX), 10), 0);
    let current = time::current_timers();
    let entered = stale.enter();
    assert_eq!(time::current_timers(), current);
    drop(entered);
    stale.unpark();
    assert_eq!(rig.park(Until::Forever).woken, 1);
    drop(nap);
}

// WITNESS: shard.closed
#[test]
fn shard_that_is_used_again_keeps_no_time_of_its_last_driver() {
    let mut rig = Rig::starting_at(Nanos(1 << 62));
    let _ = rig.park(Until::Now);
    drop(rig);
    let mut rig = Rig::new();
    rig.block_on(sleep(Duration::from_millis(1)));
    assert!(time::now().since(START) < Duration::from_millis(2));
}

// WITNESS: shard.home
#[test]
fn normal_and_precise_timers_are_found_where_they_are() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let mut exact = polled(sleep(FAR).precise(), &woken);
    let mut normal = polled(sleep(FAR), &woken);
    normal.as_mut().reset_nanos(Nanos(START.0 + 3_000_000));
    exact.as_mut().reset_nanos(Nanos(START.0 + 1_000_000));
    drop(polled(sleep(FAR), &woken));
    drop(polled(sleep(FAR).precise(), &woken));
    assert_eq!(rig.armed(), 2);
    assert_eq!(rig.park(Until::Forever).woken, 1);
    assert_eq!(time::now(), Nanos(START.0 + 1_000_000));
    assert_eq!((rig.park(Until::Forever).woken, rig.armed()), (1, 0));
}

#[test]
fn rescue_from_another_thread_fires_within_its_limit() {
    let rig = Rig::new();
    let woken = Woken::new();
    let naps: Vec<_> = (0..20)
        .map(|number| {
            let nap = sleep(Duration::from_millis(1));
            polled(if number % 2 == 0 { nap } else { nap.precise() }, &woken)
        })
        .collect();
    let handle = rig.driver.handle();
    let (due, next) = (Nanos(START.0 + 2_000_000), handle.next());
    assert!(next.is_some_and(|next| next <= due && next > START));
    let rescued = std::thread::spawn(move || (handle.rescue(START, 9), handle.rescue(due, 15)));
    assert_eq!(rescued.join().expect("no panic"), (0, 15));
    assert_eq!((woken.count(), rig.armed()), (15, 5));
    drop(naps);
}

#[test]
fn without_a_driver_sleep_and_timeout_still_work() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let woken = Woken::doing(move || sender.send(()).expect("heard"));
    let mut nap = polled(sleep(Duration::from_millis(1)), &woken);
    receiver.recv().expect("the fallback thread wakes it");
    assert!(poll(nap.as_mut(), &woken).is_ready());
}
