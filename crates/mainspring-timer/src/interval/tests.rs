use super::{MissedTick, interval, interval_at};
use crate::driver::tests::rig::Rig;
use crate::sleep;
use mainspring_core::CancelSafe;
use mainspring_core::time::{self, Nanos};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

// WITNESS: interval.grid
#[test]
fn next_follows_the_table_of_the_documentation() {
    for (missed, late) in [
        (MissedTick::Burst, 20),
        (MissedTick::Delay, 45),
        (MissedTick::Skip, 40),
    ] {
        let next = |now| missed.next(Nanos(10), Nanos(now), 10);
        assert_eq!(next(10), Nanos(20));
        assert_eq!(next(19), Nanos(20), "late, and nothing missed");
        assert_eq!(next(35), Nanos(late));
    }
    assert_eq!(MissedTick::Skip.next(Nanos(10), Nanos(40), 10), Nanos(50));
}

proptest! {
    // WITNESS: interval.saturates
    #[test]
    fn any_next_is_later_and_on_the_grid(due: u64, late: u64, shift in 0u32..64, period: u64) {
        let now = due.saturating_add(late >> shift);
        let period = (period >> shift).max(1);
        for missed in [MissedTick::Burst, MissedTick::Delay, MissedTick::Skip] {
            let next = missed.next(Nanos(due), Nanos(now), period);
            prop_assert!(next > Nanos(due) || due == u64::MAX);
            if missed != MissedTick::Burst {
                prop_assert!(next > Nanos(now) || next == Nanos::MAX);
            }
            if missed == MissedTick::Skip && next != Nanos::MAX {
                prop_assert_eq!((next.0 - due) % period, 0);
                prop_assert!(next.0 - now <= period);
            }
        }
    }
}

fn ticks(rig: &mut Rig, missed: MissedTick, pause_ms: u32) -> Vec<u128> {
    let start = time::now().to_instant().expect("near");
    rig.block_on(async {
        let mut interval = interval(10 * MS).missed_tick(missed);
        let mut due = Vec::new();
        for round in 0..6 {
            due.push((interval.tick().await - start).as_millis());
            if round == 0 {
                sleep(pause_ms * MS).await;
            }
        }
        due
    })
}

// WITNESS: interval.grid
#[test]
fn ticks_do_not_drift_and_make_up_for_missed_ones_as_asked() {
    let mut rig = Rig::new();
    assert_eq!(
        ticks(&mut rig, MissedTick::Burst, 3),
        [0, 10, 20, 30, 40, 50]
    );
    assert_eq!(
        ticks(&mut rig, MissedTick::Burst, 35),
        [0, 10, 20, 30, 40, 50]
    );
    assert_eq!(
        ticks(&mut rig, MissedTick::Skip, 35),
        [0, 10, 40, 50, 60, 70]
    );
    let delayed = ticks(&mut rig, MissedTick::Delay, 35);
    assert_eq!(delayed[..3], [0, 10, 45]);
}

/// What a `select!` demands of its arms.
fn safe<F: CancelSafe>(future: F) -> F {
    assert!(F::KEEPS_PLACE);
    future
}

#[test]
fn dropped_tick_is_not_consumed() {
    let mut rig = Rig::new();
    let start = time::now();
    let mut interval = interval(10 * MS);
    rig.block_on(interval.tick());
    {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let tick = std::pin::pin!(safe(interval.tick()));
        assert!(tick.poll(&mut cx).is_pending());
    }
    let due = rig.block_on(interval.tick());
    assert_eq!(Nanos::from_instant(due), start.saturating_add(10 * MS));
}

#[test]
fn extreme_periods_and_starts_do_not_panic() {
    let mut rig = Rig::new();
    let mut zero = interval(Duration::ZERO);
    rig.block_on(zero.tick());
    rig.block_on(zero.tick());
    let mut once = interval(Duration::MAX);
    rig.block_on(once.tick());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(once.poll_tick(&mut cx).is_pending());
    let past = Instant::now() - Duration::from_secs(1);
    let mut skipping = interval_at(past, MS).missed_tick(MissedTick::Skip);
    rig.block_on(skipping.tick());
    skipping.reset();
    assert!(skipping.poll_tick(&mut cx).is_pending());
    skipping.reset_at(past);
    rig.block_on(skipping.tick());
}
