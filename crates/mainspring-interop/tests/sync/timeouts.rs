//! The executor's own time-outs around futures that are safe to drop, and what is there afterwards.

use crate::hosts::{Host, all, yield_now};
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
