//! Waiters that are forgotten, and lists that go on, or end, without them.

use super::kinds::{Acquire, Permits, release};
use crate::poll::{Polling, TaskStamp};
use crate::wait::WaitSlot;
use crate::wait_list::{From, Kind, Queue, WaitList, Waiter};
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Forgets a future. A leak checker finds it here: it is no leak.
fn forget<F>(future: Pin<Box<F>>) {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap();
    kept.push(ptr::from_ref(&*future).expose_provenance());
    std::mem::forget(future);
}

/// Numbers for tasks that no other test polls.
fn task() -> u64 {
    static NEXT: AtomicUsize = AtomicUsize::new(0x0F0F_0000);
    NEXT.fetch_add(1, Relaxed) as u64
}

/// A poll of `task` that does what `f` does.
fn in_task<R>(task: u64, f: impl FnOnce() -> R) -> R {
    let slot = WaitSlot::of(TaskStamp { task, polls: 0 });
    let _polling = Polling::begin(Some(&slot));
    f()
}

fn poll_in<F: Future>(task: u64, future: Pin<&mut F>) -> Poll<F::Output> {
    in_task(task, || {
        future.poll(&mut Context::from_waker(Waker::noop()))
    })
}

/// In the queue of `list`, and forgotten.
fn forgotten_by(task: u64, list: &WaitList<Permits>, wanted: usize) {
    let mut waits = Box::pin(Acquire::new(list, wanted));
    assert!(poll_in(task, waits.as_mut()).is_pending());
    forget(waits);
}

// WITNESS: wait-list.retired, wait-list.node
#[test]
fn offer_to_a_forgotten_waiter_is_revoked_wherever_the_list_is_by_then() {
    let task = task();
    let list = Box::new(Permits::revocable(0));
    forgotten_by(task, &list, 1);
    release(&list, 1);
    assert_eq!(list.diagnose().offers.len(), 1);
    // The box is freed: whoever looks for the list there finds nothing.
    let moved = *list;
    in_task(task, || ());
    assert_eq!(moved.kind().available(), 1);
    assert!(moved.diagnose().offers.is_empty());
    let mut other = Box::pin(Acquire::new(&moved, 1));
    let polled = poll_in(self::task(), other.as_mut());
    assert!(polled.is_ready(), "what the forgotten one lost is free");
}

// WITNESS: wait-list.retired
#[test]
fn list_that_is_dropped_takes_its_kind_along_and_is_not_touched_again() {
    struct Noted(Arc<AtomicUsize>);

    impl Kind for Noted {
        type Key = Arc<AtomicUsize>;

        fn returned(&self, _: &mut Queue<'_, Self>, key: &Self::Key, _: From) {
            self.0.fetch_add(100, Relaxed);
            key.fetch_add(100, Relaxed);
        }
    }

    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    let (task, notes) = (task(), Arc::new(AtomicUsize::new(0)));
    let list = WaitList::revocable(Noted(Arc::clone(&notes)));
    let mut waits = Box::pin(Waiter::new(&list, Arc::clone(&notes)));
    in_task(task, || {
        let mut cx = Context::from_waker(Waker::noop());
        let parked = waits.as_mut().poll_wait(&mut cx, |_, _, _| None::<()>);
        assert!(parked.is_pending());
    });
    forget(waits);
    assert!(list.wake_one(From::Oldest));
    drop(list);
    assert_eq!(notes.load(Relaxed), 1, "dropped with its list, once");
    in_task(task, || ());
    assert_eq!(notes.load(Relaxed), 1);
}

// WITNESS: wait-list.retired
#[test]
fn kind_is_lent_and_taken_out_whoever_was_forgotten() {
    let task = task();
    let mut list = Permits::revocable(0);
    forgotten_by(task, &list, 1);
    release(&list, 1);
    *list.kind_mut() = Permits::of(5);
    in_task(task, || ());
    assert_eq!(list.kind().available(), 5, "nobody but its owner is at it");
    assert_eq!(list.diagnose().offers.len(), 1, "it keeps what it has");
    // One that waits from here on is watched as ever.
    let other = self::task();
    let mut unpolled = Box::pin(Acquire::new(&list, 6));
    assert!(poll_in(other, unpolled.as_mut()).is_pending());
    release(&list, 1);
    assert_eq!(list.diagnose().offers.len(), 2);
    in_task(other, || ());
    assert_eq!(list.kind().available(), 6);
    drop(unpolled);
    forgotten_by(other, &list, 7);
    assert_eq!(list.into_kind().available(), 6);
    in_task(other, || ());
}

// WITNESS: wait-list.retired
#[test]
fn kind_of_a_list_without_watches_is_lent_where_it_lies() {
    let mut list = Permits::revocable(1);
    assert_eq!(list.kind_mut().available(), 1);
    let at = ptr::from_ref(list.kind());
    *list.kind_mut() = Permits::of(2);
    assert!(ptr::eq(at, list.kind()));
    let mut moved = Permits::list(1);
    *moved.kind_mut() = Permits::of(3);
    assert_eq!(moved.into_kind().available(), 3);
    assert_eq!(list.into_kind().available(), 2);
}
