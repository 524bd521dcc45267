//! Threads that push and pop at once, with nothing between them but the storage.

use super::count;
use crate::channel::blocks::Blocks;
use crate::channel::ring::{Pop, Push};
use crate::channel::words::Reserve;
use crate::channel::words::Turn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

const PUSHERS: usize = 3;
const POPPERS: usize = 3;
const EACH: usize = 20_000;

/// Counts its drops.
struct Message {
    pusher: usize,
    number: usize,
    drops: Arc<AtomicUsize>,
}

impl Drop for Message {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
    }
}

/// Each third message goes by way of a permit.
fn send(blocks: &Blocks<Message>, mut message: Message) {
    if message.number % 3 == 0 {
        while blocks.reserve(Turn::Newcomer) != Reserve::Held {
            thread::yield_now();
        }
        let sent = blocks.redeem(message);
        assert!(sent.is_ok(), "nobody has left");
        return;
    }
    loop {
        message = match blocks.push(message, Turn::Newcomer) {
            Push::Done(_) => return,
            Push::Full(message) => message,
            _ => panic!("nobody closed it, nobody waits, and no push is told Busy"),
        };
        thread::yield_now();
    }
}

/// Receives until the end; the messages of each pusher come in its order.
fn receive(blocks: &Blocks<Message>) -> Vec<(usize, usize)> {
    let mut received = Vec::new();
    let mut last = [None; PUSHERS];
    loop {
        match blocks.pop() {
            Pop::Got(message, _) => {
                let before = last[message.pusher].replace(message.number);
                assert!(before < Some(message.number), "out of order");
                received.push((message.pusher, message.number));
            }
            Pop::Empty | Pop::Busy => thread::yield_now(),
            Pop::Closed => return received,
        }
    }
}

fn exchange(capacity: Option<usize>) {
    let blocks = Arc::new(Blocks::<Message>::new(capacity));
    let drops = Arc::new(AtomicUsize::new(0));
    let pushers: Vec<_> = (0..PUSHERS)
        .map(|pusher| {
            let (blocks, drops) = (Arc::clone(&blocks), Arc::clone(&drops));
            thread::spawn(move || {
                for number in 0..EACH {
                    let drops = Arc::clone(&drops);
                    send(
                        &blocks,
                        Message {
                            pusher,
                            number,
                            drops,
                        },
                    );
                }
            })
        })
        .collect();
    let poppers: Vec<_> = (0..POPPERS)
        .map(|_| {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || receive(&blocks))
        })
        .collect();
    for pusher in pushers {
        pusher.join().unwrap();
    }
    let _ = blocks.words().close();
    let mut received: Vec<_> = poppers
        .into_iter()
        .flat_map(|popper| popper.join().unwrap())
        .collect();
    received.sort_unstable();
    let sent: Vec<_> = (0..PUSHERS)
        .flat_map(|pusher| (0..EACH).map(move |number| (pusher, number)))
        .collect();
    assert!(received == sent, "each message once");
    assert_eq!(drops.load(Relaxed), sent.len());
    let count = count(&blocks);
    assert_eq!(count.linked, 1);
    assert!(count.spare <= 2, "blocks.few: {count:?}");
    assert!(count.ended <= POPPERS, "blocks.few: {count:?}");
    drop(blocks);
    assert_eq!(drops.load(Relaxed), sent.len());
}

// WITNESS: blocks.owner, blocks.pinned, blocks.few
/// S9: exactly once, in each pusher's order.
#[test]
fn threads_exchange_each_message_once_in_order() {
    exchange(None);
    exchange(Some(40));
}

// WITNESS: blocks.dropped
/// B160, B164: pushes go on while the storage is drained and let go of.
#[test]
fn threads_that_push_while_the_last_receiver_leaves_lose_nothing() {
    for round in 0..200 {
        let blocks = Arc::new(Blocks::<Message>::new(None));
        let drops = Arc::new(AtomicUsize::new(0));
        let start = Arc::new(std::sync::Barrier::new(3));
        let pushers = [0, 1].map(|pusher| {
            let (blocks, drops) = (Arc::clone(&blocks), Arc::clone(&drops));
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                for number in 0..70 {
                    let drops = Arc::clone(&drops);
                    // Done, or given back and dropped here.
                    drop(blocks.push(
                        Message {
                            pusher,
                            number,
                            drops,
                        },
                        Turn::Newcomer,
                    ));
                }
            })
        });
        start.wait();
        for _ in 0..round % 70 {
            drop(blocks.pop());
        }
        let _ = blocks.words().leave();
        loop {
            match blocks.pop() {
                Pop::Got(message, _) => drop(message),
                Pop::Busy => thread::yield_now(),
                Pop::Empty | Pop::Closed => break,
            }
        }
        drop(blocks);
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert_eq!(drops.load(Relaxed), 140);
    }
}
