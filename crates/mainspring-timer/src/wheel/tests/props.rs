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

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    // WITNESS: wheel.never-early, wheel.within-one-tick, wheel.above-cursor, wheel.one-place
    #[test]
    fn any_schedule_fires_like_the_sorted_model(
        base in base(),
        ops in prop::collection::vec(op(), 1..80),
        limit in 1usize..24,
    ) {
        let mut pair = Pair::new(Nanos(base));
        for op in ops {
            apply(&mut pair, op, limit);
        }
        pair.advance(Nanos::MAX, limit, Reaction::Nothing);
        prop_assert_eq!(pair.len(), 0);
    }

    // WITNESS: wheel.within-one-tick
    #[test]
    fn lone_timer_needs_one_wake_a_level(base in base(), after in span()) {
        let mut pair = Pair::new(Nanos(base));
        let deadline = Nanos(base.saturating_add(after));
        pair.insert(deadline);
        let mut wakes = 0;
        while let Some(next) = pair.next() {
            prop_assert!(next <= fires_at(deadline).max(Nanos(base)));
            pair.advance(next.max(pair.shown()), 1, Reaction::Nothing);
            wakes += 1;
            prop_assert!(wakes <= 6, "{} wakes", wakes);
        }
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
