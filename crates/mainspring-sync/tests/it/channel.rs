//! Channels between threads: what every thread saw, put together, must be one story.

use crate::story::{Message, check_order, seeds};
use futures_core::Stream;
use mainspring_core::random::Random;
use mainspring_sync::channel::{self, Receiver, RecvTimeoutError, Sender, TrySendError};
use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// Sends in every way there is; returns the numbers that were sent, and those that were replaced.
fn produce(
    producer: usize,
    tx: &Sender<Message>,
    seed: u64,
    messages: u32,
    alive: &Arc<AtomicUsize>,
) -> (Vec<u32>, Vec<(usize, u32)>) {
    let mut random = Random::from_seed(seed);
    let (mut sent, mut replaced) = (Vec::new(), Vec::new());
    for number in 0..messages {
        let message = Message::new((producer, number), alive);
        let is_sent = match random.below(8) {
            0 => tx.try_send(message).is_ok(),
            1 => tx.send_timeout(message, Duration::from_micros(50)).is_ok(),
            2 => {
                // Polled once and given up.
                let mut send = pin!(tx.send(message));
                let mut cx = Context::from_waker(Waker::noop());
                let is_ready = send.as_mut().poll(&mut cx).is_ready();
                assert_eq!(send.take().is_none(), is_ready);
                is_ready
            }
            3 => match tx.try_reserve() {
                Ok(permit) => permit.send(message).is_ok(),
                Err(_) => false,
            },
            4 if random.below(4) == 0 => match tx.force_send(message) {
                Ok(old) => {
                    replaced.extend(old.map(|old| old.id));
                    true
                }
                Err(TrySendError::Full(_)) => false,
                Err(error) => panic!("{error}"),
            },
            _ => tx.send_blocking(message).is_ok(),
        };
        if is_sent {
            sent.push(number);
        }
    }
    (sent, replaced)
}

/// Receives in every way there is, to the end.
fn consume(rx: &mut Receiver<Message>, seed: u64) -> Vec<(usize, u32)> {
    let mut random = Random::from_seed(seed);
    let mut received = Vec::new();
    loop {
        match random.below(6) {
            0 => received.extend(rx.try_recv().ok().map(|m| m.id)),
            1 => received.extend(rx.drain().take(3).map(|m| m.id)),
            2 => {
                // Polled once and given up.
                let mut recv = pin!(rx.recv());
                let mut cx = Context::from_waker(Waker::noop());
                if let Poll::Ready(Ok(m)) = recv.as_mut().poll(&mut cx) {
                    received.push(m.id);
                }
            }
            4 => {
                // As a stream, whose place stays.
                let mut cx = Context::from_waker(Waker::noop());
                if let Poll::Ready(Some(m)) = Pin::new(&mut *rx).poll_next(&mut cx) {
                    received.push(m.id);
                }
            }
            3 => match rx.recv_timeout(Duration::from_micros(50)) {
                Ok(m) => received.push(m.id),
                Err(RecvTimeoutError::Closed) => return received,
                Err(_) => {}
            },
            _ => match rx.recv_blocking() {
                Ok(m) => received.push(m.id),
                Err(_) => return received,
            },
        }
    }
}

/// The capacity of a channel that has none.
const UNBOUNDED: usize = usize::MAX;

fn run(producers: usize, consumers: usize, capacity: usize, messages: u32, seed: u64) {
    let alive = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = match capacity {
        UNBOUNDED => channel::unbounded(),
        _ => channel::bounded(capacity),
    };
    let (sent, received) = thread::scope(|scope| {
        let senders: Vec<_> = (0..producers)
            .map(|producer| {
                let (tx, alive) = (tx.clone(), &alive);
                let seed = seed.wrapping_add(producer as u64).wrapping_mul(3);
                scope.spawn(move || produce(producer, &tx, seed, messages, alive))
            })
            .collect();
        drop(tx);
        let receivers: Vec<_> = (0..consumers)
            .map(|consumer| {
                let mut rx = rx.clone();
                let seed = seed.wrapping_add(consumer as u64).wrapping_mul(7);
                scope.spawn(move || consume(&mut rx, seed))
            })
            .collect();
        let sent: Vec<_> = senders.into_iter().map(|s| s.join().unwrap()).collect();
        let received: Vec<_> = receivers.into_iter().map(|r| r.join().unwrap()).collect();
        (sent, received)
    });
    assert_eq!(rx.len(), 0);
    drop(rx);
    assert_eq!(alive.load(Relaxed), 0, "seed {seed}: a message was kept");
    check_order(&received, producers, seed);
    // What was sent is what was received or replaced, each once.
    let got = received.iter().flatten().copied();
    let got: Vec<_> = got
        .chain(sent.iter().flat_map(|s| s.1.iter().copied()))
        .collect();
    let set: BTreeSet<_> = got.iter().copied().collect();
    assert_eq!(set.len(), got.len(), "seed {seed}: received twice");
    let all = sent.iter().enumerate();
    let all = all.flat_map(|(p, (numbers, _))| numbers.iter().map(move |n| (p, *n)));
    assert_eq!(set, all.collect(), "seed {seed}: lost, or made up");
}

// WITNESS: words.claim, words.capacity, slots.owner, slots.live
/// S9, B164, B169, B172: `MAINSPRING_SEED=n cargo test -p mainspring-sync history` replays a run.
#[test]
fn history_of_many_threads_is_one_story() {
    for seed in seeds(6) {
        for (producers, consumers, capacity) in [
            (1, 1, 1),
            (1, 1, 64),
            (3, 1, 2),
            (1, 3, 2),
            (3, 3, 1),
            (2, 2, 5),
            // More than a ring holds: linked blocks.
            (2, 2, 5_000),
            (1, 1, UNBOUNDED),
            (3, 3, UNBOUNDED),
        ] {
            run(producers, consumers, capacity, 2_000, seed);
        }
    }
}

/// S9, B160: the end from either side while everybody is at work.
#[test]
fn close_in_the_middle_conserves_the_messages() {
    for seed in seeds(200) {
        let alive = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = channel::bounded(2);
        let mut random = Random::from_seed(seed);
        let limit = random.below(40);
        thread::scope(|scope| {
            for producer in 0..2 {
                let (tx, alive) = (tx.clone(), &alive);
                scope.spawn(move || {
                    (0..)
                        .map(|number| tx.send_blocking(Message::new((producer, number), alive)))
                        .take_while(Result::is_ok)
                        .count()
                });
            }
            let by_close = random.below(2) == 0;
            let (rx, tx) = (rx, &tx);
            scope.spawn(move || {
                for _ in 0..limit {
                    rx.recv_blocking().expect("nobody else closes it");
                }
                if by_close {
                    rx.close();
                    while rx.recv_blocking().is_ok() {}
                    assert!(tx.is_closed());
                }
            });
        });
        assert_eq!(alive.load(Relaxed), 0, "seed {seed}: a message was kept");
    }
}
