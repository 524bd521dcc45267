use super::{LEVELS, Spot, TICK_NS, Tick};
use mainspring_core::time::Nanos;
use proptest::prelude::*;

#[test]
fn due_rounds_up_to_the_next_tick() {
    assert_eq!(Tick::due(Nanos(0)), Tick(0));
    assert_eq!(Tick::due(Nanos(1)), Tick(1));
    assert_eq!(Tick::due(Nanos(TICK_NS)), Tick(1));
    assert_eq!(Tick::due(Nanos(TICK_NS + 1)), Tick(2));
}

#[test]
fn due_at_the_end_of_time_saturates_and_is_not_early() {
    let last = Tick::due(Nanos::MAX);
    assert_eq!(last, Tick::due(Nanos(u64::MAX - 1)));
    assert_eq!(last.comes(), Nanos::MAX);
    assert!(Tick::reached(Nanos(u64::MAX - 1)) < last);
    assert_eq!(Tick::reached(Nanos::MAX), last);
}

#[test]
fn levels_meet_without_gap_or_overlap() {
    for level in 0..LEVELS {
        let first = Tick(1 << (8 * level));
        let spot = Spot::of(Tick(0), first);
        assert_eq!((usize::from(spot.level), spot.slot), (level, 1));
        if let Some(last_below) = first.0.checked_sub(1).filter(|&tick| tick > 0) {
            let spot = Spot::of(Tick(0), Tick(last_below));
            assert_eq!((usize::from(spot.level), spot.slot), (level - 1, 255));
        }
    }
}

proptest! {
    #[test]
    fn any_deadline_is_due_within_one_tick(deadline: u64) {
        let comes = Tick::due(Nanos(deadline)).comes();
        prop_assert!(comes >= Nanos(deadline));
        prop_assert!(comes.0 - deadline < TICK_NS);
        prop_assert_eq!(Tick::reached(comes), Tick::due(Nanos(deadline)));
    }

    #[test]
    fn any_spot_starts_after_the_cursor_and_holds_its_tick(a in 0u64..1 << 48, b in 0u64..1 << 48) {
        prop_assume!(a != b);
        let (cursor, tick) = (Tick(a.min(b)), Tick(a.max(b)));
        let spot = Spot::of(cursor, tick);
        let start = spot.start(cursor);
        prop_assert!(cursor < start && start <= tick);
        prop_assert!(tick.0 - start.0 < 1 << (8 * u32::from(spot.level)));
    }
}
