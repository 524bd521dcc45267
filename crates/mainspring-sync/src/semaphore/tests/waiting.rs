//! Waiters: their place, their waker, their budget, and offers that they lose.

use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::{counted, once, poll, poll_alone};
use mainspring_core::{budget, poll as poll_record};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Wake, Waker};

// S13: who comes with its budget spent has its place before who comes next.
#[test]
fn spent_budget_does_not_cost_the_place() {
    let semaphore = Semaphore::new(2);
    let mut first = pin!(semaphore.acquire(2));
    let (counter, waker) = counted();
    poll_record::root(|| {
        for _ in 0..poll_record::BUDGET_UNITS {
            budget::consume();
        }
        assert!(poll(first.as_mut(), &waker).is_pending());
    });
    assert!(counter.calls() >= 1, "it yields, it does not wait");
    // What is free was offered to it: nobody passes.
    assert_eq!(semaphore.available(), 0);
    assert!(semaphore.try_acquire(1).is_err());
    assert!(poll(first.as_mut(), &waker).is_ready());
}

#[test]
fn each_acquire_costs_a_unit_of_the_budget() {
    let semaphore = Semaphore::new(1);
    for permits in [0, 1] {
        poll_record::root(|| {
            let mut acquired = 0;
            while poll_alone(pin!(semaphore.acquire(permits))).is_ready() {
                acquired += 1;
            }
            assert_eq!(acquired, poll_record::BUDGET_UNITS);
        });
    }
    assert_eq!(semaphore.available(), 1);
}

/// A request that lost its offer to another one of its task, which has given the permit back.
fn lose_offer(semaphore: &Semaphore, task: &Waker) {
    let driven = poll(pin!(semaphore.acquire(1)).as_mut(), task);
    assert!(driven.is_ready(), "it takes the offer over");
    drop(driven);
    assert_eq!((semaphore.available(), semaphore.diagnose().lapsed), (1, 1));
}

#[test]
fn request_that_lost_its_offer_is_still_the_first() {
    let semaphore = Semaphore::strict(2);
    let mut held = semaphore.try_acquire(2).unwrap();
    let (_, task) = counted();
    let mut unpolled = pin!(semaphore.acquire(1));
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    let mut large = pin!(semaphore.acquire(2));
    assert!(poll_alone(large.as_mut()).is_pending());
    drop(held.split(1));
    lose_offer(&semaphore, &task);
    // Nobody may pass `large`; but this one came before it.
    assert!(poll(unpolled.as_mut(), &task).is_ready());
}

#[test]
fn request_that_lost_its_offer_may_still_pass() {
    let semaphore = Semaphore::new(4);
    let mut held = semaphore.try_acquire(4).unwrap();
    let mut large = pin!(semaphore.acquire(2));
    assert!(poll_alone(large.as_mut()).is_pending());
    let (counter, task) = counted();
    let mut unpolled = pin!(semaphore.acquire(1));
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    drop(held.split(1));
    lose_offer(&semaphore, &task);
    // It stands behind `large` again, and is offered what is free at once.
    let before = counter.calls();
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    assert_eq!((counter.calls(), semaphore.available()), (before + 1, 0));
    let permit = poll(unpolled.as_mut(), &task);
    assert!(permit.is_ready());
    drop(permit);
    // Whoever stands behind, and wants little, is found also later.
    let mut waits = pin!(semaphore.acquire(1));
    let mut larger = pin!(semaphore.acquire(3));
    drop(semaphore.try_acquire(1).unwrap());
    assert!(poll_alone(larger.as_mut()).is_pending());
    assert!(poll_alone(waits.as_mut()).is_ready());
}

// WITNESS: semaphore.slow
#[test]
fn request_that_its_task_s_offer_does_not_help_waits_as_all_do() {
    let semaphore = Semaphore::new(3);
    let mut held = semaphore.try_acquire(3).unwrap();
    let (counter, task) = counted();
    let mut unpolled = pin!(semaphore.acquire(1));
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    drop(held.split(1));
    let mut asks = pin!(semaphore.acquire(2));
    assert!(poll(asks.as_mut(), &task).is_pending());
    let before = counter.calls();
    drop(held);
    assert_eq!(counter.calls(), before + 1);
    assert!(poll(asks.as_mut(), &task).is_ready());
    assert!(poll(unpolled.as_mut(), &task).is_ready());
}

// B152
#[test]
fn polled_again_after_it_was_ready_it_asks_once_more() {
    let semaphore = Semaphore::new(1);
    let mut asks = pin!(semaphore.acquire(1));
    let first = poll_alone(asks.as_mut());
    assert!(first.is_ready());
    assert!(poll_alone(asks.as_mut()).is_pending());
    drop(first);
    assert!(poll_alone(asks.as_mut()).is_ready());
}

// S15, S17
#[test]
fn latest_waker_counts_and_polling_again_takes_no_second_place() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire(1).unwrap();
    let (old, old_waker) = counted();
    let (new, new_waker) = counted();
    let mut waits = pin!(semaphore.acquire(1));
    assert!(poll(waits.as_mut(), &old_waker).is_pending());
    for _ in 0..1_000 {
        assert!(poll(waits.as_mut(), &new_waker).is_pending());
    }
    assert_eq!(semaphore.diagnose().waiting, 1);
    drop(held);
    assert_eq!((old.calls(), new.calls()), (0, 1));
    assert!(poll(waits.as_mut(), &new_waker).is_ready());
}

/// Takes and gives back in its wake; panics in it, if it is told to.
struct Meddler {
    semaphore: Arc<Semaphore>,
    panics: bool,
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        drop(self.semaphore.try_acquire(1));
        let _ = self.semaphore.diagnose();
        assert!(!self.panics, "a waker that panics");
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        drop(self.semaphore.try_acquire(1));
    }
}

// B124, B127, S5, S11
// WITNESS: semaphore.conserved
#[test]
fn wakers_that_come_back_or_panic_harm_nobody() {
    let semaphore = Arc::new(Semaphore::new(3));
    let held = semaphore.try_acquire(3).unwrap();
    let meddler = |panics| {
        let semaphore = Arc::clone(&semaphore);
        Waker::from(Arc::new(Meddler { semaphore, panics }))
    };
    let mut waiters: Vec<_> = (0..3).map(|_| Box::pin(semaphore.acquire(1))).collect();
    for (at, waiter) in waiters.iter_mut().enumerate() {
        assert!(poll(waiter.as_mut(), &meddler(at == 0)).is_pending());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(held))).is_err());
    for waiter in &mut waiters {
        assert!(poll_alone(waiter.as_mut()).is_ready());
    }
    drop(waiters);
    assert_eq!(semaphore.available(), 3);
}

// Offers beyond the first batch are made before their wakers are called. One of them is lost in
// between, and its waiter stands in the queue again when everybody thinks that nobody does.
// WITNESS: semaphore.slow
#[test]
fn offer_lost_before_its_wake_leaves_a_waiter_that_is_found() {
    const MANY: usize = 40;
    let semaphore = Arc::new(Semaphore::new(MANY));
    let held = semaphore.try_acquire(MANY).unwrap();
    let (counter, task) = counted();
    let (sender, taken) = std::sync::mpsc::channel();
    let takes_over = {
        let (semaphore, task) = (Arc::clone(&semaphore), task.clone());
        once(move || {
            let permit = poll(pin!(semaphore.acquire_owned(1)).as_mut(), &task);
            sender.send(permit).unwrap();
        })
    };
    let mut waiters: Vec<_> = (0..MANY).map(|_| Box::pin(semaphore.acquire(1))).collect();
    for (at, waiter) in waiters.iter_mut().enumerate() {
        let pending = match at {
            0 => poll(waiter.as_mut(), &takes_over),
            39 => poll(waiter.as_mut(), &task),
            _ => poll_alone(waiter.as_mut()),
        };
        assert!(pending.is_pending());
    }
    drop(held);
    let permit = taken.recv().unwrap();
    assert!(permit.is_ready(), "it took the offer of its own task over");
    let diagnosis = semaphore.diagnose();
    assert_eq!((diagnosis.waiting, diagnosis.offers.len()), (1, MANY - 1));
    assert_eq!(counter.calls(), 0);
    drop(permit);
    assert_eq!(counter.calls(), 1, "what comes back is offered to it");
    for mut waiter in waiters {
        assert!(poll_alone(waiter.as_mut()).is_ready());
    }
    assert_eq!(semaphore.available(), MANY);
}
