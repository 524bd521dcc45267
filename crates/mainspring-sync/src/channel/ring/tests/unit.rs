use crate::channel::ring::{Pop, Push, Reserve, Ring};
use crate::channel::shape::Widths;
use crate::channel::words::{Closing, Told, Turn};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

struct Tiny;

impl Widths for Tiny {
    const POSITION: u32 = 5;
    const HELD: u32 = 3;
}

fn push<T, W: Widths>(ring: &Ring<T, W>, value: T) -> bool {
    matches!(ring.push(value, Turn::Newcomer), Push::Done(Told::Nobody))
}

fn pop<T, W: Widths>(ring: &Ring<T, W>) -> Option<T> {
    match ring.pop() {
        Pop::Got(value, _) => Some(value),
        Pop::Empty | Pop::Closed => None,
        Pop::Busy => panic!("nobody is at work"),
    }
}

/// The slot-sequence queue as printed, for one thread: "readable" is the sequence plus one,
/// "writable next lap" the sequence plus the number of slots.
mod printed {
    pub(super) struct Queue {
        pub(super) slots: Vec<(usize, Option<u32>)>,
        pub(super) tail: usize,
        pub(super) head: usize,
    }

    impl Queue {
        pub(super) fn new(slots: usize) -> Self {
            Self {
                slots: (0..slots).map(|index| (index, None)).collect(),
                tail: 0,
                head: 0,
            }
        }

        pub(super) fn push(&mut self, value: u32) -> bool {
            let count = self.slots.len();
            let slot = &mut self.slots[self.tail % count];
            if slot.0 != self.tail {
                return false;
            }
            *slot = (self.tail + 1, Some(value));
            self.tail += 1;
            true
        }

        pub(super) fn pop(&mut self) -> Option<u32> {
            let count = self.slots.len();
            let slot = &mut self.slots[self.head % count];
            if slot.0 != self.head + 1 {
                return None;
            }
            slot.0 = self.head + count;
            self.head += 1;
            slot.1.take()
        }
    }
}

// CORRECTION: 30
#[test]
fn printed_queue_of_one_slot_overwrites_and_this_one_is_full() {
    let mut printed = printed::Queue::new(1);
    assert!(printed.push(1));
    assert!(printed.push(2), "the first message was overwritten");
    assert_eq!(printed.pop(), None, "and then nothing can be taken");
    let ring = Ring::<u32>::new(1);
    assert!(push(&ring, 1));
    assert!(matches!(ring.push(2, Turn::Newcomer), Push::Full(2)));
    assert_eq!(pop(&ring), Some(1));
    assert!(push(&ring, 2));
    assert_eq!(pop(&ring), Some(2));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Pop,
    Reserve,
    Redeem,
    Release,
}

proptest! {
    // WITNESS: slots.owner, slots.window
    /// S12, B157, B161: any capacity, many laps around positions of five bits.
    #[test]
    fn ring_agrees_with_a_deque(
        capacity in 1_usize..=8,
        steps in prop::collection::vec(
            prop_oneof![
                4 => Just(Step::Push),
                4 => Just(Step::Pop),
                2 => Just(Step::Reserve),
                1 => Just(Step::Redeem),
                1 => Just(Step::Release),
            ],
            1..200,
        ),
    ) {
        let ring = Ring::<u32, Tiny>::new(capacity);
        let mut model = VecDeque::new();
        let mut held = 0;
        for (number, step) in (0..).zip(steps) {
            let fits = model.len() + held < capacity;
            match step {
                Step::Push => {
                    prop_assert_eq!(push(&ring, number), fits);
                    if fits {
                        model.push_back(number);
                    }
                }
                Step::Pop => prop_assert_eq!(pop(&ring), model.pop_front()),
                Step::Reserve => {
                    let may = fits && held < 7;
                    let verdict = ring.reserve(Turn::Newcomer);
                    prop_assert_eq!(verdict == Reserve::Held, may);
                    held += usize::from(may);
                }
                Step::Redeem if held > 0 => {
                    prop_assert_eq!(ring.redeem(number), Ok(Told::Nobody));
                    model.push_back(number);
                    held -= 1;
                }
                Step::Release if held > 0 => {
                    prop_assert!(!ring.words().release().senders_wait);
                    held -= 1;
                }
                Step::Redeem | Step::Release => {}
            }
            prop_assert_eq!(ring.words().len(), model.len());
        }
    }
}

/// Counts its drops, and panics in those of even numbers.
struct Counted<'a>(u32, &'a Cell<u32>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
        assert!(self.0 % 2 == 1, "a destructor that panics");
    }
}

// WITNESS: slots.dropped, slots.live
/// S11, B164.
#[test]
fn dropped_ring_drops_each_message_once_though_destructors_panic() {
    let drops = Cell::new(0);
    let ring = Ring::<Counted<'_>>::new(5);
    for number in [1, 2, 3, 4, 5] {
        assert!(push(&ring, Counted(number, &drops)));
    }
    drop(pop(&ring));
    assert_eq!(drops.get(), 1);
    let result = catch_unwind(AssertUnwindSafe(|| drop(ring)));
    assert!(result.is_err());
    assert_eq!(drops.get(), 5);
}

#[test]
fn messages_of_every_size_and_alignment_come_back_whole() {
    #[derive(Debug, PartialEq)]
    #[repr(align(256))]
    struct Aligned(u8);

    let units = Ring::<()>::new(3);
    assert!(push(&units, ()) && push(&units, ()) && push(&units, ()));
    assert!(!push(&units, ()));
    assert_eq!(pop(&units), Some(()));
    assert_eq!(units.words().len(), 2);
    let pages = Ring::<[u8; 4_096]>::new(2);
    assert!(push(&pages, [1; 4_096]) && push(&pages, [2; 4_096]));
    assert_eq!(pop(&pages), Some([1; 4_096]));
    let aligned = Ring::<Aligned>::new(2);
    assert!(push(&aligned, Aligned(7)));
    assert_eq!(pop(&aligned), Some(Aligned(7)));
}

/// S7, S8, S9.
#[test]
fn closed_ring_gives_values_back_and_ends_after_the_last_permit() {
    let ring = Ring::<u32>::new(4);
    assert!(push(&ring, 1));
    assert_eq!(ring.reserve(Turn::Newcomer), Reserve::Held);
    assert_eq!(ring.reserve(Turn::Newcomer), Reserve::Held);
    assert_eq!(ring.words().close(), Closing::First);
    assert!(matches!(ring.push(2, Turn::Newcomer), Push::Closed(2)));
    assert!(matches!(ring.push(2, Turn::Queued), Push::Closed(2)));
    assert_eq!(ring.reserve(Turn::Queued), Reserve::Closed);
    assert!(matches!(ring.pop(), Pop::Got(1, false)));
    assert!(matches!(ring.pop(), Pop::Empty));
    assert_eq!(ring.redeem(3), Ok(Told::Nobody));
    assert!(matches!(ring.pop(), Pop::Got(3, false)));
    assert!(matches!(ring.pop(), Pop::Empty));
    assert_eq!(ring.words().leave(), Closing::Again);
    assert_eq!(ring.redeem(4), Err(4));
    assert!(matches!(ring.pop(), Pop::Closed));
}
