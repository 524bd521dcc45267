//! What the door watches for is found, and said in a way that can be replayed.

use crate::sync::alloc::{Layout, alloc, dealloc};
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::cell::UnsafeCell;
use crate::sync::queue::{ArrayQueue, SegQueue};
use crate::sync::{Mutex, below, explore, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

struct Shared(UnsafeCell<u32>);

// SAFETY: the tests are about whether accesses are ordered.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn add(&self) {
        self.0.with_mut(|value| {
            // SAFETY: threads of an execution are one thread of the operating system.
            unsafe { *value += 1 };
        });
    }
}

/// What a failing exploration said.
fn failure(body: impl Fn() + Send + Sync + 'static) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| explore(body))) else {
        panic!("nothing failed");
    };
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| {
        payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
    })
    .unwrap_or_default()
}

// WITNESS: shuttle.cell
#[test]
fn accesses_that_nothing_orders_are_found() {
    let why = failure(|| {
        let shared = Arc::new(Shared(UnsafeCell::new(0)));
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || other.add());
        shared.add();
        other.join().unwrap();
    });
    assert!(why.starts_with("shuttle.cell"), "{why}");
}

// WITNESS: shuttle.cell
#[test]
fn accesses_under_a_lock_and_shared_ones_pass() {
    explore(|| {
        let shared = Arc::new((Mutex::new(()), Shared(UnsafeCell::new(0))));
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || {
            let _locked = other.0.lock();
            other.1.add();
        });
        let locked = shared.0.lock();
        shared.1.add();
        drop(locked);
        other.join().unwrap();
        let twice = Arc::clone(&shared);
        let look = move |shared: &Shared| {
            // SAFETY: nobody writes any more.
            shared.0.with(|value| unsafe { *value })
        };
        let other = thread::spawn(move || look(&twice.1));
        assert_eq!((look(&shared.1), other.join().unwrap()), (2, 2));
    });
}

// WITNESS: shuttle.balance
#[test]
fn block_that_is_not_given_back_is_found() {
    let layout = Layout::new::<u64>();
    let why = failure(move || {
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) };
        if below(4) != 0 {
            // SAFETY: it was just allocated with this layout.
            unsafe { dealloc(block, layout) };
        }
        thread::yield_now();
    });
    assert!(why.contains("shuttle.balance"), "{why}");
}

#[test]
fn thread_that_sleeps_for_ever_is_a_deadlock() {
    let why = failure(|| {
        thread::spawn(thread::park);
        thread::yield_now();
    });
    assert!(why.starts_with("deadlock"), "{why}");
}

#[test]
fn body_that_is_random_by_itself_is_refused() {
    let count = AtomicCount::default();
    let why = failure(move || {
        let (word, turns) = (Arc::new(AtomicUsize::new(0)), count.next() % 3);
        let other = Arc::clone(&word);
        let other = thread::spawn(move || (0..turns).for_each(|_| other.store(1, Relaxed)));
        word.store(2, Relaxed);
        other.join().unwrap();
    });
    assert!(why.starts_with("possible nondeterminism"), "{why}");
}

/// Counts over all executions, behind the scheduler's back.
#[derive(Default)]
struct AtomicCount(std::sync::atomic::AtomicUsize);

impl AtomicCount {
    fn next(&self) -> usize {
        self.0.fetch_add(1, Relaxed)
    }
}

#[test]
fn queues_lose_nothing_and_keep_the_order_of_each_producer() {
    explore(|| {
        let (seg, array) = (SegQueue::new(), ArrayQueue::new(2));
        let queues = Arc::new((seg, array));
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let queues = Arc::clone(&queues);
                thread::spawn(move || {
                    let full = (0..2).filter(|number| {
                        queues.0.push((producer, *number));
                        queues.1.push((producer, *number)).is_err()
                    });
                    full.count()
                })
            })
            .collect();
        let mut taken = Vec::new();
        taken.extend(queues.0.pop());
        let full: usize = producers.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(full, 2, "four were offered to a queue of two");
        assert!(queues.1.is_full());
        taken.extend(std::iter::from_fn(|| queues.0.pop()));
        assert!(queues.0.is_empty());
        for producer in 0..2 {
            let theirs = taken.iter().filter(|(from, _)| *from == producer);
            assert!(theirs.map(|(_, number)| *number).eq(0..2), "{taken:?}");
        }
    });
}
