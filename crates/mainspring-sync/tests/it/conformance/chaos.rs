//! Channels between threads that yield at random and give up what they wait for:
//! `MAINSPRING_SEED=n cargo test -p mainspring-sync chaos` replays the choices of a run.

use super::{LARGE, UNBOUNDED, open};
use futures_core::Stream;
use mainspring_core::random::Random;
use mainspring_sync::channel::{Closed, Receiver, Sender};
use mainspring_testkit::{Consumer, History, Producer, Stamp, block_on, seeded};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::thread;

/// Values of each producer.
const VALUES: u32 = 400;

/// Waits on this thread, through so many polls at most, some of which nobody woke it for; `None` if
/// it gave up, which leaves the future as it is.
fn patiently<F: Future>(mut future: Pin<&mut F>, random: &mut Random) -> Option<F::Output> {
    let mut polls = random.below(4);
    block_on(poll_fn(move |cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            thread::yield_now();
            if random.below(2) == 0 {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        }
    }))
}

fn produce(tx: &Sender<Stamp>, producer: &mut Producer, random: &mut Random) {
    let mut left = VALUES;
    while left > 0 {
        let stamp = producer.stamp();
        left -= 1;
        let back = match random.below(7) {
            0 => {
                let mut send = pin!(tx.send(stamp));
                match patiently(send.as_mut(), random) {
                    Some(sent) => sent.err().map(|back| back.into_inner()),
                    None => Some(send.take().expect("it gave up before it had sent")),
                }
            }
            1 => match patiently(pin!(tx.reserve()), random) {
                Some(Ok(permit)) => {
                    if random.below(2) == 0 {
                        thread::yield_now();
                    }
                    permit.send(stamp).err().map(|back| back.into_inner())
                }
                Some(Err(Closed)) | None => Some(stamp),
            },
            2 => {
                // Held for a while and not used: the room goes to others.
                drop(patiently(pin!(tx.reserve()), random));
                Some(stamp)
            }
            3 => {
                let mut many = vec![stamp];
                for _ in 0..random.below(3).min(left) {
                    left -= 1;
                    many.push(producer.stamp());
                }
                send_many(tx, many, producer, random);
                None
            }
            4 => tx.try_send(stamp).err().map(|back| back.into_inner()),
            5 => tx.send_blocking(stamp).err().map(|back| back.into_inner()),
            _ => {
                let sent = block_on(tx.send(stamp));
                sent.err().map(|back| back.into_inner())
            }
        };
        if let Some(stamp) = back {
            producer.returned(stamp);
        }
        if random.below(8) == 0 {
            thread::yield_now();
        }
    }
}

fn send_many(tx: &Sender<Stamp>, many: Vec<Stamp>, producer: &Producer, random: &mut Random) {
    let mut send = pin!(tx.send_many(many));
    let unsent = match patiently(send.as_mut(), random) {
        Some(Ok(_)) => return,
        Some(Err(error)) => error.unsent,
        None => send.take().expect("it gave up before it had sent all"),
    };
    for stamp in unsent {
        producer.returned(stamp);
    }
}

fn consume(rx: &mut Receiver<Stamp>, consumer: &Consumer, random: &mut Random) {
    let mut buffer = Vec::new();
    loop {
        let received = match random.below(7) {
            0 => patiently(pin!(rx.recv()), random),
            1 => {
                let many = patiently(pin!(rx.recv_many(&mut buffer, 3)), random);
                assert_eq!(buffer.len(), many.unwrap_or(Ok(0)).unwrap_or(0));
                buffer.drain(..).for_each(|stamp| consumer.received(stamp));
                many.and_then(|many| many.err()).map(Err)
            }
            2 => rx.try_recv().ok().map(Ok),
            3 => {
                rx.drain().for_each(|stamp| consumer.received(stamp));
                None
            }
            4 => Some(rx.recv_blocking()),
            // What it leaves behind is in the way of whatever comes next.
            5 => {
                let next = poll_fn(|cx| Pin::new(&mut *rx).poll_next(cx));
                patiently(pin!(next), random).map(|next| next.ok_or(Closed))
            }
            _ => Some(block_on(rx.recv())),
        };
        match received {
            Some(Ok(stamp)) => consumer.received(stamp),
            Some(Err(Closed)) => return,
            None => {}
        }
        if random.below(8) == 0 {
            thread::yield_now();
        }
    }
}

/// One run; with `closes`, somebody closes the channel in the middle.
fn run(producers: usize, consumers: usize, capacity: usize, closes: bool, random: &mut Random) {
    let history = History::new();
    let (tx, rx) = open(capacity);
    thread::scope(|scope| {
        for _ in 0..producers {
            let (tx, mut producer, mut random) = (tx.clone(), history.producer(), random.fork());
            scope.spawn(move || produce(&tx, &mut producer, &mut random));
        }
        for _ in 0..consumers {
            let (mut rx, consumer, mut random) = (rx.clone(), history.consumer(), random.fork());
            scope.spawn(move || consume(&mut rx, &consumer, &mut random));
        }
        if closes {
            for _ in 0..random.below(300) {
                thread::yield_now();
            }
            rx.close();
        }
        drop(tx);
    });
    assert!(rx.is_empty());
    let verdict = history.verdict();
    assert_eq!(verdict.values, producers * VALUES as usize);
    verdict.assert_clean();
}

/// S1, S2, S9: nothing is lost, doubled, made up or overtaken, whoever gives up when.
#[test]
fn chaos_keeps_the_history() {
    seeded(|random| {
        for (producers, consumers, capacity) in [
            (1, 1, 1),
            (2, 2, 1),
            (3, 1, 2),
            (1, 3, 2),
            (2, 2, 7),
            (2, 2, LARGE),
            (2, 2, UNBOUNDED),
        ] {
            for _ in 0..4 {
                run(producers, consumers, capacity, false, random);
            }
        }
    });
}

/// The same, and what comes too late is handed back.
#[test]
fn chaos_with_a_close_keeps_the_history() {
    seeded(|random| {
        for capacity in [1, 3, UNBOUNDED] {
            for _ in 0..10 {
                run(2, 2, capacity, true, random);
            }
        }
    });
}
