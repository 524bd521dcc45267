//! When timers fire: T1 to T4.

use super::rig::{Rig, START, Woken, poll, polled};
use crate::geometry::TICK_NS;
use crate::{sleep, sleep_until};
use mainspring_core::driver::{Driver, Until};
use mainspring_core::time::{self, Nanos, Sleep};
use proptest::prelude::*;
use std::time::{Duration, Instant};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // WITNESS: timer-driver.capped
    #[test]
    fn any_sleep_is_never_early_and_late_by_less_than_a_tick(
        base in 0u64..1 << 62,
        shift in 0u32..64,
        random: u64,
        is_precise: bool,
    ) {
        let mut rig = Rig::starting_at(Nanos(base));
        let duration = Duration::from_nanos(random >> shift >> 2);
        let deadline = Nanos(base).saturating_add(duration);
        let nap = Sleep::until(deadline);
        rig.block_on(if is_precise { nap.precise() } else { nap });
        let late = time::now().since(deadline);
        prop_assert!(time::now() >= deadline);
        let bound = Duration::from_nanos(if is_precise { 1 } else { TICK_NS });
        prop_assert!(late < bound);
    }
}

#[test]
fn normal_sleep_far_away_costs_one_wake_a_level() {
    let mut rig = Rig::new();
    rig.block_on(sleep(Duration::from_secs(400 * 24 * 3600)));
    assert!(
        rig.driver.inner().told.len() <= 6,
        "{:?}",
        rig.driver.inner().told
    );
}

#[test]
fn precise_sleeps_fire_in_the_order_of_their_insertion_on_a_tie() {
    let mut rig = Rig::new();
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let naps: Vec<_> = (0..5)
        .map(|number| {
            let order = std::sync::Arc::clone(&order);
            let woken = Woken::doing(move || order.lock().unwrap().push(number));
            polled(Sleep::until(Nanos(START.0 + 50)).precise(), &woken)
        })
        .collect();
    assert_eq!(rig.park(Until::Forever).woken, 5);
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    drop(naps);
}

#[test]
fn far_and_past_deadlines_saturate_and_never_panic() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let mut never = polled(sleep(Duration::MAX), &woken);
    let far = Duration::from_secs(u64::MAX / 4);
    let naps = [1, 2, 3].map(|nanos| {
        let deadline = Nanos(u64::MAX - nanos);
        polled(Sleep::until(deadline).slack(Duration::MAX), &woken)
    });
    if let Some(instant) = Instant::now().checked_add(far) {
        never.as_mut().reset(instant);
    }
    rig.block_on(sleep_until(Instant::now() - Duration::from_millis(1)));
    rig.block_on(Sleep::until(Nanos::ZERO));
    assert_eq!(woken.count(), 0);
    rig.clock.set(Nanos(u64::MAX - 1_000_000));
    assert_eq!(rig.park(Until::Now).woken, 0);
    drop((never, naps));
    assert_eq!(rig.armed(), 0);
}

#[test]
fn clock_that_goes_back_fires_nothing_early_and_ends_the_turn() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    rig.clock.advance(Duration::from_secs(10));
    let _ = rig.park(Until::Now);
    rig.clock.set(START);
    let mut nap = polled(sleep(Duration::from_secs(1)), &woken);
    for _ in 0..100 {
        rig.clock.advance(Duration::from_millis(9));
        assert_eq!(rig.park(Until::Now).woken, 0);
    }
    rig.clock.advance(Duration::from_secs(10));
    assert_eq!(rig.park(Until::Now).woken, 1);
    assert!(poll(nap.as_mut(), &woken).is_ready());
}

#[test]
fn extended_deadline_is_honoured_by_the_old_place() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    for is_precise in [false, true] {
        let nap = sleep(Duration::from_millis(1));
        let mut nap = polled(if is_precise { nap.precise() } else { nap }, &woken);
        let later = time::now().saturating_add(Duration::from_millis(5));
        nap.as_mut().reset_nanos(later);
        let before = woken.count();
        while woken.count() == before {
            let _ = rig.park(Until::Forever);
        }
        assert!(time::now() >= later);
        assert!(poll(nap.as_mut(), &woken).is_ready());
    }
}

#[test]
fn error_of_the_inner_driver_is_reported_and_timers_fire_all_the_same() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let _nap = polled(sleep(Duration::from_millis(1)), &woken);
    rig.driver.inner_mut().fails = true;
    assert!(rig.driver.park(Until::At(Nanos::MAX)).is_err());
    assert_eq!(woken.count(), 1);
}
