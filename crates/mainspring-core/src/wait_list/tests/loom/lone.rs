//! Models of the slot: the one offer that is taken without the lock.

use super::super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use super::{notifications, poll_as};
use crate::poll::{Polling, TaskStamp};
use crate::sync::{Arc, thread};
use crate::wait::WaitSlot;
use crate::wait_list::{From, WaitList};
use std::pin::Pin;
use std::task::{Context, Waker};

type Waits = Pin<Box<Notified<Arc<WaitList<Stored>>>>>;

/// Of whom a poll is: of a task of ours, or of whoever the waker is of.
type By = Option<u64>;

/// Calls `poll` in a poll of that task, or in none of ours.
fn within<R>(by: By, poll: impl FnOnce(&mut Context<'_>) -> R) -> R {
    let slot = by.map(|task| WaitSlot::of(TaskStamp { task, polls: 0 }));
    let polling = slot.as_ref().map(|slot| Polling::begin(Some(slot)));
    let result = poll(&mut Context::from_waker(Waker::noop()));
    drop(polling);
    result
}

fn parked(list: &Arc<WaitList<Stored>>, by: By) -> Waits {
    let mut waits = Box::pin(Notified::new(Arc::clone(list)));
    assert!(within(by, |cx| waits.as_mut().poll(cx)).is_pending());
    waits
}

fn takes(by: By, waits: &mut Waits) -> bool {
    within(by, |cx| waits.as_mut().waiter().take_offer(cx)).is_some()
}

fn is_ready(by: By, waits: &mut Waits) -> bool {
    within(by, |cx| waits.as_mut().poll(cx)).is_ready()
}

/// Whether a notification was stored, which nobody has got.
fn is_stored(list: &Arc<WaitList<Stored>>) -> bool {
    let mut newcomer = Box::pin(Notified::new(Arc::clone(list)));
    poll_as(99, newcomer.as_mut()).is_ready()
}

/// Runs both at once, `here` on the model's first thread, and then the other way round: loom sees
/// some orders of a load and an exchange from one side only.
fn race<A: 'static, B: 'static>(
    swapped: bool,
    one: impl FnOnce() -> A + 'static,
    other: impl FnOnce() -> B + 'static,
) -> (A, B) {
    if swapped {
        let one = thread::spawn(one);
        let other = other();
        (one.join().unwrap(), other)
    } else {
        let other = thread::spawn(other);
        let one = one();
        (one, other.join().unwrap())
    }
}

// WITNESS: wait-list.lone, wait-list.slot, wait-list.hand-on
#[test]
fn offer_that_is_taken_without_the_lock_is_the_owners_alone() {
    let cases = [false, true].map(|swapped| [(Some(1), swapped), (None, swapped)]);
    for (by, swapped) in cases.into_iter().flatten() {
        loom::model(move || {
            let list = notifications();
            let mut waits = parked(&list, by);
            let (takes_it, offers) = (
                move || {
                    let is_taken = takes(by, &mut waits);
                    // Freed at once: a notifier that still is at it is a race.
                    drop(waits);
                    is_taken
                },
                {
                    let list = Arc::clone(&list);
                    move || notify(&list, From::Oldest)
                },
            );
            let (is_taken, ()) = race(swapped, takes_it, offers);
            assert_ne!(is_taken, is_stored(&list));
        });
    }
}

// WITNESS: wait-list.lone, wait-list.slot, wait-list.hand-on
#[test]
fn offer_goes_to_its_waiter_or_to_another_of_the_same_task() {
    // With wakers that compare equal; and in the task that parked it, while its own future is
    // polled in another one.
    for (owner, parks, other) in [(None, None, None), (Some(2), Some(1), Some(1))] {
        for swapped in [false, true] {
            loom::model(move || {
                let list = notifications();
                let mut waits = parked(&list, parks);
                notify(&list, From::Oldest);
                let mut another = Box::pin(Notified::new(Arc::clone(&list)));
                let (own, took_over) = race(
                    swapped,
                    move || {
                        let is_taken = takes(owner, &mut waits);
                        (is_taken, waits)
                    },
                    move || (is_ready(other, &mut another), another),
                );
                assert_ne!(own.0, took_over.0);
                drop((own, took_over));
                assert!(!is_stored(&list));
                assert!(list.diagnose().offers.is_empty());
            });
        }
    }
}

// WITNESS: wait-list.lone
#[test]
fn waiter_of_another_task_leaves_the_slot_alone() {
    for swapped in [false, true] {
        loom::model(move || {
            let list = notifications();
            let mut waits = parked(&list, Some(1));
            notify(&list, From::Oldest);
            let looks = {
                let list = Arc::clone(&list);
                move || {
                    let mut another = Box::pin(Notified::new(Arc::clone(&list)));
                    assert!(!is_ready(Some(2), &mut another));
                    assert!(list.diagnose().offers.len() <= 1);
                }
            };
            let takes_it = move || (takes(Some(1), &mut waits), waits);
            // Freed later: loom does not know that whom an allocator gives memory to has seen what
            // came before it was freed.
            let ((is_taken, _waits), ()) = race(swapped, takes_it, looks);
            assert!(is_taken);
        });
    }
}

// WITNESS: wait-list.lone, wait-list.hand-on
#[test]
fn two_offers_reach_two_waiters_whichever_lies_in_the_slot() {
    for swapped in [false, true] {
        loom::model(move || {
            let list = notifications();
            let mut first = parked(&list, Some(1));
            let mut second = parked(&list, Some(2));
            notify(&list, From::Oldest);
            let offers = {
                let list = Arc::clone(&list);
                move || notify(&list, From::Oldest)
            };
            let takes_it = move || takes(Some(1), &mut first);
            let (is_taken, ()) = race(swapped, takes_it, offers);
            assert!(is_taken);
            assert!(is_ready(Some(2), &mut second));
            assert!(!is_stored(&list));
        });
    }
}

// WITNESS: wait-list.lone, wait-list.slot, wait-list.hand-on
#[test]
fn offer_goes_to_its_waiter_or_is_taken_back() {
    for swapped in [false, true] {
        loom::model(move || {
            let list = Arc::new(Permits::list(0));
            let mut waits = Box::pin(Acquire::new(Arc::clone(&list), 1));
            let parks = within(Some(1), |cx| waits.as_mut().poll(cx));
            assert!(parks.is_pending());
            release(&list, 1);
            let ((is_taken, waits), is_taken_back) = race(
                swapped,
                move || {
                    let taken = within(Some(1), |cx| waits.as_mut().waiter().take_offer(cx));
                    (taken.is_some(), waits)
                },
                {
                    let list = Arc::clone(&list);
                    move || list.with(|queue| queue.take_back())
                },
            );
            assert_ne!(is_taken, is_taken_back);
            drop(waits);
        });
    }
}
