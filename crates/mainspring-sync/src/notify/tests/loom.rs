//! Models of the word: notifiers without the lock against waiters that queue.
//!
//! What a notifier did before is the cancellation of a completion, whose word is read relaxed: only
//! the edges of the notification carry it.

use crate::Notify;
use crate::parked::tests::racing::{explore, explore_three, race};
use crate::parked::tests::wakers::poll;
use loom::future::block_on;
use mainspring_core::sync::thread;
use mainspring_core::{Completer, Completion, completion};
use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

/// Something to do before a notification, and to see after it.
fn change() -> (Completer<()>, Completion<()>) {
    completion()
}

fn takes_permit(notify: &Notify) -> bool {
    poll(pin!(notify.notified()), Waker::noop()).is_ready()
}

// WITNESS: notify.waits, notify.permit
#[test]
fn permit_racing_a_waiter_that_comes_wakes_it_and_brings_the_change() {
    explore(|start| {
        let notify = Arc::new(Notify::new());
        let (seen, change) = change();
        let notifier = {
            let notify = Arc::clone(&notify);
            move || {
                drop(change);
                notify.notify_one();
            }
        };
        let waiter = move || {
            block_on(notify.notified());
            assert!(
                seen.is_cancelled(),
                "notify.permit: told of a change it cannot see"
            );
            assert!(!takes_permit(&notify), "notify.once");
        };
        race(start, notifier, waiter);
    });
}

// S14
// WITNESS: notify.permit
#[test]
fn permit_that_meets_a_stored_one_brings_its_change_too() {
    explore(|start| {
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        let (seen, change) = change();
        let notifier = {
            let notify = Arc::clone(&notify);
            move || {
                drop(change);
                notify.notify_one();
            }
        };
        let waiter = {
            let notify = Arc::clone(&notify);
            move || {
                assert!(takes_permit(&notify));
                seen.is_cancelled()
            }
        };
        let ((), saw) = race(start, notifier, waiter);
        assert!(
            saw || takes_permit(&notify),
            "notify.permit: merged, and not seen"
        );
    });
}

/// With a third who waits, or without: the notifier goes to the queue, or counts by itself.
fn release_of_all_racing_one_that_exists(somebody_waits: bool) {
    explore(move |start| {
        let notify = Arc::new(Notify::new());
        let mut third = Box::pin(Arc::clone(&notify).notified_owned());
        if somebody_waits {
            assert!(poll(third.as_mut(), Waker::noop()).is_pending());
        }
        let (seen, change) = change();
        let notifier = {
            let notify = Arc::clone(&notify);
            move || {
                drop(change);
                notify.notify_all();
            }
        };
        let waiter = move || {
            let notified = notify.notified();
            // Too late for the release, or not: one of the two shows.
            if !seen.is_cancelled() {
                block_on(notified);
                assert!(
                    seen.is_cancelled(),
                    "notify.release: released, and nothing to see"
                );
            }
        };
        race(start, notifier, waiter);
    });
}

// WITNESS: notify.releases, notify.release, notify.waits
#[test]
fn release_of_all_racing_the_look_of_one_that_exists_reaches_it() {
    release_of_all_racing_one_that_exists(false);
}

// WITNESS: notify.releases, notify.release, notify.waits
#[test]
fn release_of_a_queue_racing_the_look_of_one_that_exists_reaches_it() {
    release_of_all_racing_one_that_exists(true);
}

// WITNESS: notify.releases, notify.release
#[test]
fn release_of_all_that_overtakes_a_permit_brings_its_change() {
    explore(|start| {
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        let (seen, change) = change();
        let mut waiter = Box::pin(Arc::clone(&notify).notified_owned());
        let notifier = {
            let notify = Arc::clone(&notify);
            move || {
                drop(change);
                notify.notify_all();
            }
        };
        let waiter = move || {
            assert!(poll(waiter.as_mut(), Waker::noop()).is_ready());
            seen.is_cancelled()
        };
        let ((), saw) = race(start, notifier, waiter);
        let was_released = takes_permit(&notify);
        assert!(saw || !was_released, "notify.release: nothing to see");
    });
}

// WITNESS: notify.releases, notify.waits
#[test]
fn release_of_all_racing_a_newcomer_leaves_it_its_permit() {
    explore(|start| {
        let notify = Arc::new(Notify::new());
        let mut old = Box::pin(Arc::clone(&notify).notified_owned());
        assert!(poll(old.as_mut(), Waker::noop()).is_pending());
        let notifier = {
            let notify = Arc::clone(&notify);
            move || {
                notify.notify_all();
                notify.notify_one();
            }
        };
        let newcomer = {
            let notify = Arc::clone(&notify);
            move || block_on(notify.notified())
        };
        // Whether the newcomer was in the release or not, the permit is not the old one's.
        race(start, notifier, newcomer);
        assert!(poll(old.as_mut(), Waker::noop()).is_ready());
    });
}

// WITNESS: notify.permit
#[test]
fn permit_that_finds_the_queue_left_brings_its_change() {
    explore_three(|| {
        let notify = Arc::new(Notify::new());
        let mut only = Box::pin(Arc::clone(&notify).notified_owned());
        assert!(poll(only.as_mut(), Waker::noop()).is_pending());
        let (seen, change) = change();
        let leaving = thread::spawn(move || drop(only));
        let taking = {
            let notify = Arc::clone(&notify);
            thread::spawn(move || {
                let took = takes_permit(&notify);
                assert!(
                    !took || seen.is_cancelled(),
                    "notify.permit: nothing to see"
                );
            })
        };
        drop(change);
        notify.notify_one();
        leaving.join().unwrap();
        taking.join().unwrap();
    });
}

// S1
// WITNESS: notify.once, notify.waits
#[test]
fn permit_racing_the_drop_of_the_only_waiter_is_stored() {
    explore(|start| {
        let notify = Arc::new(Notify::new());
        let mut only = Box::pin(Arc::clone(&notify).notified_owned());
        assert!(poll(only.as_mut(), Waker::noop()).is_pending());
        let notifier = {
            let notify = Arc::clone(&notify);
            move || notify.notify_one()
        };
        race(start, notifier, move || drop(only));
        assert!(takes_permit(&notify), "notify.once: gone with the waiter");
        assert!(!takes_permit(&notify), "notify.once: twice");
    });
}

// S1
// WITNESS: notify.once
#[test]
fn permit_of_an_enabled_future_that_is_dropped_wakes_the_other() {
    explore(|start| {
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        let mut holder = Box::pin(Arc::clone(&notify).notified_owned());
        assert!(holder.as_mut().enable());
        let waiter = {
            let notify = Arc::clone(&notify);
            move || block_on(notify.notified())
        };
        race(start, move || drop(holder), waiter);
    });
}

// WITNESS: notify.waits, notify.once
#[test]
fn two_permits_serve_two_waiters_that_come() {
    explore_three(|| {
        let notify = Arc::new(Notify::new());
        let waiters = [(); 2].map(|()| {
            let notify = Arc::clone(&notify);
            thread::spawn(move || {
                block_on(notify.notified());
                // Passes it on: a permit that was merged with another serves both.
                notify.notify_one();
            })
        });
        notify.notify_one();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert!(takes_permit(&notify));
    });
}
