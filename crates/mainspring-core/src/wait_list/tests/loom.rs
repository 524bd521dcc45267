//! Models of the wait list. The code is the shipped one, with batches of one.

mod lone;
mod retired;

use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use crate::poll::{Polling, TaskStamp};
use crate::sync::{Arc, thread};
use crate::wait::WaitSlot;
use crate::wait_list::{From, WaitList, Waiter, Why};
use loom::future::block_on;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Polls once, as task `task`.
pub(super) fn poll_as<F: Future>(task: u64, future: Pin<&mut F>) -> Poll<F::Output> {
    let slot = WaitSlot::of(TaskStamp { task, polls: 0 });
    let polling = Polling::begin(Some(&slot));
    let poll = future.poll(&mut Context::from_waker(Waker::noop()));
    drop(polling);
    poll
}

/// A poll of `task` that polls nothing.
pub(super) fn poll_of_nothing(task: u64) {
    drop(Polling::begin(Some(&WaitSlot::of(TaskStamp {
        task,
        polls: 0,
    }))));
}

pub(super) fn notifications() -> Arc<WaitList<Stored>> {
    Arc::new(WaitList::default())
}

// WITNESS: wait-list.hand-on, wait-list.node, wait-list.state
#[test]
fn notification_of_a_waiter_that_is_dropped_reaches_the_next() {
    loom::model(|| {
        let list = notifications();
        let mut first = Box::pin(Notified::new(Arc::clone(&list)));
        assert!(poll_as(1, first.as_mut()).is_pending());
        let second = {
            let list = Arc::clone(&list);
            thread::spawn(move || block_on(Notified::new(list)))
        };
        notify(&list, From::Oldest);
        drop(first);
        // A deadlock here is the notification that went with the first waiter.
        second.join().unwrap();
    });
}

// WITNESS: wait-list.released, wait-list.node
#[test]
fn one_that_is_released_may_be_freed_at_once() {
    for takes in [true, false] {
        loom::model(move || {
            let list = Arc::new(WaitList::new(()));
            let mut waiter = Box::pin(Waiter::new(Arc::clone(&list), ()));
            let mut cx = Context::from_waker(Waker::noop());
            let parked = waiter.as_mut().poll_wait(&mut cx, |_, (), _| None::<()>);
            assert!(parked.is_pending());
            let releases = {
                let list = Arc::clone(&list);
                thread::spawn(move || list.with(|queue| queue.release_one(From::Oldest)))
            };
            let was_seen = takes && waiter.as_mut().take_release();
            drop(waiter);
            let was_released = releases.join().unwrap();
            assert!(was_released || !was_seen);
        });
    }
}

// WITNESS: wait-list.hand-on, wait-list.state
#[test]
fn notify_racing_drop_reaches_the_other_waiter() {
    loom::model(|| {
        let list = notifications();
        let mut first = Box::pin(Notified::new(Arc::clone(&list)));
        let mut second = pin!(Notified::new(Arc::clone(&list)));
        assert!(poll_as(1, first.as_mut()).is_pending());
        assert!(poll_as(2, second.as_mut()).is_pending());
        let notifier = {
            let list = Arc::clone(&list);
            thread::spawn(move || notify(&list, From::Oldest))
        };
        drop(first);
        notifier.join().unwrap();
        assert!(poll_as(2, second.as_mut()).is_ready());
    });
}

// WITNESS: wait-list.newcomers, wait-list.woken
#[test]
fn release_of_all_does_not_reach_who_comes_while_it_wakes() {
    loom::model(|| {
        let list = notifications();
        let mut old = [1, 2].map(|task| {
            let mut old = Box::pin(Notified::new(Arc::clone(&list)));
            assert!(poll_as(task, old.as_mut()).is_pending());
            old
        });
        let releaser = {
            let list = Arc::clone(&list);
            thread::spawn(move || list.wake_all())
        };
        let mut newcomer = pin!(Notified::new(Arc::clone(&list)));
        assert!(poll_as(3, newcomer.as_mut()).is_pending());
        let first = poll_as(1, old[0].as_mut());
        let second = poll_as(2, old[1].as_mut());
        // Whoever sees the release sees all of it.
        assert!(first.is_pending() || second.is_ready());
        releaser.join().unwrap();
        let came_before = poll_as(3, newcomer.as_mut()).is_ready();
        assert!(first.is_pending() || !came_before || second.is_ready());
        assert_ne!(list.wake_one(From::Oldest), came_before);
    });
}

// B128: a waiter of the list that a release of all works off is dropped meanwhile.
// WITNESS: wait-list.newcomers, wait-list.node
#[test]
fn release_of_all_racing_a_drop_reaches_the_others() {
    loom::model(|| {
        let list = notifications();
        let dropped = {
            let mut first = Box::pin(Notified::new(Arc::clone(&list)));
            assert!(poll_as(1, first.as_mut()).is_pending());
            first
        };
        let mut stays = pin!(Notified::new(Arc::clone(&list)));
        assert!(poll_as(2, stays.as_mut()).is_pending());
        let releaser = {
            let list = Arc::clone(&list);
            thread::spawn(move || list.wake_all())
        };
        drop(dropped);
        releaser.join().unwrap();
        assert_eq!(poll_as(2, stays.as_mut()), Poll::Ready(Why::Released));
        assert!(!list.wake_one(From::Oldest));
    });
}

// WITNESS: wait-list.released, wait-list.state
#[test]
fn released_waiter_is_left_alone() {
    loom::model(|| {
        let list = notifications();
        let mut waiter = Box::pin(Notified::new(Arc::clone(&list)));
        assert!(poll_as(1, waiter.as_mut()).is_pending());
        let releaser = {
            let list = Arc::clone(&list);
            thread::spawn(move || list.wake_all())
        };
        // Touches the node without the lock when it reads RELEASED: a notifier that still is at it
        // is a race.
        waiter.as_mut().waiter().abandon(|()| ());
        drop(waiter);
        releaser.join().unwrap();
    });
}

// WITNESS: wait-list.woken, wait-list.outside
#[test]
fn waker_replaced_between_polls_is_the_one_that_is_woken() {
    loom::model(|| {
        let list = notifications();
        let mut waiter = Box::pin(Notified::new(Arc::clone(&list)));
        assert!(poll_as(1, waiter.as_mut()).is_pending());
        let moved = thread::spawn(move || block_on(waiter));
        notify(&list, From::Oldest);
        moved.join().unwrap();
    });
}

// WITNESS: wait-list.hand-on, wait-list.woken
#[test]
fn offers_of_one_section_are_all_woken_whoever_drops() {
    loom::model(|| {
        let list = notifications();
        let mut first = Box::pin(Notified::new(Arc::clone(&list)));
        assert!(poll_as(1, first.as_mut()).is_pending());
        let second = {
            let list = Arc::clone(&list);
            thread::spawn(move || block_on(Notified::new(list)))
        };
        // With batches of one the second offer is made before its waker is called.
        let both = list.with(|queue| {
            queue.wake_one(From::Oldest);
            queue.wake_one(From::Oldest)
        });
        if !both {
            notify(&list, From::Oldest);
        }
        drop(first);
        second.join().unwrap();
    });
}

// WITNESS: wait-list.revoke, wait-list.hand-on
#[test]
fn offer_racing_the_end_of_a_poll_is_revoked_by_a_later_one() {
    loom::model(|| {
        let list = Arc::new(Permits::revocable(0));
        let mut unpolled = Box::pin(Acquire::new(Arc::clone(&list), 1));
        assert!(poll_as(1, unpolled.as_mut()).is_pending());
        let releaser = {
            let list = Arc::clone(&list);
            thread::spawn(move || {
                release(&list, 1);
                list.diagnose().offers.len()
            })
        };
        poll_of_nothing(1);
        releaser.join().unwrap();
        // The poll that the offer's wake asked for.
        poll_of_nothing(1);
        assert_eq!(list.kind().available(), 1);
        assert!(list.diagnose().offers.is_empty());
        assert_eq!(poll_as(1, unpolled.as_mut()), Poll::Ready(Why::Again));
    });
}

// WITNESS: wait-list.revoke, wait-list.node
#[test]
fn revocation_racing_a_drop_elsewhere_conserves_the_permit() {
    loom::model(|| {
        let list = Arc::new(Permits::revocable(0));
        let mut waiter = Box::pin(Acquire::new(Arc::clone(&list), 1));
        assert!(poll_as(1, waiter.as_mut()).is_pending());
        release(&list, 1);
        let elsewhere = thread::spawn(move || drop(waiter));
        poll_of_nothing(1);
        elsewhere.join().unwrap();
        assert_eq!(list.kind().available(), 1);
        assert!(list.diagnose().offers.is_empty());
    });
}

// WITNESS: wait-list.hand-on
#[test]
fn waiter_of_the_same_task_takes_over_what_is_not_polled() {
    loom::model(|| {
        let list = Arc::new(Permits::list(0));
        let releaser = {
            let list = Arc::clone(&list);
            thread::spawn(move || release(&list, 1))
        };
        block_on(async {
            let mut unpolled = pin!(Acquire::new(&*list, 1));
            let first = poll_fn(|cx| Poll::Ready(unpolled.as_mut().poll(cx))).await;
            if first.is_pending() {
                // Holds a future that it does not poll, and waits behind it: the futurelock.
                Acquire::new(&*list, 1).await;
            }
        });
        releaser.join().unwrap();
        assert_eq!(list.kind().available(), 0);
    });
}

// B145: registering and notifying under contention; there is no second queue.
// WITNESS: wait-list.order, wait-list.hand-on
#[test]
fn permits_are_conserved_by_two_that_contend() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let list = Arc::new(Permits::list(1));
        let other = {
            let list = Arc::clone(&list);
            thread::spawn(move || {
                block_on(Acquire::new(Arc::clone(&list), 1));
                release(&list, 1);
            })
        };
        let dropped = {
            let list = Arc::clone(&list);
            thread::spawn(move || {
                let mut given_up = Box::pin(Acquire::new(Arc::clone(&list), 1));
                if poll_as(7, given_up.as_mut()).is_ready() {
                    release(&list, 1);
                }
            })
        };
        block_on(Acquire::new(Arc::clone(&list), 1));
        release(&list, 1);
        other.join().unwrap();
        dropped.join().unwrap();
        assert_eq!(list.kind().available(), 1);
    });
}
