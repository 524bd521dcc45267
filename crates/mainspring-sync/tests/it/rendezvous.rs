//! Threads that meet: what each of them saw, put together, must be one story.

use crate::story::{Message, check_order, seeds};
use futures_core::Stream;
use mainspring_core::random::Random;
use mainspring_sync::channel::rendezvous::{Receiver, Sender};
use mainspring_sync::channel::{self, RecvTimeoutError};
use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_micros(50);

/// Sends in every way there is, to the end; returns what was sent.
fn produce(
    producer: usize,
    tx: &Sender<Message>,
    seed: u64,
    messages: u32,
    alive: &Arc<AtomicUsize>,
) -> Vec<(usize, u32)> {
    let mut random = Random::from_seed(seed);
    let mut sent = Vec::new();
    for number in 0..messages {
        let id = (producer, number);
        let message = Message::new(id, alive);
        let is_sent = match random.below(6) {
            0 => tx.try_send(message).is_ok(),
            1 => tx.send_timeout(message, SHORT).is_ok(),
            2 => {
                // Polled twice and given up.
                let mut send = pin!(tx.send(message));
                let mut cx = Context::from_waker(Waker::noop());
                match send.as_mut().poll(&mut cx) {
                    Poll::Ready(sent) => sent.is_ok(),
                    Poll::Pending => {
                        thread::yield_now();
                        send.as_mut().take().is_none()
                    }
                }
            }
            _ => tx.send_blocking(message).is_ok(),
        };
        if is_sent {
            sent.push(id);
        }
    }
    sent
}

/// Receives in every way there is, to the end.
fn consume(rx: &mut Receiver<Message>, seed: u64, limit: usize) -> Vec<(usize, u32)> {
    let mut random = Random::from_seed(seed);
    let mut received = Vec::new();
    while received.len() < limit {
        let message = match random.below(5) {
            0 => rx.try_recv().ok(),
            1 => {
                // Polled once and given up.
                let mut recv = pin!(rx.recv());
                match recv.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(message)) => Some(message),
                    Poll::Ready(Err(_)) => return received,
                    Poll::Pending => None,
                }
            }
            3 => {
                // As a stream, whose place stays.
                let mut cx = Context::from_waker(Waker::noop());
                match Pin::new(&mut *rx).poll_next(&mut cx) {
                    Poll::Ready(Some(message)) => Some(message),
                    Poll::Ready(None) => return received,
                    Poll::Pending => None,
                }
            }
            2 => match rx.recv_timeout(SHORT) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Closed) => return received,
                Err(_) => None,
            },
            _ => match rx.recv_blocking() {
                Ok(message) => Some(message),
                Err(_) => return received,
            },
        };
        received.extend(message.map(|message| message.id));
    }
    received
}

/// `limit`: after so many messages a consumer goes, and with the last one the channel.
fn run(producers: usize, consumers: usize, limit: usize, seed: u64) {
    let alive = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = channel::rendezvous();
    let (sent, received) = thread::scope(|scope| {
        let senders: Vec<_> = (0..producers)
            .map(|producer| {
                let (tx, alive) = (tx.clone(), &alive);
                let seed = seed.wrapping_add(producer as u64).wrapping_mul(3);
                scope.spawn(move || produce(producer, &tx, seed, 500, alive))
            })
            .collect();
        drop(tx);
        let receivers: Vec<_> = (0..consumers)
            .map(|consumer| {
                let mut rx = rx.clone();
                let seed = seed.wrapping_add(consumer as u64).wrapping_mul(7);
                scope.spawn(move || consume(&mut rx, seed, limit))
            })
            .collect();
        drop(rx);
        let sent: Vec<_> = senders.into_iter().map(|s| s.join().unwrap()).collect();
        let received: Vec<_> = receivers.into_iter().map(|r| r.join().unwrap()).collect();
        (sent.concat(), received)
    });
    assert_eq!(alive.load(Relaxed), 0, "seed {seed}: a message was kept");
    check_order(&received, producers, seed);
    // What was sent is what was received, each once.
    let received = received.concat();
    let set: BTreeSet<_> = received.iter().copied().collect();
    assert_eq!(set.len(), received.len(), "seed {seed}: received twice");
    let sent: BTreeSet<_> = sent.into_iter().collect();
    assert_eq!(set, sent, "seed {seed}: lost, or made up");
}

// WITNESS: meeting.once, meeting.seat, letter.owner
/// S9, B169, B172: `MAINSPRING_SEED=n cargo test -p mainspring-sync rendezvous` replays a run.
#[test]
fn history_of_a_rendezvous_is_one_story() {
    for seed in seeds(6) {
        for (producers, consumers) in [(1, 1), (3, 1), (1, 3), (3, 3)] {
            run(producers, consumers, usize::MAX, seed);
        }
    }
}

// WITNESS: meeting.last, meeting.closed
/// S9, S10, B160: the receivers go while the senders are at work.
#[test]
fn end_of_a_rendezvous_in_the_middle_conserves_the_messages() {
    for seed in seeds(40) {
        run(2, 2, seed as usize % 40, seed);
    }
}
