//! Lists that end, or lend their kind, while the end of a poll is at a waiter that was forgotten.

use super::poll_of_nothing;
use crate::poll::{Polling, TaskStamp};
use crate::sync::thread;
use crate::wait::WaitSlot;
use crate::wait_list::tests::kinds::Back;
use crate::wait_list::{From, WaitList, Waiter};
use std::mem;
use std::ptr;
use std::task::{Context, Waker};

/// Calls `f` with a list in which a waiter of task 1 has an offer, and was forgotten.
fn with_a_forgotten_waiter(f: impl FnOnce(WaitList<Back>)) {
    let list = Back::list();
    let mut waiter = Box::pin(Waiter::new(&list, ()));
    let slot = WaitSlot::of(TaskStamp { task: 1, polls: 0 });
    let polling = Polling::begin(Some(&slot));
    let mut cx = Context::from_waker(Waker::noop());
    let parked = waiter.as_mut().poll_wait(&mut cx, |_, (), _| None::<()>);
    assert!(parked.is_pending());
    drop(polling);
    assert!(list.wake_one(From::Oldest));
    let forgotten = ptr::from_ref(&*waiter).cast::<Waiter<&'static WaitList<Back>>>();
    mem::forget(waiter);
    f(list);
    // SAFETY: [wait-list.node] it was forgotten, and not freed; its list is not asked for. Models
    // do not like what is left over.
    drop(unsafe { &(*forgotten).watch }.take());
}

// WITNESS: wait-list.retired
#[test]
fn list_that_is_dropped_while_a_poll_ends_is_left_alone() {
    loom::model(|| {
        with_a_forgotten_waiter(|list| {
            let ends = thread::spawn(|| poll_of_nothing(1));
            drop(list);
            ends.join().unwrap();
        });
    });
}

// WITNESS: wait-list.retired
#[test]
fn kind_that_is_lent_while_a_poll_ends_is_its_borrowers() {
    loom::model(|| {
        with_a_forgotten_waiter(|mut list| {
            let ends = thread::spawn(|| poll_of_nothing(1));
            let came_back = list.kind_mut().add(0);
            ends.join().unwrap();
            assert_eq!(list.kind_mut().add(0), came_back);
            assert_eq!(list.into_kind().add(0), came_back);
        });
    });
}
