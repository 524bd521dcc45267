//! Offers that nobody polls for: who gets them, and what is said about them.

use super::behaviour::{counted, poll};
use super::kinds::{Acquire, Permits, release};
use crate::poll::{Polling, Root, TaskStamp};
use crate::wait::WaitSlot;
use crate::wait_list::{Cure, Why};
use std::pin::{Pin, pin};
use std::task::{Poll, Waker};

fn in_task<R>(task: u64, f: impl FnOnce() -> R) -> R {
    let slot = WaitSlot::of(TaskStamp { task, polls: 0 });
    let _polling = Polling::begin(Some(&slot));
    f()
}

fn poll_in<F: Future>(task: u64, future: Pin<&mut F>) -> Poll<F::Output> {
    in_task(task, || poll(future, Waker::noop()))
}

// WITNESS: wait-list.hand-on
#[test]
fn lock_taken_again_by_a_task_that_holds_an_unpolled_one() {
    let list = Permits::list(1);
    let mut holder = pin!(Acquire::new(&list, 1));
    assert!(poll_in(1, holder.as_mut()).is_ready());
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(poll_in(2, unpolled.as_mut()).is_pending());
    let mut other = pin!(Acquire::new(&list, 1));
    assert!(poll_in(3, other.as_mut()).is_pending());
    release(&list, 1);
    // The offer is with `unpolled`. Its task waits for the same lock once more.
    let mut driven = pin!(Acquire::new(&list, 1));
    assert!(poll_in(2, driven.as_mut()).is_ready());
    // The loser kept its place, but must be polled to be offered something again.
    assert!(poll_in(2, unpolled.as_mut()).is_pending());
    release(&list, 1);
    assert!(poll_in(2, unpolled.as_mut()).is_ready());
    release(&list, 1);
    assert!(poll_in(3, other.as_mut()).is_ready());
}

// WITNESS: wait-list.hand-on
#[test]
fn under_a_foreign_executor_the_waker_tells_the_task() {
    let list = Permits::list(0);
    let [(_, one), (_, two)] = [counted(), counted()];
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(poll(unpolled.as_mut(), &one).is_pending());
    release(&list, 1);
    let mut stranger = pin!(Acquire::new(&list, 1));
    assert!(
        poll(stranger.as_mut(), &two).is_pending(),
        "a newcomer never takes an offer"
    );
    let mut driven = pin!(Acquire::new(&list, 1));
    assert!(poll(driven.as_mut(), &one).is_ready());
}

// WITNESS: wait-list.hand-on
#[test]
fn offer_that_does_not_fit_stays_where_it_is() {
    let list = Permits::list(0);
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(poll_in(1, unpolled.as_mut()).is_pending());
    release(&list, 1);
    let mut wants_more = pin!(Acquire::new(&list, 2));
    assert!(poll_in(1, wants_more.as_mut()).is_pending());
    assert_eq!(list.diagnose().offers.len(), 1);
    assert!(poll_in(1, unpolled.as_mut()).is_ready());
}

// WITNESS: wait-list.hand-on
#[test]
fn surplus_of_what_was_taken_over_goes_on() {
    let list = Permits::list(0);
    let mut unpolled = pin!(Acquire::new(&list, 3));
    assert!(poll_in(1, unpolled.as_mut()).is_pending());
    let (counter, waker) = counted();
    let mut small = pin!(Acquire::new(&list, 1));
    assert!(poll(small.as_mut(), &waker).is_pending());
    release(&list, 3);
    let mut driven = pin!(Acquire::new(&list, 2));
    assert!(poll_in(1, driven.as_mut()).is_ready());
    assert_eq!(counter.calls(), 1);
    assert!(poll(small.as_mut(), &waker).is_ready());
}

// WITNESS: wait-list.revoke
#[test]
fn revocable_offer_passes_on_when_its_task_does_not_take_it() {
    let list = Permits::revocable(0);
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(poll_in(1, unpolled.as_mut()).is_pending());
    let (counter, waker) = counted();
    let mut next = pin!(Acquire::new(&list, 1));
    assert!(in_task(2, || poll(next.as_mut(), &waker)).is_pending());
    release(&list, 1);
    assert_eq!(counter.calls(), 0);
    in_task(3, || ());
    assert_eq!(counter.calls(), 0, "another task's poll says nothing");
    in_task(1, || ());
    assert_eq!(counter.calls(), 1);
    assert!(in_task(2, || poll(next.as_mut(), &waker)).is_ready());
    assert_eq!(list.diagnose().lapsed, 1);
    release(&list, 1);
    assert_eq!(poll_in(1, unpolled.as_mut()), Poll::Ready(Why::Again));
}

// WITNESS: wait-list.revoke
#[test]
fn offer_made_during_a_poll_outlives_that_poll() {
    let list = Permits::revocable(0);
    let mut waits = pin!(Acquire::new(&list, 1));
    in_task(1, || {
        assert!(poll(waits.as_mut(), Waker::noop()).is_pending());
        release(&list, 1);
    });
    assert_eq!(
        list.diagnose().offers.len(),
        1,
        "the poll began before the offer"
    );
    assert!(poll_in(1, waits.as_mut()).is_ready());
}

// WITNESS: wait-list.revoke
#[test]
fn strict_offer_stays() {
    let list = Permits::list(0);
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(poll_in(1, unpolled.as_mut()).is_pending());
    release(&list, 1);
    in_task(1, || ());
    let diagnosis = list.diagnose();
    assert_eq!(diagnosis.offers[0].task, Some(1));
    assert_eq!(diagnosis.offers[0].cure, Cure::SameTask);
    assert!(
        diagnosis
            .to_string()
            .contains("task 1 has not taken an offer"),
        "{diagnosis}"
    );
}

// WITNESS: wait-list.revoke
#[test]
fn future_that_moves_is_watched_in_its_new_task() {
    let list = Permits::revocable(0);
    let mut moves = Box::pin(Acquire::new(&list, 1));
    assert!(poll_in(1, moves.as_mut()).is_pending());
    assert!(poll_in(2, moves.as_mut()).is_pending());
    release(&list, 1);
    in_task(1, || ());
    assert_eq!(list.diagnose().offers[0].task, Some(2));
    in_task(2, || ());
    assert!(list.diagnose().offers.is_empty());
    // To a foreign executor, which revokes nothing.
    let (_, waker) = counted();
    assert_eq!(poll(moves.as_mut(), &waker), Poll::Ready(Why::Again));
}

// WITNESS: wait-list.hand-on
#[test]
fn root_takes_over_among_its_own_futures_whatever_their_wakers() {
    let list = Permits::list(0);
    let (mut root, mut other) = (Root::new(), Root::new());
    let [(_, one), (_, two), (_, three)] = [counted(), counted(), counted()];
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(root.poll(|| poll(unpolled.as_mut(), &one)).is_pending());
    release(&list, 1);
    let mut theirs = pin!(Acquire::new(&list, 1));
    assert!(other.poll(|| poll(theirs.as_mut(), &three)).is_pending());
    let diagnosis = list.diagnose();
    assert!(diagnosis.offers[0].is_root);
    assert_eq!(diagnosis.offers[0].cure, Cure::SameTask);
    let said = diagnosis.to_string();
    assert!(said.contains("the root of a block_on"), "{said}");
    let mut driven = pin!(Acquire::new(&list, 1));
    assert!(root.poll(|| poll(driven.as_mut(), &two)).is_ready());
}

// WITNESS: wait-list.revoke
#[test]
fn root_that_is_polled_and_does_not_take_an_offer_loses_it() {
    let list = Permits::revocable(0);
    let mut root = Root::new();
    let (_, one) = counted();
    let (told, two) = counted();
    let mut unpolled = pin!(Acquire::new(&list, 1));
    assert!(root.poll(|| poll(unpolled.as_mut(), &one)).is_pending());
    let mut next = pin!(Acquire::new(&list, 1));
    assert!(poll(next.as_mut(), &two).is_pending());
    // Offered within a poll: it began before, and says nothing.
    root.poll(|| release(&list, 1));
    let offer = list.diagnose().offers[0];
    assert_eq!((offer.is_root, offer.cure), (true, Cure::Revocation));
    assert_eq!(told.calls(), 0);
    // Of a root inside another, too, and of one that unwinds.
    let unwound = std::panic::AssertUnwindSafe(|| {
        Root::new().poll(|| root.poll(|| panic!("on purpose")));
    });
    assert!(std::panic::catch_unwind(unwound).is_err());
    assert_eq!(told.calls(), 1);
    assert!(poll(next.as_mut(), &two).is_ready());
}

#[test]
fn foreign_executor_is_said_to_revoke_nothing() {
    let list = Permits::revocable(0);
    let mut unpolled = pin!(Acquire::new(&list, 1));
    let (_, waker) = counted();
    assert!(poll(unpolled.as_mut(), &waker).is_pending());
    release(&list, 1);
    let diagnosis = list.diagnose();
    assert_eq!(
        (diagnosis.offers[0].task, diagnosis.offers[0].since),
        (None, None)
    );
    assert_eq!(diagnosis.offers[0].cure, Cure::SameWaker);
    assert!(
        diagnosis.to_string().contains("another executor"),
        "{diagnosis}"
    );
}

// WITNESS: wait-list.revoke, wait-list.woken
#[test]
fn revoked_permits_reach_more_waiters_than_one_batch_holds() {
    let list = Permits::revocable(0);
    let mut large = pin!(Acquire::new(&list, 100));
    assert!(poll_in(1, large.as_mut()).is_pending());
    let (counter, waker) = counted();
    let mut small: Vec<_> = (0..100).map(|_| Box::pin(Acquire::new(&list, 1))).collect();
    for one in &mut small {
        assert!(poll(one.as_mut(), &waker).is_pending());
    }
    release(&list, 100);
    assert_eq!(counter.calls(), 0);
    in_task(1, || ());
    assert_eq!(counter.calls(), 100);
}

// WITNESS: wait-list.hand-on, wait-list.order
/// The last offer first; who lost it keeps its place among those that wait.
#[test]
fn offers_that_are_taken_back_are_the_callers() {
    let list = Permits::list(0);
    let take_back = || list.with(|queue| queue.take_back());
    assert!(!take_back(), "nobody waits");
    let [(_, one), (_, two), (_, three)] = [counted(), counted(), counted()];
    let mut waiters = [(); 3].map(|()| Box::pin(Acquire::new(&list, 1)));
    for (waiter, waker) in waiters.iter_mut().zip([&one, &two, &three]) {
        assert!(poll(waiter.as_mut(), waker).is_pending());
    }
    assert!(!take_back(), "nobody has an offer");
    release(&list, 2);
    assert!(take_back());
    let [first, second, third] = &mut waiters;
    assert!(poll(second.as_mut(), &two).is_pending());
    assert!(poll(first.as_mut(), &one).is_ready());
    assert!(!take_back(), "it was taken up");
    release(&list, 1);
    assert!(poll(third.as_mut(), &three).is_pending());
    assert!(poll(second.as_mut(), &two).is_ready());
}
