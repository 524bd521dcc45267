//! Senders as sinks: through the suite, each with a sender of its own, and kept after a `send` was
//! dropped while it waited.

use super::channels::{Senders, Way};
use super::{LARGE, UNBOUNDED, now, open};
use futures_sink::Sink;
use mainspring_core::random::Random;
use mainspring_sync::channel::{Receiver, Sender};
use mainspring_testkit::{Consumer, Hand, History, Producer, Stamp, block_on, conformance, seeded};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::thread;

conformance! { mod sink_to_one: super::Senders<1, super::Feed>; }
conformance! { mod sink_to_four: super::Senders<4, super::Feed>; }
conformance! { mod sink_to_many: super::Senders<{ super::LARGE }, super::Feed>; }

/// As `send` of the futures crates: ready, the item, flushed.
async fn feed<T: Send>(tx: &mut Sender<T>, item: T) -> bool {
    if poll_fn(|cx| Pin::new(&mut *tx).poll_ready(cx))
        .await
        .is_err()
    {
        return false;
    }
    let sent = Pin::new(&mut *tx).start_send(item);
    sent.is_ok()
        && poll_fn(|cx| Sink::<T>::poll_flush(Pin::new(&mut *tx), cx))
            .await
            .is_ok()
}

pub(super) struct Feed;

impl Way<Sender<u8>> for Feed {
    async fn wait(sender: &Sender<u8>) -> bool {
        let mut sink = sender.clone();
        feed(&mut sink, 0).await
    }
}

/// S1: room that came for a `send` that was dropped is had by the same sender's next one, and by
/// whoever waits behind it.
#[test]
fn room_of_a_send_that_was_dropped_is_not_lost() {
    for by_another in [false, true] {
        let (mut tx, rx) = open(1);
        tx.try_send(0).unwrap();
        assert_eq!(now(feed(&mut tx, 1)), None);
        let (kept, mine) = if by_another {
            (tx.clone(), tx)
        } else {
            (tx, open(1).0)
        };
        assert_eq!(rx.try_recv(), Ok(0));
        let mut send = Hand::new(async move { kept.send(2).await.is_ok() });
        if by_another {
            assert!(send.poll().is_pending());
            assert!(mine.try_send(3).is_err(), "the other one waited before");
            assert!(send.is_woken());
        }
        assert_eq!(send.poll(), Poll::Ready(true));
        assert_eq!(rx.try_recv(), Ok(2));
    }
}

/// Values of each producer.
const VALUES: u32 = 400;

fn produce(tx: &mut Sender<Stamp>, producer: &mut Producer, random: &mut Random) {
    for _ in 0..VALUES {
        let stamp = producer.stamp();
        match random.below(4) {
            0 => {
                // Waits for room, and gives that up before it has any.
                let ready = now(poll_fn(|cx| Pin::new(&mut *tx).poll_ready(cx)));
                match ready {
                    Some(ready) => {
                        ready.unwrap();
                        Pin::new(&mut *tx).start_send(stamp).unwrap();
                    }
                    None => producer.returned(stamp),
                }
            }
            1 => assert!(block_on(feed(tx, stamp))),
            2 => match tx.try_send(stamp) {
                Ok(()) => {}
                Err(back) => producer.returned(back.into_inner()),
            },
            _ => tx.send_blocking(stamp).unwrap(),
        }
        if random.below(8) == 0 {
            thread::yield_now();
        }
    }
}

fn consume(rx: &Receiver<Stamp>, consumer: &Consumer, random: &mut Random) {
    while let Ok(stamp) = rx.recv_blocking() {
        consumer.received(stamp);
        if random.below(8) == 0 {
            thread::yield_now();
        }
    }
}

/// S1, S2, S9: senders that are sinks at times, and give that up.
#[test]
fn chaos_of_sinks_keeps_the_history() {
    seeded(|random| {
        for (producers, consumers, capacity) in [
            (1, 1, 1),
            (3, 1, 1),
            (3, 2, 2),
            (2, 2, LARGE),
            (2, 2, UNBOUNDED),
        ] {
            let history = History::new();
            let (tx, rx) = open(capacity);
            thread::scope(|scope| {
                for _ in 0..producers {
                    let mut tx = tx.clone();
                    let (mut producer, mut random) = (history.producer(), random.fork());
                    scope.spawn(move || produce(&mut tx, &mut producer, &mut random));
                }
                for _ in 0..consumers {
                    let rx = rx.clone();
                    let (consumer, mut random) = (history.consumer(), random.fork());
                    scope.spawn(move || consume(&rx, &consumer, &mut random));
                }
                drop(tx);
            });
            let verdict = history.verdict();
            assert_eq!(verdict.values, producers * VALUES as usize);
            verdict.assert_clean();
        }
    });
}
