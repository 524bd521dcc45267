//! Offers that are taken without the lock.

use super::behaviour::poll;
use super::kinds::{Notified, Stored, notify};
use crate::poll::{Polling, TaskStamp};
use crate::wait::WaitSlot;
use crate::wait_list::{From, WaitList, Waiter, Why};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn in_task<R>(task: u64, f: impl FnOnce() -> R) -> R {
    let slot = WaitSlot::of(TaskStamp { task, polls: 0 });
    let _polling = Polling::begin(Some(&slot));
    f()
}

fn take(waits: Pin<&mut Notified<&WaitList<Stored>>>) -> Option<From> {
    waits
        .waiter()
        .take_offer(&Context::from_waker(Waker::noop()))
}

// WITNESS: wait-list.lone
#[test]
fn offer_is_taken_once_and_leaves_the_waiter_idle() {
    for by in [None, Some(1)] {
        let within = |f: &mut dyn FnMut()| match by {
            Some(task) => in_task(task, f),
            None => f(),
        };
        within(&mut || {
            let list = WaitList::<Stored>::default();
            let mut waits = pin!(Notified::new(&list));
            assert_eq!(take(waits.as_mut()), None, "it does not wait");
            assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
            assert_eq!(take(waits.as_mut()), None, "nothing was offered");
            list.wake_one(From::Newest);
            assert_eq!(take(waits.as_mut()), Some(From::Newest));
            assert_eq!(take(waits.as_mut()), None, "it was taken");
            assert!(list.diagnose().offers.is_empty());
            // It waits again, as a newcomer.
            assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
            notify(&list, From::Oldest);
            assert_eq!(
                poll(waits.as_mut(), Waker::noop()),
                Poll::Ready(Why::Offered(From::Oldest))
            );
        });
    }
}

// WITNESS: wait-list.lone, wait-list.hand-on
#[test]
fn offers_beside_the_first_are_found_under_the_lock() {
    let list = WaitList::<Stored>::default();
    let mut first = pin!(Notified::new(&list));
    let mut second = pin!(Notified::new(&list));
    assert!(in_task(1, || poll(first.as_mut(), Waker::noop())).is_pending());
    assert!(in_task(2, || poll(second.as_mut(), Waker::noop())).is_pending());
    notify(&list, From::Oldest);
    notify(&list, From::Oldest);
    assert_eq!(list.diagnose().offers.len(), 2);
    assert_eq!(in_task(2, || take(second.as_mut())), None);
    assert_eq!(in_task(1, || take(first.as_mut())), Some(From::Oldest));
    let told = in_task(2, || poll(second.as_mut(), Waker::noop()));
    assert_eq!(told, Poll::Ready(Why::Offered(From::Oldest)));
    assert!(list.diagnose().offers.is_empty());
}

// WITNESS: wait-list.lone
#[test]
fn one_that_was_moved_to_another_task_takes_its_offer() {
    let list = WaitList::<Stored>::default();
    let mut waits = pin!(Notified::new(&list));
    assert!(in_task(1, || poll(waits.as_mut(), Waker::noop())).is_pending());
    notify(&list, From::Oldest);
    assert_eq!(in_task(2, || take(waits.as_mut())), Some(From::Oldest));
}

// WITNESS: wait-list.lone, wait-list.hand-on
#[test]
fn offer_in_the_slot_is_taken_over_named_and_handed_on() {
    let list = WaitList::<Stored>::default();
    let mut unpolled = Box::pin(Notified::new(&list));
    assert!(in_task(7, || poll(unpolled.as_mut(), Waker::noop())).is_pending());
    notify(&list, From::Oldest);
    assert_eq!(list.diagnose().offers[0].task, Some(7));
    assert!(format!("{list:?}").contains("offered: 1"));
    let mut another = pin!(Notified::new(&list));
    let told = in_task(7, || poll(another.as_mut(), Waker::noop()));
    assert_eq!(told, Poll::Ready(Why::Offered(From::Oldest)));
    assert_eq!(in_task(7, || take(unpolled.as_mut())), None, "it lost it");
    assert!(in_task(7, || poll(unpolled.as_mut(), Waker::noop())).is_pending());
    notify(&list, From::Oldest);
    drop(unpolled);
    // Stored, for nobody waits.
    assert!(poll(another, Waker::noop()).is_ready());
}

// WITNESS: wait-list.lone, wait-list.revoke
#[test]
fn revocable_list_leaves_nothing_in_the_slot() {
    let list = WaitList::revocable(());
    let mut waits = pin!(Waiter::new(&list, ()));
    in_task(1, || {
        let mut cx = Context::from_waker(Waker::noop());
        let parked = waits.as_mut().poll_wait(&mut cx, |_, (), _| None::<()>);
        assert!(parked.is_pending());
    });
    assert!(list.wake_one(From::Oldest));
    let cx = Context::from_waker(Waker::noop());
    assert_eq!(waits.as_mut().take_offer(&cx), None);
    assert_eq!(list.diagnose().offers.len(), 1);
}
