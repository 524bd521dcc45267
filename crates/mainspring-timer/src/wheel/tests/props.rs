use super::model::{Pair, Reaction, fires_at};
use crate::geometry::TICK_NS;
use mainspring_core::time::Nanos;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    /// At the latest time shown plus this.
    Insert(u64),
    /// At the latest time shown minus this.
    InsertPast(u64),
    /// At this absolute time.
    InsertAt(u64),
    Remove(usize),
    Extend(usize, u64),
    Forward(u64, Reaction),
    /// One bounded piece only, so that what follows meets an open slot.
    Piece(u64, Reaction),
    Back(u64),
    /// Exactly to what `next` promises.
    ToNext,
}

/// A duration whose magnitude is spread over all powers of two, with their neighbours.
fn span() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0u32..64, any::<u64>()).prop_map(|(bits, random)| random >> bits),
        (0u32..64, 0u64..3)
            .prop_map(|(bit, near)| (1u64 << bit).wrapping_add(near).wrapping_sub(1)),
        (0u64..600).prop_map(|ticks| ticks * TICK_NS),
        Just(u64::MAX),
    ]
}

/// A time close below or above a power of two, or anywhere.
fn base() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u32..64, span()).prop_map(|(bit, near)| (1u64 << bit).saturating_sub(near)),
        (0u32..64, span()).prop_map(|(bit, near)| (1u64 << bit).saturating_add(near)),
        span().prop_map(|near| u64::MAX - near),
        Just(0),
    ]
}

fn reaction() -> impl Strategy<Value = Reaction> {
    prop_oneof![
        3 => Just(Reaction::Nothing),
        1 => span().prop_map(Reaction::Insert),
        1 => span().prop_map(Reaction::Again),
        1 => any::<usize>().prop_map(Reaction::Remove),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => span().prop_map(Op::Insert),
        1 => span().prop_map(Op::InsertPast),
        1 => any::<u64>().prop_map(Op::InsertAt),
        2 => any::<usize>().prop_map(Op::Remove),
        2 => (any::<usize>(), span()).prop_map(|(rank, by)| Op::Extend(rank, by)),
        2 => (span(), reaction()).prop_map(|(by, then)| Op::Forward(by, then)),
        2 => (span(), reaction()).prop_map(|(by, then)| Op::Piece(by, then)),
        1 => span().prop_map(Op::Back),
        2 => Just(Op::ToNext),
    ]
}

fn apply(pair: &mut Pair, op: Op, limit: usize) {
    let shown = pair.shown().0;
    match op {
        Op::Insert(after) => drop(pair.insert(Nanos(shown.saturating_add(after)))),
        Op::InsertPast(before) => drop(pair.insert(Nanos(shown.saturating_sub(before)))),
        Op::InsertAt(deadline) => drop(pair.insert(Nanos(deadline))),
        Op::Remove(rank) => pair.remove(rank),
        Op::Extend(rank, by) => pair.extend(rank, by),
        Op::Forward(by, then) => {
            pair.advance(Nanos(shown.saturating_add(by)), limit, then);
        }
        Op::Piece(by, then) => {
            let _ = pair.piece(Nanos(shown.saturating_add(by)), limit, then);
        }
        Op::Back(by) => {
            pair.advance(Nanos(shown.saturating_sub(by)), limit, Reaction::Nothing);
        }
        Op::ToNext => {
            if let Some(next) = pair.next() {
                pair.advance(next.max(Nanos(shown)), limit, Reaction::Nothing);
            }
        }
    }
    pair.check();
}

fn replay(base: u64, ops: Vec<Op>, limit: usize) {
    let mut pair = Pair::new(Nanos(base));
    for op in ops {
        apply(&mut pair, op, limit);
    }
    pair.advance(Nanos::MAX, limit, Reaction::Nothing);
    assert_eq!(pair.len(), 0);
}

/// Follows what `next` promises, from `base` on, until a lone entry has fired.
fn wake_for_one(base: u64, after: u64) {
    let mut pair = Pair::new(Nanos(base));
    let deadline = Nanos(base.saturating_add(after));
    pair.insert(deadline);
    let mut wakes = 0;
    while let Some(next) = pair.next() {
        assert!(next <= fires_at(deadline).max(Nanos(base)));
        pair.advance(next.max(pair.shown()), 1, Reaction::Nothing);
        wakes += 1;
        assert!(wakes <= 6, "{wakes} wakes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    // WITNESS: wheel.never-early, wheel.within-one-tick, wheel.above-cursor, wheel.one-place
    #[test]
    fn any_schedule_fires_like_the_sorted_model(
        base in base(),
        ops in prop::collection::vec(op(), 1..80),
        limit in 1usize..24,
    ) {
        replay(base, ops, limit);
    }

    // WITNESS: wheel.within-one-tick
    #[test]
    fn lone_timer_needs_one_wake_a_level(base in base(), after in span()) {
        wake_for_one(base, after);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn backlog_of_any_jump_comes_in_pieces(
        base in base(),
        spans in prop::collection::vec(span(), 200..400),
        jump in span(),
    ) {
        let mut pair = Pair::new(Nanos(base));
        for after in &spans {
            pair.insert(Nanos(base.saturating_add(*after)));
        }
        let pieces = pair.advance(Nanos(base.saturating_add(jump)), 128, Reaction::Nothing);
        // Each entry is moved at most five times and fired once.
        prop_assert!(pieces <= spans.len() * 6 / 128 + 1);
    }
}

// WITNESS: wheel.above-cursor
#[test]
fn every_level_boundary_plus_or_minus_one_fires_on_its_tick() {
    for bit in 0..64 {
        for base in [(1u64 << bit) - 1, 1 << bit, (1u64 << bit).wrapping_add(1)] {
            let mut pair = Pair::new(Nanos(base));
            for span in 0..64 {
                for near in [-1i64, 0, 1] {
                    let after = (1u64 << span).wrapping_add_signed(near);
                    pair.insert(Nanos(base.saturating_add(after)));
                }
            }
            while let Some(next) = pair.next() {
                pair.advance(next.max(pair.shown()), 128, Reaction::Nothing);
            }
            assert_eq!(pair.len(), 0);
        }
    }
}

// Both once failed, by an omission of the model: the last tick of all, to which both deadlines
// are rounded up, comes only when the clock saturates.
// WITNESS: wheel.never-early, wheel.within-one-tick
#[test]
fn cases_that_once_failed_at_the_end_of_the_clock_fire_like_the_model() {
    wake_for_one(18_446_744_073_709_486_015, 0);
    replay(18_446_744_073_703_981_056, vec![Op::Insert(5_505_024)], 1);
}

// WITNESS: wheel.never-early, wheel.within-one-tick, wheel.above-cursor
#[test]
fn every_tick_near_the_end_of_the_clock_fires_like_the_sorted_model() {
    // Counted backwards: the last ticks, and those around the last slot of the lower levels.
    const TICKS: [u64; 12] = [0, 1, 2, 3, 84, 85, 255, 256, 257, 65_535, 65_536, 65_537];
    const WITHIN_NS: [u64; 5] = [0, 1, 64, TICK_NS - 2, TICK_NS - 1];
    let from_end =
        || (TICKS.into_iter()).flat_map(|tick| WITHIN_NS.map(|within| tick * TICK_NS + within));
    for left in from_end() {
        let base = u64::MAX - left;
        for deadline in from_end().filter(|deadline| *deadline <= left) {
            let after = left - deadline;
            wake_for_one(base, after);
            let ops = vec![Op::Insert(after), Op::Insert(0), Op::ToNext];
            replay(base, ops, 1);
        }
    }
}
