#![cfg(not(mainspring_loom))]

use super::{Full, Ring};
use proptest::prelude::*;
use std::collections::VecDeque;

/// The textbook ring, as printed.
mod printed {
    pub(super) struct Ring<const N: usize> {
        pub(super) slots: [u32; N],
        pub(super) head: usize,
        pub(super) tail: usize,
    }

    impl<const N: usize> Ring<N> {
        pub(super) fn starting_at(position: usize) -> Self {
            Self {
                slots: [0; N],
                head: position,
                tail: position,
            }
        }

        pub(super) fn push(&mut self, value: u32) {
            self.slots[self.tail % N] = value;
            self.tail = self.tail.wrapping_add(1);
        }

        pub(super) fn pop(&mut self) -> Option<u32> {
            if self.head == self.tail {
                return None;
            }
            let value = self.slots[self.head % N];
            self.head = self.head.wrapping_add(1);
            Some(value)
        }
    }
}

// CORRECTION: 13
// WITNESS: ring.bound, ring.kept
#[test]
fn textbook_ring_overwrites_where_ours_refuses() {
    let mut printed = printed::Ring::<4>::starting_at(0);
    (0..6).for_each(|value| printed.push(value));
    let read: Vec<_> = std::iter::from_fn(|| printed.pop()).collect();
    assert_eq!(read, [4, 5, 2, 3, 4, 5], "what was printed loses 0 and 1");

    let mut ours = Ring::new(4);
    let refused: Vec<_> = (0..6).filter_map(|value| ours.push(value).err()).collect();
    assert_eq!(refused, [Full(4), Full(5)]);
    assert_eq!(ours.drain().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn textbook_ring_mixes_slots_when_its_index_wraps_and_ours_has_none() {
    let mut printed = printed::Ring::<3>::starting_at(usize::MAX - 1);
    (0..3).for_each(|value| printed.push(value));
    let read: Vec<_> = std::iter::from_fn(|| printed.pop()).collect();
    assert_ne!(
        read,
        [0, 1, 2],
        "usize::MAX % 3 == 0 == 0 % 3: two values in one slot"
    );

    for start in 0..7 {
        let mut ours = Ring::new(3);
        for _ in 0..start {
            ours.push(99).unwrap();
            assert_eq!(ours.pop(), Some(99));
        }
        (0..3).for_each(|value| ours.push(value).unwrap());
        assert_eq!(ours.drain().collect::<Vec<_>>(), [0, 1, 2], "start {start}");
    }
}

#[test]
fn push_over_gives_up_the_oldest() {
    let mut ring = Ring::new(2);
    assert_eq!(ring.push_over(1), None);
    assert_eq!(ring.push_over(2), None);
    assert_eq!(ring.push_over(3), Some(1));
    assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(Ring::new(0).push_over(1), Some(1));
}

#[test]
fn no_capacity_and_no_size_are_capacities_and_sizes() {
    let mut none = Ring::new(0);
    assert_eq!(none.push('x'), Err(Full('x')));
    assert_eq!(none.pop(), None);
    let mut units = Ring::new(2);
    units.push(()).unwrap();
    units.push(()).unwrap();
    assert_eq!(units.push(()), Err(Full(())));
}

#[derive(Clone, Debug)]
enum Op {
    Push(u32),
    PushOver(u32),
    Pop,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => any::<u32>().prop_map(Op::Push),
        1 => any::<u32>().prop_map(Op::PushOver),
        2 => Just(Op::Pop),
    ]
}

proptest! {
    // WITNESS: ring.bound, ring.kept
    #[test]
    fn any_operations_agree_with_a_queue_that_is_measured(
        capacity in 0usize..9,
        ops in proptest::collection::vec(op(), 0..120),
    ) {
        let mut ring = Ring::new(capacity);
        let mut model = VecDeque::new();
        for op in ops {
            match op {
                Op::Push(value) if model.len() == capacity => {
                    prop_assert_eq!(ring.push(value), Err(Full(value)));
                }
                Op::Push(value) => {
                    prop_assert_eq!(ring.push(value), Ok(()));
                    model.push_back(value);
                }
                Op::PushOver(value) => {
                    model.push_back(value);
                    let gone = if model.len() > capacity { model.pop_front() } else { None };
                    prop_assert_eq!(ring.push_over(value), gone);
                }
                Op::Pop => prop_assert_eq!(ring.pop(), model.pop_front()),
            }
            prop_assert_eq!(ring.len(), model.len());
            prop_assert_eq!(ring.is_full(), model.len() == capacity);
            prop_assert!(ring.iter().eq(model.iter()));
            prop_assert_eq!(ring.peek(), model.front());
        }
    }
}
