use super::{Position, Shape, Widths};
use proptest::prelude::*;

/// Six bits: a ring of three slots has 16 laps.
#[derive(Debug)]
struct Tiny;

impl Widths for Tiny {
    const POSITION: u32 = 6;
    const HELD: u32 = 3;
}

fn next(shape: Shape<Tiny>, position: Position) -> Position {
    Position(shape.stepped(position.0, 0))
}

proptest! {
    // WITNESS: shape.wrap
    /// The field above others that are none of its business.
    #[test]
    fn a_step_leaves_the_lower_fields_alone(
        slots in 1_usize..=16,
        walked in 0_u64..1_000,
        rest in 0_u64..32,
        shift in 5_u32..=58,
    ) {
        let shape = Shape::<Tiny>::new(slots);
        let position = shape.add(shape.first(0), walked);
        let word = shape.stepped(position.0 << shift | rest, shift);
        prop_assert_eq!(word, shape.add(position, 1).0 << shift | rest);
    }

    // WITNESS: shape.wrap
    /// S12, B157: index arithmetic across the wrap, for every number of slots.
    #[test]
    fn steps_and_distances_agree_across_the_wrap(
        slots in 1_usize..=16,
        walked in 0_u64..200,
        steps in 0_u64..16,
    ) {
        let shape = Shape::<Tiny>::new(slots);
        let mut from = shape.first(0);
        for _ in 0..walked {
            from = next(shape, from);
        }
        prop_assert_eq!(shape.index(from) as u64, walked % slots as u64);
        let steps = steps.min(slots as u64);
        let mut to = from;
        for _ in 0..steps {
            to = next(shape, to);
        }
        prop_assert_eq!(shape.add(from, steps), to);
        prop_assert_eq!(shape.distance(from, to), steps as i64);
        prop_assert_eq!(shape.distance(to, from), -(steps as i64));
        prop_assert_eq!(shape.lapped(from), shape.add(from, slots as u64));
    }
}

#[test]
fn positions_repeat_only_after_all_laps() {
    let shape = Shape::<Tiny>::new(3);
    let start = shape.first(0);
    let mut position = next(shape, start);
    let mut steps = 1;
    while position != start {
        position = next(shape, position);
        steps += 1;
    }
    assert_eq!(steps, 3 * 16);
    assert_eq!(Position(0), start);
}

#[test]
#[should_panic(expected = "four laps at least")]
fn slots_that_leave_no_laps_are_refused() {
    let _ = Shape::<Tiny>::new(17);
}
