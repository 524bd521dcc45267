//! Models of the tracker: the last task against who waits, closes, and comes late.

use crate::TaskTracker;
use crate::token::tests::racing::{explore, explore_bounded, explore_three, race};
use crate::token::tests::wakers::poll;
use loom::future::block_on;
use mainspring_core::completion;
use mainspring_core::sync::thread;
use std::pin::pin;
use std::task::Waker;

// WITNESS: tracker.over, tracker.left
#[test]
fn last_task_racing_a_wait_ends_it_and_its_work_is_seen() {
    explore(|start| {
        let tracker = TaskTracker::new();
        tracker.close();
        let token = tracker.token();
        let (seen, work) = completion::<()>();
        let working = move || {
            drop(work);
            drop(token);
        };
        let waiting = move || {
            block_on(tracker.wait());
            assert!(seen.is_cancelled(), "tracker.left: nothing to see");
        };
        race(start, working, waiting);
    });
}

// C13
// WITNESS: tracker.over, tracker.left
#[test]
fn close_racing_the_last_task_ends_the_wait_with_its_work() {
    explore_bounded(|start| {
        let tracker = TaskTracker::new();
        let token = tracker.token();
        let (seen, work) = completion::<()>();
        let working = move || {
            drop(work);
            drop(token);
        };
        let closing = move || {
            tracker.close();
            block_on(tracker.wait());
            assert!(seen.is_cancelled(), "tracker.left: nothing to see");
        };
        race(start, working, closing);
    });
}

// WITNESS: tracker.left
#[test]
fn work_of_two_is_seen_by_who_waited_for_both() {
    explore_three(|| {
        let tracker = TaskTracker::new();
        let (seen, work): (Vec<_>, Vec<_>) = (0..2).map(|_| completion::<()>()).unzip();
        let working = work.into_iter().map(|work| {
            let token = tracker.token();
            thread::spawn(move || {
                drop(work);
                drop(token);
            })
        });
        let working: Vec<_> = working.collect();
        tracker.close();
        block_on(tracker.wait());
        assert!(seen.iter().all(|seen| seen.is_cancelled()), "tracker.left");
        for working in working {
            working.join().unwrap();
        }
    });
}

// WITNESS: tracker.left
#[test]
fn who_is_released_sees_the_work_of_both() {
    explore_three(|| {
        let tracker = TaskTracker::new();
        let (seen, work) = completion::<()>();
        let (first, second) = (tracker.token(), tracker.token());
        tracker.close();
        let mut waiting = Box::pin(tracker.wait());
        assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
        let one = thread::spawn(move || {
            drop(work);
            drop(first);
        });
        let other = thread::spawn(move || drop(second));
        if poll(waiting.as_mut(), Waker::noop()).is_ready() {
            assert!(seen.is_cancelled(), "tracker.left");
        }
        one.join().unwrap();
        other.join().unwrap();
        assert!(poll(waiting.as_mut(), Waker::noop()).is_ready());
    });
}

// WITNESS: tracker.left
#[test]
fn who_is_released_by_close_sees_the_work_of_the_last() {
    explore_three(|| {
        let tracker = TaskTracker::new();
        let (seen, work) = completion::<()>();
        let token = tracker.token();
        let mut waiting = Box::pin(tracker.wait());
        assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
        let working = thread::spawn(move || {
            drop(work);
            drop(token);
        });
        let closing = {
            let tracker = tracker.clone();
            thread::spawn(move || tracker.close())
        };
        if poll(waiting.as_mut(), Waker::noop()).is_ready() {
            assert!(seen.is_cancelled(), "tracker.left");
        }
        working.join().unwrap();
        assert!(closing.join().unwrap());
        assert!(poll(waiting.as_mut(), Waker::noop()).is_ready());
    });
}

// C13
// WITNESS: tracker.over
#[test]
fn task_that_comes_late_is_waited_for_by_itself() {
    explore_bounded(|start| {
        let tracker = TaskTracker::new();
        tracker.close();
        let token = tracker.token();
        let late = {
            let tracker = tracker.clone();
            move || {
                let late = tracker.token();
                let is_over = poll(pin!(tracker.wait()), Waker::noop()).is_ready();
                assert!(!is_over, "tracker.over: it holds a token itself");
                drop(late);
            }
        };
        race(start, move || drop(token), late);
        assert!(poll(pin!(tracker.wait()), Waker::noop()).is_ready());
    });
}
