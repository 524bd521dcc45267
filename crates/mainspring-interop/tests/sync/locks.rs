//! Semaphores, mutexes, locks for readers and writers, condition variables.

use crate::hosts::{Host, all, yield_now};
use mainspring_sync::rwlock::OwnedRwLockWriteGuard;
use mainspring_sync::{Condvar, Mutex, RwLock, RwLockUpgradableGuard, Semaphore};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(crate) fn semaphore_bounds_what_runs<H: Host>() {
    const PERMITS: usize = 3;
    let semaphores = [
        Semaphore::new(PERMITS),
        Semaphore::strict(PERMITS),
        Semaphore::new(PERMITS).revocable(),
    ];
    for semaphore in semaphores {
        let (semaphore, at_work) = (Arc::new(semaphore), Arc::new(AtomicUsize::new(0)));
        H::block_on(async {
            let work = |weight: usize| {
                let (semaphore, at_work) = (Arc::clone(&semaphore), Arc::clone(&at_work));
                H::spawn(async move {
                    for _ in 0..20 {
                        let permit = semaphore.acquire(weight).await.unwrap();
                        let busy = at_work.fetch_add(weight, Relaxed) + weight;
                        assert!(busy <= PERMITS, "{busy} at work");
                        yield_now().await;
                        at_work.fetch_sub(weight, Relaxed);
                        drop(permit);
                    }
                })
            };
            all([1, 2, 3, 1, 2, 3, 1, 1].map(work).into()).await;
            assert_eq!(semaphore.available(), PERMITS);
            let late = semaphore.acquire_owned(1).await.unwrap();
            let waiting = {
                let semaphore = Arc::clone(&semaphore);
                H::spawn(async move { semaphore.acquire(PERMITS).await.is_err() })
            };
            yield_now().await;
            semaphore.close();
            assert!(waiting.await);
            drop(late);
        });
    }
}

pub(crate) fn mutex_lets_one_in<H: Host>() {
    let mutex = Arc::new(Mutex::new((0, 0)));
    H::block_on(async {
        let add = |_| {
            let mutex = Arc::clone(&mutex);
            H::spawn(async move {
                for _ in 0..50 {
                    let mut pair = mutex.lock().await;
                    pair.0 += 1;
                    yield_now().await;
                    pair.1 += 1;
                    assert_eq!(pair.0, pair.1);
                }
            })
        };
        all((0..8).map(add).collect()).await;
        assert_eq!(*mutex.lock().await, (400, 400));
    });
}

pub(crate) fn rwlock_shows_whole_values<H: Host>() {
    const CHANGES: u32 = 40;
    let lock = Arc::new(RwLock::new((0, 0)));
    H::block_on(async {
        let write = {
            let lock = Arc::clone(&lock);
            H::spawn(async move {
                for _ in 0..CHANGES {
                    let mut pair = Arc::clone(&lock).write_owned().await;
                    pair.0 += 1;
                    yield_now().await;
                    pair.1 += 1;
                    let pair = OwnedRwLockWriteGuard::downgrade(pair);
                    assert_eq!(pair.0, pair.1);
                }
            })
        };
        let upgrade = {
            let lock = Arc::clone(&lock);
            H::spawn(async move {
                for _ in 0..CHANGES {
                    let pair = lock.upgradable_read().await;
                    let seen = *pair;
                    let mut pair = RwLockUpgradableGuard::upgrade(pair).await;
                    assert_eq!(*pair, seen, "somebody wrote in between");
                    *pair = (pair.0 + 1, pair.1 + 1);
                }
            })
        };
        let read = |_| {
            let lock = Arc::clone(&lock);
            H::spawn(async move {
                for _ in 0..CHANGES {
                    let pair = lock.read().await;
                    assert_eq!(pair.0, pair.1);
                    yield_now().await;
                    assert_eq!(pair.0, pair.1);
                }
            })
        };
        let mut tasks: Vec<_> = (0..3).map(read).collect();
        tasks.extend([write, upgrade]);
        all(tasks).await;
        assert_eq!(*lock.read().await, (2 * CHANGES, 2 * CHANGES));
    });
}

pub(crate) fn condvar_hands_over<H: Host>() {
    const ROUNDS: u32 = 100;
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    H::block_on(async {
        let theirs = Arc::clone(&shared);
        let giver = H::spawn(async move {
            let (mutex, changed) = &*theirs;
            for round in 0..ROUNDS {
                let slot = mutex.lock().await;
                let mut slot = changed.wait_while(slot, |slot| slot.is_some()).await;
                *slot = Some(round);
                changed.notify_all();
            }
        });
        let (mutex, changed) = &*shared;
        for round in 0..ROUNDS {
            let mut slot = mutex.lock().await;
            while slot.is_none() {
                slot = changed.wait(slot).await;
            }
            assert_eq!(slot.take(), Some(round));
            changed.notify_all();
        }
        giver.await;
    });
}
