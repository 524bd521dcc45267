//! What carries no message, or the latest alone.

use crate::hosts::{Host, all, yield_now};
use mainspring_sync::{Barrier, Lazy, Notify, OnceCell, SetOnce, WaitGroup, watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(crate) fn notify_plays_ping_pong<H: Host>() {
    H::block_on(async {
        let pair = Arc::new((Notify::new(), Notify::new()));
        let theirs = Arc::clone(&pair);
        let other = H::spawn(async move {
            for _ in 0..200 {
                theirs.0.notified().await;
                theirs.1.notify_one();
            }
            // Several at once, all released.
            theirs.0.notified().await;
            theirs.1.notify_all();
        });
        for _ in 0..200 {
            pair.0.notify_one();
            pair.1.notified().await;
        }
        let wait = |_| {
            // It counts from here.
            let released = {
                let pair = Arc::clone(&pair);
                let mut released = Box::pin(async move { pair.1.notified().await });
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(released.as_mut().poll(&mut cx).is_pending());
                released
            };
            H::spawn(released)
        };
        let tasks = (0..4).map(wait).collect();
        pair.0.notify_one();
        all(tasks).await;
        other.await;
    });
}

pub(crate) fn watch_ends_with_the_last_value<H: Host>() {
    H::block_on(async {
        let (tx, rx) = watch::channel(0);
        let look = |_| {
            let mut rx = rx.clone();
            H::spawn(async move {
                assert!(*rx.wait_for(|value| *value >= 50).await.unwrap() >= 50);
                let mut last = 0;
                while rx.changed().await.is_ok() {
                    // One that came since counts as seen, too.
                    let value = *rx.borrow_and_update();
                    assert!(value > last);
                    last = value;
                }
                *rx.borrow()
            })
        };
        let tasks = (0..3).map(look).collect();
        for value in 1..=100 {
            tx.send(value);
            yield_now().await;
        }
        drop(rx);
        drop(tx);
        assert_eq!(all(tasks).await, [100; 3]);
    });
}

pub(crate) fn barrier_has_one_leader_a_round<H: Host>() {
    const ROUNDS: usize = 30;
    H::block_on(async {
        let (barrier, leaders) = (Arc::new(Barrier::new(4)), Arc::new(AtomicUsize::new(0)));
        let meet = |_| {
            let (barrier, leaders) = (Arc::clone(&barrier), Arc::clone(&leaders));
            H::spawn(async move {
                for round in 0..ROUNDS {
                    let is_leader = barrier.wait().await.is_leader();
                    leaders.fetch_add(usize::from(is_leader), Relaxed);
                    // Nobody is a round ahead of those whom it meets here.
                    barrier.wait().await;
                    assert_eq!(leaders.load(Relaxed), round + 1);
                    barrier.wait().await;
                }
            })
        };
        all((0..4).map(meet).collect()).await;
    });
}

pub(crate) fn wait_group_waits_for_all<H: Host>() {
    H::block_on(async {
        let (group, ended) = (WaitGroup::new(), Arc::new(AtomicUsize::new(0)));
        let work = |turns| {
            let (worker, ended) = (group.worker(), Arc::clone(&ended));
            H::spawn(async move {
                for _ in 0..turns {
                    yield_now().await;
                }
                ended.fetch_add(1, Relaxed);
                drop(worker);
            })
        };
        let tasks = (0..10).map(work).collect();
        group.wait().await;
        assert_eq!(ended.load(Relaxed), 10);
        all(tasks).await;
    });
}

pub(crate) fn cells_are_made_once<H: Host>() {
    H::block_on(async {
        let made = Arc::new(AtomicUsize::new(0));
        let (cell, once) = (Arc::new(OnceCell::new()), Arc::new(SetOnce::new()));
        let make = |number: usize| {
            let (cell, once) = (Arc::clone(&cell), Arc::clone(&once));
            let made = Arc::clone(&made);
            H::spawn(async move {
                let start = || async {
                    made.fetch_add(1, Relaxed);
                    yield_now().await;
                    7
                };
                assert_eq!(*cell.get_or_init(start).await, 7);
                if number == 3 {
                    once.set(8).unwrap();
                }
                *once.wait().await
            })
        };
        assert_eq!(all((0..6).map(make).collect()).await, [8; 6]);
        assert_eq!(made.load(Relaxed), 1);
        let lazy = Arc::new(Lazy::new(|| async {
            yield_now().await;
            9
        }));
        let theirs = Arc::clone(&lazy);
        let other = H::spawn(async move { *theirs.wait().await });
        assert_eq!((*lazy.wait().await, other.await), (9, 9));
    });
}
