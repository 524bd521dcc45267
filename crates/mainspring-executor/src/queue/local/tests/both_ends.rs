//! The shipped deque, which loom cannot look into: its owner beside thieves, on real threads.

use crate::queue::local::{Local, Stolen};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Barrier};
use std::thread;

/// How many each round pushes.
const VALUES: u32 = 2_000;

// WITNESS: deque.once
#[test]
fn what_is_pushed_is_taken_once_by_owner_or_thief() {
    for _ in 0..20 {
        let local = Local::new();
        let taken: Arc<Vec<AtomicU32>> = Arc::new((0..VALUES).map(|_| AtomicU32::new(0)).collect());
        let is_over = Arc::new(AtomicBool::new(false));
        let start = Arc::new(Barrier::new(3));
        let thieves = [0, 1].map(|_| {
            let (stealer, taken) = (local.stealer(), Arc::clone(&taken));
            let (is_over, start) = (Arc::clone(&is_over), Arc::clone(&start));
            thread::spawn(move || {
                let mine = Local::new();
                start.wait();
                loop {
                    // Asked before the look: what was pushed by then is seen by it.
                    let is_last = is_over.load(Acquire);
                    let stolen = stealer.steal_half(&mine);
                    let is_empty = stolen == Stolen::Nothing;
                    if let Stolen::One(one) = stolen {
                        taken[one as usize].fetch_add(1, Relaxed);
                    }
                    while let Some(one) = mine.pop() {
                        taken[one as usize].fetch_add(1, Relaxed);
                    }
                    if is_last && is_empty {
                        return;
                    }
                }
            })
        });
        start.wait();
        for value in 0..VALUES {
            local.push(value);
            if value % 3 == 0 {
                if let Some(one) = local.pop() {
                    taken[one as usize].fetch_add(1, Relaxed);
                }
            }
        }
        is_over.store(true, Release);
        for thief in thieves {
            thief.join().expect("no thief panics");
        }
        while let Some(one) = local.pop() {
            taken[one as usize].fetch_add(1, Relaxed);
        }
        let odd = taken
            .iter()
            .filter(|times| times.load(Relaxed) != 1)
            .count();
        assert_eq!(odd, 0, "deque.once: lost or taken twice");
    }
}

// WITNESS: deque.half
#[test]
fn thief_takes_half_rounded_up_in_order() {
    for many in 0..=20_u32 {
        let (local, mine) = (Local::new(), Local::new());
        (0..many).for_each(|value| local.push(value));
        let one = match local.stealer().steal_half(&mine) {
            Stolen::One(one) => Some(one),
            Stolen::Nothing => None,
            Stolen::Retry => panic!("nobody else is there"),
        };
        let stolen: Vec<u32> = one
            .into_iter()
            .chain(std::iter::from_fn(|| mine.pop()))
            .collect();
        let half = many.div_ceil(2);
        assert_eq!(
            stolen,
            (0..half).collect::<Vec<_>>(),
            "deque.half: of {many}"
        );
        let left: Vec<u32> = std::iter::from_fn(|| local.pop()).collect();
        assert_eq!(left, (half..many).collect::<Vec<_>>());
    }
}

/// A deque whose owner takes the newest, as it is usually printed, without its atomics: the fault
/// needs one thread.
mod printed {
    pub(super) struct Deque {
        pub(super) slots: [u32; 8],
        pub(super) top: usize,
        pub(super) bottom: usize,
    }

    impl Deque {
        pub(super) fn push(&mut self, value: u32) {
            self.slots[self.bottom % 8] = value;
            self.bottom += 1;
        }

        pub(super) fn pop(&mut self) -> Option<u32> {
            self.bottom -= 1;
            if self.top < self.bottom {
                return Some(self.slots[self.bottom % 8]);
            }
            if self.top == self.bottom {
                // The exchange on the last element is won.
                self.top += 1;
                return Some(self.slots[self.bottom % 8]);
            }
            self.bottom += 1;
            None
        }
    }
}

// CORRECTION: 2
#[test]
fn push_after_the_last_was_popped_is_not_lost() {
    let mut deque = printed::Deque {
        slots: [0; 8],
        top: 1,
        bottom: 1,
    };
    deque.push(1);
    assert_eq!(deque.pop(), Some(1));
    deque.push(2);
    assert_eq!(deque.pop(), None, "the printed form kept it");

    let local = Local::new();
    for value in 0..100 {
        local.push(value);
        assert_eq!(local.pop(), Some(value));
        assert!(local.is_empty());
    }
}
