//! What the types give out besides waiting: parts of values, traits, and a look at who waits.

use mainspring_sync::mutex::OwnedMappedMutexGuard;
use mainspring_sync::rwlock::{OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard};
use mainspring_sync::{
    Mutex, OwnedMutexGuard, RwLock, SetOnce, broadcast, channel, oneshot, watch,
};
use std::cell::Cell;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn owned_guard_of_a_part_keeps_the_mutex_and_its_lock() {
    let mutex = Arc::new(Mutex::new((1, String::from("a"))));
    let guard = mutex.try_lock_owned().unwrap();
    let text = OwnedMutexGuard::map(guard, |value| &mut value.1);
    let mut bytes = OwnedMappedMutexGuard::map(text, |text| text.as_mut_str());
    bytes.make_ascii_uppercase();
    assert_eq!(&*bytes, "A");
    assert!(mutex.try_lock().is_none());
    let weak = Arc::downgrade(&mutex);
    drop(mutex);
    // On another thread, as the last holder.
    std::thread::spawn(move || drop(bytes)).join().unwrap();
    assert!(weak.upgrade().is_none());
}

#[test]
fn part_that_is_not_there_gives_the_owned_guard_back() {
    let mutex = Arc::new(Mutex::new(vec![1]));
    let guard = mutex.try_lock_owned().unwrap();
    let guard = OwnedMutexGuard::try_map(guard, |all| all.get_mut(7)).unwrap_err();
    let mut first = OwnedMutexGuard::try_map(guard, |all| all.first_mut()).unwrap();
    *first += 1;
    drop(first);
    assert_eq!(*mutex.try_lock().unwrap(), [2]);
}

#[test]
fn owned_guards_of_parts_of_a_lock_read_together_and_write_alone() {
    let lock = Arc::new(RwLock::new((1, 2)));
    let one = lock.try_read_owned().unwrap();
    let one = mainspring_sync::rwlock::OwnedRwLockReadGuard::map(one, |value| &value.0);
    let two = lock.try_read_owned().unwrap();
    let two = mainspring_sync::rwlock::OwnedRwLockReadGuard::map(two, |value| &value.1);
    let two = OwnedMappedRwLockReadGuard::map(two, |two| two);
    assert_eq!((*one, *two), (1, 2));
    assert!(lock.try_write().is_none());
    drop((one, two));
    let both = lock.try_write_owned().unwrap();
    let both = mainspring_sync::rwlock::OwnedRwLockWriteGuard::map(both, |value| value);
    let mut one = OwnedMappedRwLockWriteGuard::map(both, |value| &mut value.0);
    *one = 7;
    assert!(lock.try_read().is_none());
    drop(one);
    assert_eq!(*lock.try_read().unwrap(), (7, 2));
}

#[test]
fn part_whose_choice_panics_frees_the_lock() {
    let mutex = Arc::new(Mutex::new(1));
    let guard = mutex.try_lock_owned().unwrap();
    let caught = catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _part: OwnedMappedMutexGuard<i32, i32> =
            OwnedMutexGuard::map(guard, |_| panic!("on purpose"));
    }));
    assert!(caught.is_err());
    assert!(mutex.try_lock().is_some());
}

#[test]
fn ends_may_be_looked_at_after_a_panic_whatever_they_carry() {
    fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
    type Any = Rc<Cell<u8>>;
    is_unwind_safe::<channel::Sender<Any>>();
    is_unwind_safe::<channel::WeakSender<Any>>();
    is_unwind_safe::<channel::Receiver<Any>>();
    is_unwind_safe::<channel::rendezvous::Sender<Any>>();
    is_unwind_safe::<channel::rendezvous::WeakSender<Any>>();
    is_unwind_safe::<channel::rendezvous::Receiver<Any>>();
    is_unwind_safe::<broadcast::Sender<Any>>();
    is_unwind_safe::<broadcast::LossySender<Any>>();
    is_unwind_safe::<broadcast::Receiver<Any>>();
    is_unwind_safe::<oneshot::Sender<Any>>();
    is_unwind_safe::<oneshot::Receiver<Any>>();
    is_unwind_safe::<watch::Sender<u8>>();
    is_unwind_safe::<watch::Receiver<u8>>();
    let (tx, rx) = channel::bounded(1);
    let caught = catch_unwind(|| {
        tx.try_send(1).unwrap();
        panic!("on purpose");
    });
    assert!(caught.is_err());
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn value_of_a_cell_is_taken_out_with_a_waiter_forgotten() {
    /// Where it is, so that a leak checker tells what is forgotten on purpose from a leak.
    static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);
    let cell = SetOnce::new();
    let mut waits = Box::pin(cell.wait());
    assert!(poll(waits.as_mut()).is_pending());
    FORGOTTEN.store(std::ptr::from_ref(&*waits).addr(), Relaxed);
    std::mem::forget(waits);
    cell.set(Arc::new(1)).unwrap();
    let value = cell.into_inner().unwrap();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn room_that_was_granted_and_not_fetched_is_in_the_diagnosis() {
    let (tx, rx) = channel::bounded(1);
    tx.try_send(1).unwrap();
    let mut first = Box::pin(tx.send(2));
    assert!(poll(first.as_mut()).is_pending());
    assert_eq!((tx.diagnose().waiting, tx.diagnose().offers.len()), (1, 0));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!((tx.diagnose().waiting, tx.diagnose().offers.len()), (0, 1));
    assert!(poll(first.as_mut()).is_ready());
    assert!(tx.diagnose().offers.is_empty());
    assert_eq!(rx.try_recv(), Ok(2));
    let mut receives = Box::pin(rx.recv());
    assert!(poll(receives.as_mut()).is_pending());
    assert_eq!(rx.diagnose().waiting, 1);
}

#[test]
fn receiver_that_was_told_and_does_not_come_is_in_the_diagnosis_of_both_ends() {
    let (tx, rx) = channel::rendezvous();
    let mut receives = Box::pin(rx.recv());
    assert!(poll(receives.as_mut()).is_pending());
    let mut sends = Box::pin(tx.send(1));
    assert!(poll(sends.as_mut()).is_pending());
    assert_eq!(
        (tx.diagnose().offers.len(), rx.diagnose().offers.len()),
        (1, 1)
    );
    assert_eq!(poll(receives.as_mut()), Poll::Ready(Ok(1)));
    assert!(tx.diagnose().offers.is_empty());
}

#[test]
fn lossless_sender_that_was_offered_room_is_in_the_diagnosis() {
    let (tx, mut rx) = broadcast::lossless(1);
    tx.try_send(1).unwrap();
    let mut sends = Box::pin(tx.send(2));
    assert!(poll(sends.as_mut()).is_pending());
    assert_eq!(tx.diagnose().waiting, 1);
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!((tx.diagnose().waiting, tx.diagnose().offers.len()), (0, 1));
    assert!(poll(sends.as_mut()).is_ready());
    assert_eq!(rx.try_recv(), Ok(2));
    let diagnosis = rx.diagnose();
    assert_eq!((diagnosis.waiting, diagnosis.offers.len()), (0, 0));
}
