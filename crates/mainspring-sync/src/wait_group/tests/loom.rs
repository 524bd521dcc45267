//! Models of the count that reaches zero. What a holder did is the cancellation of a completion,
//! whose word is read relaxed.

use crate::WaitGroup;
use crate::parked::tests::racing::{explore, explore_three, race};
use crate::parked::tests::wakers::poll;
use loom::future::block_on;
use mainspring_core::completion;
use mainspring_core::sync::{Arc, thread};
use std::pin::pin;
use std::task::Waker;

// WITNESS: wait-group.zero, wait-group.left
#[test]
fn last_token_racing_a_wait_ends_it_and_its_work_is_seen() {
    explore(|start| {
        let group = WaitGroup::new();
        let worker = group.worker();
        let (seen, work) = completion::<()>();
        let working = move || {
            drop(work);
            drop(worker);
        };
        let waiting = move || {
            block_on(group.wait());
            assert!(seen.is_cancelled(), "wait-group.left");
        };
        race(start, working, waiting);
    });
}

// WITNESS: wait-group.left
#[test]
fn work_of_two_is_seen_by_who_waited_for_both() {
    explore_three(|| {
        let group = WaitGroup::new();
        let (seen, work): (Vec<_>, Vec<_>) = (0..2).map(|_| completion::<()>()).unzip();
        let working = work.into_iter().map(|work| {
            let worker = group.worker();
            thread::spawn(move || {
                drop(work);
                drop(worker);
            })
        });
        let working: Vec<_> = working.collect();
        block_on(group.wait());
        assert!(
            seen.iter().all(|seen| seen.is_cancelled()),
            "wait-group.left"
        );
        for working in working {
            working.join().unwrap();
        }
    });
}

// WITNESS: wait-group.left
#[test]
fn released_waiter_sees_the_work_of_both() {
    explore_three(|| {
        let group = Arc::new(WaitGroup::new());
        let (seen, work) = completion::<()>();
        let (first, second) = (group.worker(), group.worker());
        let mut waiting = Box::pin(group.wait());
        assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
        let one = thread::spawn(move || {
            drop(work);
            drop(first);
        });
        let other = thread::spawn(move || drop(second));
        if poll(waiting.as_mut(), Waker::noop()).is_ready() {
            assert!(seen.is_cancelled(), "wait-group.left");
        }
        one.join().unwrap();
        other.join().unwrap();
        assert!(poll(waiting.as_mut(), Waker::noop()).is_ready());
    });
}

// WITNESS: wait-group.zero
#[test]
fn token_made_when_the_last_goes_is_waited_for_or_late() {
    explore(|start| {
        let group = Arc::new(WaitGroup::new());
        let worker = group.worker();
        let late = {
            let group = Arc::clone(&group);
            move || {
                let late = group.worker();
                // It waits for itself only: a moment without a token was before it, or never.
                let is_over = poll(pin!(group.wait()), Waker::noop()).is_ready();
                assert!(!is_over, "wait-group.zero: it holds a token itself");
                drop(late);
            }
        };
        race(start, move || drop(worker), late);
        assert!(poll(pin!(group.wait()), Waker::noop()).is_ready());
    });
}
