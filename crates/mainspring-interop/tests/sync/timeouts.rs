//! The executor's own time-outs around futures that are safe to drop, and what is there afterwards.

use crate::hosts::{Host, all, yield_now};
use futures_util::{SinkExt, StreamExt};
use mainspring_sync::{Condvar, Mutex, Notify, RwLock, Semaphore, channel};
use mainspring_testkit::History;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Some are over before, some after what they wait for; which ones does not matter.
fn limit(round: usize) -> Duration {
    Duration::from_micros([0, 20, 200, 3_000][round % 4])
}

pub(crate) fn timed_out_receives_lose_nothing<H: Host>() {
    const MESSAGES: usize = 150;
    let history = History::new();
    H::block_on(async {
        let (tx, rx) = channel::bounded(1);
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let (tx, mut producer) = (tx.clone(), history.producer());
            tasks.push(H::spawn(async move {
                for round in 0..MESSAGES {
                    // A reservation that is dropped has taken nothing, and no message with it.
                    let permit = match H::timeout(limit(round), tx.reserve()).await {
                        Some(permit) => permit.unwrap(),
                        None => tx.reserve().await.unwrap(),
                    };
                    permit.send(producer.stamp()).unwrap();
                }
            }));
        }
        drop(tx);
        for _ in 0..2 {
            let (rx, consumer) = (rx.clone(), history.consumer());
            tasks.push(H::spawn(async move {
                let mut buffer = Vec::new();
                for round in 0.. {
                    match H::timeout(limit(round), rx.recv()).await {
                        Some(Ok(stamp)) => consumer.received(stamp),
                        Some(Err(_)) => return,
                        None => {}
                    }
                    let many = rx.recv_many(&mut buffer, 2);
                    let is_over = H::timeout(limit(round + 1), many).await;
                    buffer.drain(..).for_each(|stamp| consumer.received(stamp));
                    if matches!(is_over, Some(Err(_))) {
                        return;
                    }
                }
            }));
        }
        all(tasks).await;
    });
    let verdict = history.verdict();
    assert_eq!(verdict.values, 2 * MESSAGES);
    verdict.assert_clean();
}

pub(crate) fn timed_out_permits_come_back<H: Host>() {
    const PERMITS: usize = 3;
    for semaphore in [Semaphore::new(PERMITS), Semaphore::strict(PERMITS)] {
        let semaphore = Arc::new(semaphore);
        H::block_on(async {
            let ask = |weight: usize| {
                let semaphore = Arc::clone(&semaphore);
                H::spawn(async move {
                    for round in 0..60 {
                        let asked = semaphore.acquire(weight);
                        let permit = H::timeout(limit(round + weight), asked).await;
                        yield_now().await;
                        drop(permit);
                    }
                })
            };
            all([1, 2, 3, 1, 2].map(ask).into()).await;
        });
        assert_eq!(semaphore.available(), PERMITS);
        assert!(semaphore.diagnose().offers.is_empty());
    }
}

pub(crate) fn timed_out_locks_are_free<H: Host>() {
    let shared = Arc::new((Mutex::new(0), RwLock::new(0), Condvar::new()));
    let count = Arc::new(AtomicUsize::new(0));
    H::block_on(async {
        let work = |_| {
            let (shared, count) = (Arc::clone(&shared), Arc::clone(&count));
            H::spawn(async move {
                let (mutex, lock, changed) = &*shared;
                for round in 0..60 {
                    if let Some(mut value) = H::timeout(limit(round), mutex.lock()).await {
                        *value += 1;
                        count.fetch_add(1, Relaxed);
                        yield_now().await;
                        changed.notify_one();
                        let wait = changed.wait(value);
                        drop(H::timeout(limit(round + 1), wait).await);
                    }
                    if let Some(mut value) = H::timeout(limit(round), lock.write()).await {
                        *value += 1;
                        count.fetch_add(1, Relaxed);
                        yield_now().await;
                    }
                    drop(H::timeout(limit(round + 2), lock.read()).await);
                }
            })
        };
        all((0..4).map(work).collect()).await;
    });
    let value = *shared.0.try_lock().expect("it is free");
    let written = *shared.1.try_write().expect("it is free");
    assert_eq!(value + written, count.load(Relaxed));
}

/// Each notification lets one go; one that was dropped with it in its hands passes it on.
pub(crate) fn timed_out_notifications_are_passed_on<H: Host>() {
    const TURNS: usize = 100;
    let (notify, taken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    H::block_on(async {
        let wait = |_| {
            let (notify, taken) = (Arc::clone(&notify), Arc::clone(&taken));
            H::spawn(async move {
                for round in 0.. {
                    if taken.load(Relaxed) >= TURNS {
                        return;
                    }
                    if H::timeout(limit(round), notify.notified()).await.is_some() {
                        taken.fetch_add(1, Relaxed);
                    }
                }
            })
        };
        let tasks = (0..3).map(wait).collect();
        for turn in 0..TURNS {
            notify.notify_one();
            // One at a time: two that find nobody are one.
            while taken.load(Relaxed) <= turn {
                yield_now().await;
            }
        }
        all(tasks).await;
    });
    assert_eq!(taken.load(Relaxed), TURNS);
}

/// As streams, in turns with `recv` of the same receiver, which is not to wait behind what a `next`
/// left there.
pub(crate) fn timed_out_streams_are_in_nobodys_way<H: Host>() {
    const MESSAGES: usize = 150;
    let history = History::new();
    H::block_on(async {
        let (tx, rx) = channel::bounded(1);
        let (meets, met) = channel::rendezvous();
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let (tx, mut producer) = (tx.clone(), history.producer());
            let (meets, mut other) = (meets.clone(), history.producer());
            tasks.push(H::spawn(async move {
                for round in 0..MESSAGES {
                    tx.send(producer.stamp()).await.unwrap();
                    if round % 7 == 0 {
                        // Those who wait come to be dropped.
                        drop(H::timeout(limit(round), std::future::pending::<()>()).await);
                    }
                    meets.send(other.stamp()).await.unwrap();
                }
            }));
        }
        drop((tx, meets));
        macro_rules! consume {
            ($rx:expr) => {{
                let (mut rx, consumer) = ($rx.clone(), history.consumer());
                H::spawn(async move {
                    for round in 0.. {
                        match H::timeout(limit(round), rx.next()).await {
                            Some(Some(stamp)) => consumer.received(stamp),
                            Some(None) => return,
                            None => {}
                        }
                        match rx.recv().await {
                            Ok(stamp) => consumer.received(stamp),
                            Err(_) => return,
                        }
                    }
                })
            }};
        }
        for _ in 0..2 {
            tasks.push(consume!(rx));
            tasks.push(consume!(met));
        }
        drop((rx, met));
        all(tasks).await;
    });
    let verdict = history.verdict();
    assert_eq!(verdict.values, 4 * MESSAGES);
    verdict.assert_clean();
}

/// A sink's place that was given up keeps no room from the same sender's `send`.
pub(crate) fn timed_out_sinks_give_their_room_up<H: Host>() {
    const MESSAGES: usize = 150;
    H::block_on(async {
        let (tx, rx) = channel::bounded(1);
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let mut tx = tx.clone();
            tasks.push(H::spawn(async move {
                let mut sent = 0;
                for round in 0..MESSAGES {
                    // One that is dropped takes its message along.
                    let send = SinkExt::send(&mut tx, ());
                    let is_sent = H::timeout(limit(round), send).await.is_some();
                    tx.send(()).await.unwrap();
                    sent += 1 + usize::from(is_sent);
                }
                sent
            }));
        }
        drop(tx);
        let receiver = H::spawn(async move {
            let mut received = 0;
            while rx.recv().await.is_ok() {
                received += 1;
                if received % 5 == 0 {
                    drop(H::timeout(limit(2), std::future::pending::<()>()).await);
                }
            }
            received
        });
        let sent: usize = all(tasks).await.into_iter().sum();
        assert_eq!(receiver.await, sent);
    });
}
