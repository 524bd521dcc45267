//! A value behind a lock, and conditions on it.

use crate::ODDS;
use mainspring_core::sync::{Crew, below, explore, thread, wait_or_drop};
use mainspring_sync::{Condvar, Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;

/// A queue of one place, in the textbook's form.
struct Buffer {
    values: Mutex<VecDeque<u32>>,
    not_empty: Condvar,
    not_full: Condvar,
}

impl Buffer {
    const ROOM: usize = 1;

    fn new() -> Self {
        let (values, not_empty, not_full) = match below(2) {
            0 => (Mutex::new(VecDeque::new()), Condvar::new(), Condvar::new()),
            _ => (
                Mutex::new(VecDeque::new()).revocable(),
                Condvar::revocable(),
                Condvar::revocable(),
            ),
        };
        Self {
            values,
            not_empty,
            not_full,
        }
    }

    async fn put(&self, value: u32) {
        let guard = self.values.lock().await;
        let is_full = |values: &mut VecDeque<u32>| values.len() == Self::ROOM;
        let mut guard = self.not_full.wait_while(guard, is_full).await;
        guard.push_back(value);
        self.not_empty.notify_one();
    }

    async fn take(&self) -> u32 {
        let guard = self.values.lock().await;
        let mut guard = self
            .not_empty
            .wait_while(guard, |values| values.is_empty())
            .await;
        self.not_full.notify_one();
        guard.pop_front().expect("the condition holds")
    }
}

/// Calls until it is not given up.
fn insist<F: Future>(start: impl Fn() -> F) -> F::Output {
    loop {
        if let Some(output) = wait_or_drop(ODDS, start()) {
            return output;
        }
    }
}

#[test]
fn notification_of_a_dropped_wait_passes_on() {
    explore(|| {
        let buffer = Arc::new(Buffer::new());
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let buffer = Arc::clone(&buffer);
                thread::spawn(move || {
                    for number in 0..3 {
                        insist(|| buffer.put(10 * producer + number));
                    }
                })
            })
            .collect();
        let other = Arc::clone(&buffer);
        let other = thread::spawn(move || {
            let take = |_| insist(|| other.take());
            (0..3).map(take).collect::<Vec<_>>()
        });
        let mut taken: Vec<_> = (0..3).map(|_| insist(|| buffer.take())).collect();
        taken.extend(other.join().unwrap());
        for producer in producers {
            producer.join().unwrap();
        }
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 2, 10, 11, 12]);
        assert!(!buffer.values.is_locked());
    });
}

/// Two halves that only a writer changes, with a step in between.
#[derive(Default)]
struct Halves(u32, u32);

async fn write(halves: &RwLock<Halves>) {
    let mut guard = halves.write().await;
    let Halves(left, right) = &mut *guard;
    *left += 1;
    thread::yield_now();
    *right += 1;
}

async fn read(halves: &RwLock<Halves>) {
    let guard = halves.read().await;
    let left = guard.0;
    thread::yield_now();
    assert_eq!((left, left), (guard.0, guard.1), "a writer beside a reader");
}

#[test]
fn readers_see_whole_values_whatever_is_dropped() {
    explore(|| {
        let halves = RwLock::new(Halves::default());
        let halves = Arc::new(if below(2) == 0 {
            halves
        } else {
            halves.revocable()
        });
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let halves = Arc::clone(&halves);
                thread::spawn(move || {
                    wait_or_drop(ODDS, read(&halves));
                    wait_or_drop(ODDS, write(&halves));
                    wait_or_drop(ODDS, async {
                        let seen = halves.upgradable_read().await;
                        assert_eq!(seen.0, seen.1);
                    });
                })
            })
            .collect();
        let mut crew = Crew::new();
        crew.add(read(&halves));
        crew.add(write(&halves));
        crew.add(read(&halves));
        crew.run();
        for thread in threads {
            thread.join().unwrap();
        }
        let last = halves.try_write().expect("nobody holds it");
        assert!(last.0 == last.1 && (1..=3).contains(&last.0));
    });
}
