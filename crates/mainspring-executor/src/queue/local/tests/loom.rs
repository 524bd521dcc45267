//! The stand-in beside thieves, and the deque as it is printed.
//!
//! The shipped deque is crossbeam's, into which loom cannot look: what the models of the pool rest
//! on is the stand-in, so this is what has to keep the contract here. Two threads that hammer the
//! shipped one stand in `both_ends.rs`.

use crate::queue::local::{Local, Stolen};
use loom::thread;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

fn steal(from: &crate::queue::local::Stealer<u32>) -> Vec<u32> {
    let mine = Local::new();
    let one = match from.steal_half(&mine) {
        Stolen::One(one) => Some(one),
        Stolen::Nothing | Stolen::Retry => None,
    };
    one.into_iter()
        .chain(std::iter::from_fn(|| mine.pop()))
        .collect()
}

// CORRECTION: 1
// WITNESS: deque.once
#[test]
fn what_owner_and_thieves_take_at_the_same_time_is_taken_once() {
    explore(|| {
        let local = Local::new();
        let thieves = [local.stealer(), local.stealer()];
        local.push(1);
        let thieves = thieves.map(|stealer| thread::spawn(move || steal(&stealer)));
        local.push(2);
        let mut taken: Vec<u32> = local.pop().into_iter().collect();
        for thief in thieves {
            taken.extend(thief.join().unwrap());
        }
        taken.extend(std::iter::from_fn(|| local.pop()));
        taken.sort_unstable();
        assert_eq!(taken, [1, 2], "deque.once");
    });
}

/// The deque as it is usually printed.
mod printed {
    use super::explore;
    use loom::thread;
    use mainspring_core::sync::Arc;
    use mainspring_core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
    use mainspring_core::sync::atomic::{AtomicU32, AtomicUsize, fence};
    use mainspring_core::sync::cell::UnsafeCell;

    /// The owner's end, as a plain field and as an atomic.
    trait Bottom: 'static {
        fn new() -> Self;
        fn get(&self) -> usize;
        fn set(&self, to: usize);
        /// What stands between bottom and top in `pop`.
        fn between();
    }

    struct Plain(UnsafeCell<usize>);

    impl Bottom for Plain {
        fn new() -> Self {
            Self(UnsafeCell::new(1))
        }
        fn get(&self) -> usize {
            // SAFETY: there is no argument: that is the fault.
            self.0.with(|bottom| unsafe { *bottom })
        }
        fn set(&self, to: usize) {
            // SAFETY: there is none here either.
            self.0.with_mut(|bottom| unsafe { *bottom = to });
        }
        fn between() {}
    }

    struct FencedInPop(AtomicUsize);

    impl Bottom for FencedInPop {
        fn new() -> Self {
            Self(AtomicUsize::new(1))
        }
        fn get(&self) -> usize {
            self.0.load(Acquire)
        }
        fn set(&self, to: usize) {
            self.0.store(to, Release);
        }
        fn between() {
            fence(SeqCst);
        }
    }

    struct Deque<B> {
        bottom: B,
        top: AtomicUsize,
        slots: [AtomicU32; 4],
    }

    impl<B: Bottom> Deque<B> {
        fn new() -> Self {
            Self {
                bottom: B::new(),
                top: AtomicUsize::new(1),
                slots: std::array::from_fn(|_| AtomicU32::new(0)),
            }
        }

        fn push(&self, value: u32) {
            let bottom = self.bottom.get();
            self.slots[bottom % 4].store(value, Relaxed);
            self.bottom.set(bottom + 1);
        }

        fn pop(&self) -> Option<u32> {
            let bottom = self.bottom.get() - 1;
            self.bottom.set(bottom);
            B::between();
            let top = self.top.load(Relaxed);
            if top < bottom {
                return Some(self.slots[bottom % 4].load(Relaxed));
            }
            let is_ours = top == bottom && self.advance(top);
            self.bottom.set(bottom + 1);
            is_ours.then(|| self.slots[bottom % 4].load(Relaxed))
        }

        fn steal(&self) -> Option<u32> {
            let top = self.top.load(Acquire);
            if top >= self.bottom.get() {
                return None;
            }
            let value = self.slots[top % 4].load(Relaxed);
            self.advance(top).then_some(value)
        }

        fn advance(&self, top: usize) -> bool {
            let moved = self.top.compare_exchange(top, top + 1, SeqCst, Relaxed);
            moved.is_ok()
        }
    }

    fn one_owner_and_a_thief<B: Bottom>() {
        explore(|| {
            let deque = Arc::new(Deque::<B>::new());
            deque.push(1);
            deque.push(2);
            let thief = thread::spawn({
                let deque = deque.clone();
                move || [deque.steal(), deque.steal()]
            });
            let mut taken: Vec<u32> = deque.pop().into_iter().collect();
            taken.extend(thief.join().unwrap().into_iter().flatten());
            taken.sort_unstable();
            taken.dedup_by(|a, b| {
                assert_ne!(a, b, "a task runs twice");
                false
            });
        });
    }

    // CORRECTION: 1
    #[test]
    fn plain_bottom_is_a_race() {
        one_owner_and_a_thief::<Plain>();
    }

    // CORRECTION: 1
    #[test]
    fn fence_in_pop_alone_runs_a_task_twice() {
        one_owner_and_a_thief::<FencedInPop>();
    }
}
