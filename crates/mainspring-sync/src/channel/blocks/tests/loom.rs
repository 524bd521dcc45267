//! Models of the linked blocks, of two slots each. Messages are loom's counted references, and
//! blocks its allocations, so that one that is lost or freed twice shows.

use super::count;
use crate::channel::blocks::Blocks;
use crate::channel::ring::{Pop, Push};
use crate::channel::shape::Widths;
use crate::channel::words::Reserve;
use crate::channel::words::{Closing, Told, Turn};
use loom::thread;
use mainspring_core::sync::Arc;

/// Sixteen laps.
struct Tiny;

impl Widths for Tiny {
    const POSITION: u32 = 5;
    const HELD: u32 = 2;
}

type Message = Arc<u32>;
type Shared = Arc<Blocks<Message, Tiny>>;

fn blocks() -> Shared {
    Arc::new(Blocks::new(None))
}

/// For three threads, or for two that do much.
fn bounded(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn push(blocks: &Shared, number: u32) {
    match blocks.push(Arc::new(number), Turn::Newcomer) {
        Push::Done(told) => assert_eq!(told, Told::Nobody),
        _ => panic!("words.capacity: there is no bound, and nobody closed it"),
    }
}

/// Looks once; nothing was closed.
fn look(blocks: &Shared) -> Option<u32> {
    match blocks.pop() {
        Pop::Got(message, senders_wait) => {
            assert!(!senders_wait);
            Some(*message)
        }
        Pop::Empty | Pop::Busy => None,
        Pop::Closed => panic!("words.closed: nobody closed it"),
    }
}

/// Pops until there is a message.
fn pop(blocks: &Shared) -> u32 {
    loop {
        match look(blocks) {
            Some(number) => return number,
            None => thread::yield_now(),
        }
    }
}

/// Pops what is there when everybody is done.
fn rest(blocks: &Shared) -> Vec<u32> {
    std::iter::from_fn(|| look(blocks)).collect()
}

// WITNESS: blocks.owner, blocks.written, blocks.newest, blocks.claimed
#[test]
fn two_pushes_and_a_pop_across_a_boundary_deliver_each_message_once() {
    bounded(2, || {
        let blocks = blocks();
        push(&blocks, 1);
        let pushers = [2, 4].map(|number| {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || push(&blocks, number))
        });
        assert_eq!(pop(&blocks), 1);
        let second = look(&blocks).unwrap_or(0);
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert_eq!(second + rest(&blocks).iter().sum::<u32>(), 6);
    });
}

// WITNESS: blocks.newest, blocks.claimed, blocks.written
#[test]
fn pushes_that_meet_where_blocks_begin_claim_in_the_right_one() {
    bounded(4, || {
        let blocks = blocks();
        push(&blocks, 1);
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || {
                push(&blocks, 2);
                push(&blocks, 4);
            })
        };
        push(&blocks, 8);
        push(&blocks, 16);
        other.join().unwrap();
        assert_eq!(pop(&blocks), 1);
        let order = rest(&blocks);
        assert_eq!(order.iter().sum::<u32>(), 30);
        let place = |number| order.iter().position(|each| *each == number);
        assert!(place(2) < place(4) && place(8) < place(16), "{order:?}");
        assert!(count(&blocks).spare <= 1);
    });
}

// WITNESS: blocks.owner, blocks.spent, blocks.pinned, blocks.freed
#[test]
fn pops_across_a_boundary_take_each_message_once() {
    bounded(3, || {
        let blocks = blocks();
        for number in [1, 2, 4] {
            push(&blocks, number);
        }
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || look(&blocks).unwrap_or(0))
        };
        let taken = look(&blocks).unwrap_or(0) + look(&blocks).unwrap_or(0);
        let taken = taken + other.join().unwrap();
        assert_eq!(taken, 7, "all is written, so nobody may find less");
        assert_eq!(look(&blocks), None);
    });
}

// WITNESS: blocks.pinned, blocks.gate, blocks.spent
/// B163: the block in which a pop is at work when its lap ends is not given away, though laps go
/// by.
#[test]
fn pop_that_falls_behind_by_laps_finds_its_block_in_place() {
    bounded(2, || {
        let blocks = blocks();
        push(&blocks, 1);
        push(&blocks, 2);
        assert_eq!(look(&blocks), Some(1));
        push(&blocks, 4);
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || look(&blocks).unwrap_or(0))
        };
        // The first lap ends, and if the other is not inside, the third has its block again.
        let mut taken = look(&blocks).unwrap_or(0) + look(&blocks).unwrap_or(0);
        push(&blocks, 8);
        push(&blocks, 16);
        taken += other.join().unwrap();
        taken += rest(&blocks).iter().sum::<u32>();
        assert_eq!(taken, 30);
    });
}

// WITNESS: blocks.pinned, blocks.gate, blocks.spent
#[test]
fn three_pops_across_a_boundary_take_each_message_once() {
    bounded(2, || {
        let blocks = blocks();
        for number in [1, 2, 4] {
            push(&blocks, number);
        }
        let poppers = [(), ()].map(|()| {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || look(&blocks).unwrap_or(0))
        });
        let mut taken = look(&blocks).unwrap_or(0);
        for popper in poppers {
            taken += popper.join().unwrap();
        }
        assert_eq!(taken, 7, "all is written, so nobody may find less");
    });
}

// WITNESS: blocks.spent, blocks.pinned
#[test]
fn stray_that_leaves_between_two_ends_of_laps_is_done_with_its_block() {
    bounded(3, || {
        let blocks = blocks();
        for number in [1, 2, 4, 8, 16] {
            push(&blocks, number);
        }
        assert_eq!(look(&blocks), Some(1));
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || (0..4).map(|_| look(&blocks).unwrap_or(0)).sum::<u32>())
        };
        let taken = look(&blocks).unwrap_or(0);
        assert_eq!(taken + other.join().unwrap(), 30);
    });
}

// WITNESS: blocks.spent, blocks.pinned
#[test]
fn pop_that_finds_nothing_is_done_with_the_block_that_ends_next() {
    bounded(3, || {
        let blocks = blocks();
        push(&blocks, 1);
        assert_eq!(look(&blocks), Some(1));
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || look(&blocks).unwrap_or(0))
        };
        push(&blocks, 2);
        push(&blocks, 4);
        let taken = look(&blocks).unwrap_or(0) + look(&blocks).unwrap_or(0);
        assert_eq!(taken + other.join().unwrap(), 6);
    });
}

// WITNESS: blocks.written, blocks.gate
#[test]
fn stream_through_blocks_keeps_its_order() {
    for receiver_is_spawned in [false, true] {
        bounded(3, move || {
            let blocks = blocks();
            let sends = {
                let blocks = Arc::clone(&blocks);
                move || {
                    for number in 1..=3 {
                        push(&blocks, number);
                    }
                }
            };
            let receives = move || {
                for number in 1..=3 {
                    assert_eq!(pop(&blocks), number);
                }
            };
            if receiver_is_spawned {
                let receiver = thread::spawn(receives);
                sends();
                receiver.join().unwrap();
            } else {
                let sender = thread::spawn(sends);
                receives();
                sender.join().unwrap();
            }
        });
    }
}

// WITNESS: blocks.claimed, blocks.newest
#[test]
fn permit_and_push_that_meet_where_a_block_begins_get_a_slot_each() {
    loom::model(|| {
        let blocks = blocks();
        push(&blocks, 1);
        push(&blocks, 2);
        assert_eq!(blocks.reserve(Turn::Newcomer), Reserve::Held);
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || assert!(matches!(blocks.redeem(Arc::new(4)), Ok(Told::Nobody))))
        };
        push(&blocks, 8);
        other.join().unwrap();
        let order = rest(&blocks);
        assert_eq!(order[..2], [1, 2]);
        assert_eq!(order[2] + order[3], 12);
    });
}

// WITNESS: blocks.dropped, words.closed
/// B160: what is sent while the last receiver leaves is received, or given back, or dropped with
/// the storage, whoever drops that.
#[test]
fn first_push_racing_the_last_receivers_leave_and_the_drop() {
    for sent_before in [0, 1] {
        loom::model(move || {
            let blocks = blocks();
            for _ in 0..sent_before {
                push(&blocks, 1);
            }
            let sender = {
                let blocks = Arc::clone(&blocks);
                thread::spawn(move || match blocks.push(Arc::new(1), Turn::Newcomer) {
                    Push::Done(_) => 0,
                    Push::Closed(message) => *message,
                    _ => panic!("words.capacity: there is no bound"),
                })
            };
            assert_eq!(blocks.words().leave(), Closing::First);
            let mut received = 0;
            loop {
                match blocks.pop() {
                    Pop::Got(message, _) => received += *message,
                    Pop::Busy => thread::yield_now(),
                    Pop::Closed => break,
                    Pop::Empty => panic!("words.end: it was closed"),
                }
            }
            drop(blocks);
            assert_eq!(sender.join().unwrap() + received, 1 + sent_before);
        });
    }
}

// WITNESS: blocks.dropped, blocks.freed
/// B160, B164: a sender and a receiver that let go of the storage at any moment.
#[test]
fn storage_dropped_by_whoever_is_last_frees_everything() {
    for sent_before in [0, 1, 2] {
        loom::model(move || {
            let blocks = blocks();
            for _ in 0..sent_before {
                push(&blocks, 1);
            }
            let receiver = {
                let blocks = Arc::clone(&blocks);
                thread::spawn(move || look(&blocks).unwrap_or(0))
            };
            push(&blocks, 2);
            drop(blocks);
            assert!(receiver.join().unwrap() <= 2);
        });
    }
}

// WITNESS: words.closed, words.end
/// S9, where a block begins.
#[test]
fn close_at_a_boundary_decides_between_delivered_and_given_back() {
    bounded(2, || {
        let blocks = blocks();
        push(&blocks, 1);
        push(&blocks, 1);
        assert_eq!([pop(&blocks), pop(&blocks)], [1, 1]);
        let sender = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || match blocks.push(Arc::new(1), Turn::Newcomer) {
                Push::Done(_) => 1,
                Push::Closed(_) => 0,
                _ => panic!("words.capacity: there is no bound"),
            })
        };
        let closer = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || blocks.words().close())
        };
        let mut received = 0;
        loop {
            match blocks.pop() {
                Pop::Got(message, _) => received += *message,
                Pop::Closed => break,
                Pop::Empty | Pop::Busy => thread::yield_now(),
            }
        }
        assert_eq!(sender.join().unwrap(), received);
        assert_eq!(closer.join().unwrap(), Closing::First);
    });
}
