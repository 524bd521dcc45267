use super::{Count, count};
use crate::channel::blocks::{Blocks, SLOTS};
use crate::channel::ring::{Pop, Push};
use crate::channel::shape::Widths;
use crate::channel::store::{RING_MOST, Store};
use crate::channel::words::Reserve;
use crate::channel::words::{Closing, Told, Turn};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Eight laps.
struct Tiny;

impl Widths for Tiny {
    const POSITION: u32 = 8;
    const HELD: u32 = 3;
}

fn push<T, W: Widths>(blocks: &Blocks<T, W>, value: T) -> bool {
    match blocks.push(value, Turn::Newcomer) {
        Push::Done(told) => told == Told::Nobody,
        Push::Full(_) => false,
        _ => panic!("nobody closed it, nobody waits, and no push is told Busy"),
    }
}

fn pop<T, W: Widths>(blocks: &Blocks<T, W>) -> Option<T> {
    match blocks.pop() {
        Pop::Got(value, _) => Some(value),
        Pop::Empty | Pop::Closed => None,
        Pop::Busy => panic!("nobody is at work"),
    }
}

/// What an empty storage may keep.
fn at_most_two_spares<T, W: Widths>(blocks: &Blocks<T, W>) {
    let Count {
        linked,
        spare,
        ended,
    } = count(blocks);
    assert!(linked <= 1, "blocks.few: {linked} blocks are linked");
    assert!(spare <= 2, "blocks.few: {spare} blocks are spare");
    assert_eq!(ended, 0, "blocks.few: nobody is at work");
}

/// B157.
#[test]
fn runs_around_the_length_of_blocks_agree_with_a_model_after_each_step() {
    let blocks = Blocks::<usize>::new(None);
    let mut next = 0;
    for count_of_blocks in 1..=8 {
        for run in [-1, 0, 1].map(|by| (count_of_blocks * SLOTS).wrapping_add_signed(by)) {
            let mut model = VecDeque::new();
            for _ in 0..run {
                assert!(push(&blocks, next));
                model.push_back(next);
                next += 1;
                assert_eq!(blocks.words().len(), model.len());
            }
            while let Some(number) = model.pop_front() {
                assert_eq!(pop(&blocks), Some(number));
                assert_eq!(blocks.words().len(), model.len());
            }
            assert_eq!(pop(&blocks), None);
            at_most_two_spares(&blocks);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(usize),
    Pop(usize),
    Reserve,
    Redeem,
    Release,
}

proptest! {
    // WITNESS: blocks.owner, blocks.claimed, blocks.few
    /// S12, B157: any runs, around the end of the laps.
    #[test]
    fn blocks_agree_with_a_deque(
        capacity in prop_oneof![Just(None), (1_usize..=96).prop_map(Some)],
        steps in prop::collection::vec(
            prop_oneof![
                4 => (1..=40_usize).prop_map(Step::Push),
                4 => (1..=40_usize).prop_map(Step::Pop),
                2 => Just(Step::Reserve),
                1 => Just(Step::Redeem),
                1 => Just(Step::Release),
            ],
            1..100,
        ),
    ) {
        let blocks = Blocks::<usize, Tiny>::new(capacity);
        let mut model = VecDeque::new();
        let mut held = 0;
        // Positions have a distance while fewer than half of the laps lie between.
        let most = capacity.unwrap_or(96);
        let mut number = 0;
        for step in steps {
            let has_room = |model: &VecDeque<_>, held| model.len() + held < most;
            match step {
                Step::Push(count) => for _ in 0..count {
                    number += 1;
                    let fits = has_room(&model, held);
                    if fits || capacity.is_some() {
                        prop_assert_eq!(push(&blocks, number), fits);
                    }
                    if fits {
                        model.push_back(number);
                    }
                },
                Step::Pop(count) => for _ in 0..count {
                    prop_assert_eq!(pop(&blocks), model.pop_front());
                },
                Step::Reserve => {
                    let may = held < 7 && (capacity.is_none() || has_room(&model, held));
                    if has_room(&model, held) || capacity.is_some() {
                        let verdict = blocks.reserve(Turn::Newcomer);
                        prop_assert_eq!(verdict, if may { Reserve::Held } else { Reserve::Full });
                        held += usize::from(may);
                    }
                }
                Step::Redeem if held > 0 => {
                    number += 1;
                    prop_assert_eq!(blocks.redeem(number), Ok(Told::Nobody));
                    model.push_back(number);
                    held -= 1;
                }
                Step::Release if held > 0 => {
                    prop_assert!(!blocks.words().release().senders_wait);
                    held -= 1;
                }
                Step::Redeem | Step::Release => {}
            }
            prop_assert_eq!(blocks.words().len(), model.len());
            let count = count(&blocks);
            prop_assert!(count.linked <= model.len().div_ceil(SLOTS) + 1);
            prop_assert!(count.spare <= 2 && count.ended == 0);
        }
    }
}

// WITNESS: blocks.few
/// B158.
#[test]
fn burst_gives_its_memory_back() {
    let blocks = Blocks::<usize>::new(None);
    for number in 0..1_000_000 {
        assert!(push(&blocks, number));
    }
    assert_eq!(count(&blocks).linked, 1_000_000_usize.div_ceil(SLOTS));
    for number in 0..1_000_000 {
        assert_eq!(pop(&blocks), Some(number));
    }
    assert_eq!(pop(&blocks), None);
    let after = Count {
        linked: 1,
        spare: 2,
        ended: 0,
    };
    assert_eq!(count(&blocks), after);
}

#[test]
fn storage_that_is_not_used_has_no_block_and_a_stream_needs_two() {
    let blocks = Blocks::<u32>::new(None);
    assert_eq!(pop(&blocks), None);
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
    assert!(!blocks.words().release().senders_wait);
    let none = Count {
        linked: 0,
        spare: 0,
        ended: 0,
    };
    assert_eq!(count(&blocks), none);
    for number in 0..1_000 {
        assert!(push(&blocks, number));
        assert_eq!(pop(&blocks), Some(number));
    }
    let Count { linked, spare, .. } = count(&blocks);
    assert_eq!((linked, spare), (1, 1));
}

/// The bound is the words', whatever the blocks hold.
#[test]
fn capacity_counts_messages_and_permits() {
    let blocks = Blocks::<usize>::new(Some(SLOTS + 1));
    for number in 0..SLOTS {
        assert!(push(&blocks, number));
    }
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
    assert!(!push(&blocks, SLOTS));
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Full);
    assert_eq!(blocks.words().overdraw(), Reserve::Held);
    assert!(blocks.is_covered());
    assert_eq!(pop(&blocks), Some(0));
    assert_eq!(blocks.redeem(SLOTS), Ok(Told::Nobody));
    assert_eq!(blocks.redeem(SLOTS + 1), Ok(Told::Nobody));
    assert!(!push(&blocks, SLOTS + 2));
    for number in 1..=SLOTS + 1 {
        assert_eq!(pop(&blocks), Some(number));
    }
    assert_eq!(pop(&blocks), None);
}

#[test]
fn permits_are_at_most_what_the_word_counts() {
    let blocks = Blocks::<u32, Tiny>::new(None);
    for _ in 0..7 {
        assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
    }
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Full);
    assert_eq!(blocks.words().overdraw(), Reserve::Full);
    assert!(push(&blocks, 1), "a message needs no permit");
    assert_eq!(blocks.redeem(2), Ok(Told::Nobody));
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
}

/// Counts its drops, and panics in those of even numbers.
struct Counted<'a>(usize, &'a Cell<usize>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
        assert!(self.0 % 2 == 1, "a destructor that panics");
    }
}

// WITNESS: blocks.dropped, blocks.freed
/// S11, B164.
#[test]
fn dropped_storage_drops_each_message_once_though_destructors_panic() {
    for (pushed, popped) in [
        (0, 0),
        (1, 0),
        (SLOTS, 1),
        (3 * SLOTS + 5, SLOTS),
        (SLOTS, SLOTS),
    ] {
        let drops = Cell::new(0);
        let blocks = Blocks::<Counted<'_>>::new(None);
        for number in 0..pushed {
            assert!(push(&blocks, Counted(number, &drops)));
        }
        for _ in 0..popped {
            assert!(catch_unwind(AssertUnwindSafe(|| drop(pop(&blocks)))).is_ok() || popped > 0);
        }
        assert_eq!(drops.get(), popped);
        let result = catch_unwind(AssertUnwindSafe(|| drop(blocks)));
        assert_eq!(result.is_err(), pushed > popped, "{pushed} {popped}");
        assert_eq!(drops.get(), pushed);
    }
}

#[test]
fn storage_dropped_by_an_unwinding_thread_does_not_abort() {
    let drops = Cell::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let blocks = Blocks::<Counted<'_>>::new(None);
        for number in 0..2 * SLOTS {
            assert!(push(&blocks, Counted(number, &drops)));
        }
        panic!("another panic");
    }));
    assert!(result.is_err());
    assert_eq!(drops.get(), 2 * SLOTS);
}

#[test]
fn messages_of_every_size_and_alignment_come_back_whole() {
    #[derive(Debug, PartialEq)]
    #[repr(align(256))]
    struct Aligned(u8);

    let units = Blocks::<()>::new(None);
    for _ in 0..100 {
        assert!(push(&units, ()));
    }
    assert_eq!(units.words().len(), 100);
    assert_eq!(std::iter::from_fn(|| pop(&units)).count(), 100);
    let pages = Blocks::<[u8; 4_096]>::new(None);
    for number in 0..100 {
        assert!(push(&pages, [number; 4_096]));
    }
    for number in 0..100 {
        assert_eq!(pop(&pages), Some([number; 4_096]));
    }
    let aligned = Blocks::<Aligned>::new(None);
    assert!(push(&aligned, Aligned(7)));
    assert_eq!(pop(&aligned), Some(Aligned(7)));
    // A block of these does not fit the stack of a thread.
    let large = Blocks::<[u8; 64 * 1_024]>::new(None);
    assert!(push(&large, [7; 64 * 1_024]));
    assert_eq!(pop(&large).map(|message| message[1]), Some(7));
}

/// S7, S8, S9.
#[test]
fn closed_storage_gives_values_back_and_ends_after_the_last_permit() {
    let blocks = Blocks::<u32>::new(None);
    assert!(push(&blocks, 1));
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
    assert_eq!(blocks.words().close(), Closing::First);
    assert!(matches!(blocks.push(2, Turn::Newcomer), Push::Closed(2)));
    assert!(matches!(blocks.push(2, Turn::Queued), Push::Closed(2)));
    assert_eq!(blocks.reserve(Turn::Queued), Reserve::Closed);
    assert_eq!(blocks.words().overdraw(), Reserve::Closed);
    assert!(matches!(blocks.pop(), Pop::Got(1, false)));
    assert!(matches!(blocks.pop(), Pop::Empty));
    assert_eq!(blocks.redeem(3), Ok(Told::Nobody));
    assert!(matches!(blocks.pop(), Pop::Got(3, false)));
    assert!(matches!(blocks.pop(), Pop::Empty));
    assert_eq!(blocks.words().leave(), Closing::Again);
    assert_eq!(blocks.redeem(4), Err(4));
    assert!(matches!(blocks.pop(), Pop::Closed));
}

#[test]
fn sender_that_waits_shuts_newcomers_out_and_is_told_of_room() {
    let blocks = Blocks::<u32>::new(Some(1));
    assert!(push(&blocks, 1));
    let _ = blocks.words().sender_parks();
    assert!(matches!(blocks.push(2, Turn::Newcomer), Push::Queue(2)));
    assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Queue);
    assert!(matches!(blocks.push(2, Turn::Queued), Push::Full(2)));
    assert!(matches!(blocks.pop(), Pop::Got(1, true)));
    assert!(matches!(
        blocks.push(2, Turn::Queued),
        Push::Done(Told::Nobody)
    ));
}

#[test]
fn store_is_a_ring_up_to_its_most_and_blocks_beyond() {
    assert!(matches!(Store::<u8>::bounded(RING_MOST), Store::Ring(_)));
    let large = Store::<u8>::bounded(RING_MOST + 1);
    assert!(matches!(large, Store::Blocks(_)));
    assert_eq!(large.words().capacity(), Some(RING_MOST + 1));
    let unbounded = Store::<u8>::unbounded();
    assert_eq!(unbounded.words().capacity(), None);
    assert!(matches!(unbounded, Store::Blocks(_)));
}
