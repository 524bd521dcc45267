//! That something happened, that all are here, that a value was made.

use crate::ODDS;
use mainspring_core::sync::{Mutex, below, block_on, explore, thread, wait_or_drop};
use mainspring_sync::{Barrier, Notify, OnceCell, SetOnce, WaitGroup};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Default)]
struct Work {
    items: Mutex<Vec<u32>>,
    is_over: Mutex<bool>,
    arrived: Notify,
}

impl Work {
    /// Takes all there is, waits for more, and tells the next one when it is over.
    fn consume(&self) -> usize {
        let mut taken = 0;
        loop {
            taken += std::mem::take(&mut *self.items.lock()).len();
            if *self.is_over.lock() {
                taken += std::mem::take(&mut *self.items.lock()).len();
                self.arrived.notify_one();
                return taken;
            }
            while wait_or_drop(ODDS, self.arrived.notified()).is_none() {}
        }
    }
}

#[test]
fn notification_is_seen_or_kept_whatever_is_dropped() {
    explore(|| {
        let work = Arc::new(Work::default());
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                let work = Arc::clone(&work);
                thread::spawn(move || work.consume())
            })
            .collect();
        let other = Arc::clone(&work);
        let produce = |work: &Work| {
            for number in 0..2 {
                work.items.lock().push(number);
                match below(2) {
                    0 => work.arrived.notify_one(),
                    _ => work.arrived.notify_last(),
                }
            }
        };
        let other = thread::spawn(move || produce(&other));
        produce(&work);
        other.join().unwrap();
        *work.is_over.lock() = true;
        work.arrived.notify_one();
        let taken: usize = consumers.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(taken, 4);
    });
}

#[test]
fn value_is_made_once_though_makers_are_dropped() {
    explore(|| {
        let (cell, ready) = (Arc::new(OnceCell::new()), Arc::new(SetOnce::new()));
        let made = Arc::new(AtomicUsize::new(0));
        let group = WaitGroup::new();
        let makers: Vec<_> = (0..3)
            .map(|maker| {
                let (cell, made, ready) = (cell.clone(), made.clone(), ready.clone());
                let worker = group.worker();
                thread::spawn(move || {
                    let value = wait_or_drop(
                        ODDS,
                        cell.get_or_init(|| async {
                            // A place to be dropped at, in the middle of making.
                            let mut has_yielded = false;
                            std::future::poll_fn(|cx| {
                                cx.waker().wake_by_ref();
                                match std::mem::replace(&mut has_yielded, true) {
                                    true => std::task::Poll::Ready(()),
                                    false => std::task::Poll::Pending,
                                }
                            })
                            .await;
                            made.fetch_add(1, Relaxed);
                            maker
                        }),
                    );
                    if let Some(value) = value {
                        assert_eq!(cell.get(), Some(value));
                        let is_first = ready.set(*value).is_ok();
                        assert!(is_first || ready.get() == Some(value));
                    }
                    drop(worker);
                })
            })
            .collect();
        block_on(group.wait());
        assert_eq!(made.load(Relaxed), usize::from(cell.is_set()));
        assert_eq!(
            ready.get(),
            cell.get(),
            "no maker told of a value, or of another"
        );
        for maker in makers {
            maker.join().unwrap();
        }
    });
}

#[test]
fn each_round_of_a_barrier_has_one_leader() {
    explore(|| {
        let barrier = Arc::new(Barrier::new(3));
        let leaders = Arc::new(AtomicUsize::new(0));
        let go = |barrier: &Barrier, leaders: &AtomicUsize| {
            for _ in 0..2 {
                let result = block_on(barrier.wait());
                leaders.fetch_add(usize::from(result.is_leader()), Relaxed);
            }
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let (barrier, leaders) = (Arc::clone(&barrier), Arc::clone(&leaders));
                thread::spawn(move || go(&barrier, &leaders))
            })
            .collect();
        go(&barrier, &leaders);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(leaders.load(Relaxed), 2);
    });
}
