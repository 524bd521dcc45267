use super::fast::rate::{Care, Fast, Pair};
use super::{Clock, FastClock, ManualClock, ORIGIN, Scale, SystemClock, TurnClock, moment};
use crate::poll;
use crate::time::{Nanos, anchor, coarse, enter_clock, now};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn pair(ticks: u64, now: u64) -> Pair {
    Pair {
        ticks,
        now: Nanos(now),
    }
}

/// A clock at 4 ticks a nanosecond, 20 ms after its first pair.
fn calibrated() -> Fast {
    let mut fast = Fast::new();
    fast.anchor(pair(4_000, 1_000), Care::Exact);
    assert_eq!(fast.at(4_400), None, "clock.near: no rate yet");
    fast.anchor(pair(80_004_000, 20_001_000), Care::Exact);
    fast
}

// WITNESS: clock.near
#[test]
fn reading_near_the_anchor_is_computed_and_another_is_not() {
    let mut fast = calibrated();
    assert_eq!(fast.at(80_004_400), Some(Nanos(20_001_100)));
    assert_eq!(fast.at(80_004_000 + 39_999_000), Some(Nanos(30_000_750)));
    assert_eq!(
        fast.at(80_004_000 + 40_001_000),
        None,
        "clock.near: anchor too old"
    );
    assert_eq!(fast.at(80_003_999), None, "clock.near: before the anchor");
}

// WITNESS: clock.monotonic
#[test]
fn anchor_behind_the_last_reading_does_not_turn_the_clock_back() {
    let mut fast = calibrated();
    let ahead = fast.at(80_004_000 + 4_000_000);
    assert_eq!(ahead, Some(Nanos(21_001_000)));
    // The system's clock says 600 ns less than the computed reading.
    assert_eq!(
        fast.anchor(pair(84_004_000, 21_000_400), Care::Exact),
        Nanos(21_001_000)
    );
    assert_eq!(fast.at(84_004_400), Some(Nanos(21_001_000)));
    assert_eq!(fast.at(84_008_000), Some(Nanos(21_001_400)));
}

// WITNESS: clock.near
#[test]
fn contradicted_rate_and_reset_counter_are_measured_anew() {
    let mut fast = calibrated();
    // Migrated to a machine with half the frequency: 10 ms are 20 million ticks there.
    fast.anchor(pair(100_004_000, 30_001_000), Care::Exact);
    assert_eq!(
        fast.at(100_004_100),
        None,
        "clock.near: the old rate is used"
    );
    fast.anchor(pair(120_004_000, 40_001_000), Care::Exact);
    assert_eq!(fast.at(120_004_200), Some(Nanos(40_001_100)));
    // A counter that starts again at zero.
    assert_eq!(fast.at(10), None);
    fast.anchor(pair(10, 50_000_000), Care::Exact);
    assert_eq!(fast.at(20), None);
}

// WITNESS: clock.near
#[test]
fn interrupted_pair_starts_no_measurement_and_is_no_anchor_of_a_rate() {
    let mut fast = Fast::new();
    fast.anchor(pair(4_000, 1_000), Care::Quick);
    assert!(fast.wants_exact(pair(90_004_000, 20_001_000)));
    fast.anchor(pair(90_004_000, 20_001_000), Care::Quick);
    assert_eq!(
        fast.at(90_004_001),
        None,
        "clock.near: a rate from an interrupted pair"
    );
    // 4 ms passed between the two readings of this pair.
    let mut fast = calibrated();
    let late = pair(80_004_000 + 20_000_000, 21_001_000);
    assert!(fast.wants_exact(late));
    fast.anchor(late, Care::Quick);
    assert_eq!(fast.at(100_004_001), None, "clock.near: 4 ms behind");
}

proptest! {
    // WITNESS: clock.monotonic
    #[test]
    fn any_sequence_of_pairs_and_ticks_never_goes_back(
        steps in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 1..50),
        start in any::<u64>(),
    ) {
        let mut fast = Fast::new();
        let (mut ticks, mut now, mut last) = (start, 1, Nanos::ZERO);
        for (tick_step, now_step, is_pair) in steps {
            ticks = u64::wrapping_add(ticks, u64::from(tick_step));
            now += u64::from(now_step);
            let reading = match is_pair {
                true => Some(fast.anchor(pair(ticks, now), Care::Exact)),
                false => fast.at(ticks),
            };
            if let Some(reading) = reading {
                prop_assert!(reading >= last, "clock.monotonic");
                last = reading;
            }
        }
    }
}

// WITNESS: clock.monotonic, clock.trusted
#[test]
fn fast_clock_stays_between_two_readings_of_the_systems() {
    let mut last = Nanos::ZERO;
    let end = SystemClock.now().saturating_add(Duration::from_millis(30));
    while last < end {
        // The fast clock may be 5 µs ahead or, preempted between its two readings, behind; a whole
        // millisecond is a fault.
        let before = SystemClock.now();
        let fast = FastClock.now();
        assert!(fast >= last, "clock.monotonic");
        assert!(fast >= before.saturating_sub(Duration::from_millis(1)) || !FastClock::is_fast());
        assert!(fast <= SystemClock.now().saturating_add(Duration::from_millis(1)));
        last = fast;
    }
    assert!(anchor() >= last);
}

#[test]
fn first_reading_of_a_scale_is_not_before_its_origin() {
    // Whether this process has read its own scale before does not matter to a fresh one.
    for _ in 0..100 {
        let scale = Scale::new();
        let first = scale.read();
        assert!(first >= ORIGIN, "{first} is before the origin");
        assert!(scale.read() >= first);
    }
}

#[test]
fn instants_taken_before_the_first_reading_keep_their_order() {
    let first = Instant::now();
    let second = Instant::now() + Duration::from_nanos(1);
    let origin = second + Duration::from_nanos(1);
    let [first, second] = [first, second].map(|instant| moment(origin, instant));
    assert!(Nanos::ZERO < first && first < second && second < ORIGIN);
}

#[test]
fn instants_convert_both_ways_and_saturate() {
    let start = SystemClock.now();
    let instant = Instant::now();
    let moment = Nanos::from_instant(instant);
    assert_eq!(moment.to_instant(), Some(instant));
    assert!(moment >= start && start >= ORIGIN);
    let earlier = instant.checked_sub(Duration::from_millis(1));
    assert_eq!(
        earlier.map(Nanos::from_instant),
        Some(moment.saturating_sub(Duration::from_millis(1)))
    );
    let long_ago = ORIGIN.saturating_sub(Duration::from_secs(2));
    assert_eq!(long_ago, Nanos::ZERO);
}

#[test]
fn entered_clock_is_current_until_its_guard_goes() {
    let clock = ManualClock::new(Nanos(7));
    let entered = enter_clock(Arc::new(clock.clone()));
    assert_eq!((now(), anchor(), coarse()), (Nanos(7), Nanos(7), Nanos(7)));
    clock.set(Nanos(3));
    assert_eq!(now(), Nanos(3));
    assert_eq!(clock.advance(Duration::MAX), Nanos::MAX);
    drop(entered);
    assert!(now() >= ORIGIN);
}

#[test]
fn turn_clock_is_the_turns_beginning_or_now() {
    assert!(TurnClock.now() >= ORIGIN);
    poll::begin_turn(Nanos(11));
    assert_eq!(TurnClock.now(), Nanos(11));
    poll::begin_turn(Nanos::ZERO);
}
