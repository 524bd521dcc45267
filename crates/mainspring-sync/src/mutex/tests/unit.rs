//! What a mutex looks like from outside.

use crate::mutex::{MappedMutexGuard, Mutex, MutexGuard};
use crate::semaphore::tests::support::{counted, poll, poll_alone};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

// WITNESS: mutex.exclusive
#[test]
fn one_at_a_time_in_the_order_of_arrival() {
    let mutex = Mutex::new(Vec::new());
    let held = mutex.try_lock().unwrap();
    let mut waiters: Vec<_> = (0..4).map(|_| Box::pin(mutex.lock())).collect();
    for waiter in &mut waiters {
        assert!(poll_alone(waiter.as_mut()).is_pending());
    }
    assert!(mutex.try_lock().is_none() && mutex.is_locked());
    drop(held);
    assert!(mutex.try_lock().is_none(), "it is offered to the first");
    for first in 0..4 {
        for (at, waiter) in waiters.iter_mut().enumerate().skip(first + 1) {
            assert!(
                poll_alone(waiter.as_mut()).is_pending(),
                "{at} passed {first}"
            );
        }
        let Poll::Ready(mut guard) = poll_alone(waiters[first].as_mut()) else {
            panic!("{first} was offered the lock");
        };
        guard.push(first);
    }
    drop(waiters);
    assert_eq!(mutex.into_inner(), [0, 1, 2, 3]);
}

// B178: each unlock wakes one, and nobody is woken twice.
#[test]
fn every_unlock_wakes_exactly_one() {
    let mutex = Mutex::new(());
    let mut held = mutex.try_lock();
    let mut waiters: Vec<_> = (0..200)
        .map(|_| (Box::pin(mutex.lock()), counted()))
        .collect();
    for (waiter, (_, waker)) in &mut waiters {
        assert!(poll(waiter.as_mut(), waker).is_pending());
    }
    for served in 0..waiters.len() {
        drop(held.take());
        let wakes: usize = waiters
            .iter()
            .map(|(_, (counter, _))| counter.calls())
            .sum();
        assert_eq!(wakes, served + 1);
        let (waiter, (_, waker)) = &mut waiters[served];
        let Poll::Ready(guard) = poll(waiter.as_mut(), waker) else {
            panic!("the next was woken");
        };
        held = Some(guard);
    }
}

// S1, S20
// WITNESS: mutex.exclusive, mutex.pinned
#[test]
fn dropped_waiter_passes_the_lock_on() {
    let mutex = Arc::new(Mutex::new(0));
    let held = mutex.try_lock_owned().unwrap();
    let mut first = Box::pin(mutex.lock_owned());
    let mut second = pin!(mutex.lock());
    assert!(poll_alone(first.as_mut()).is_pending());
    assert!(poll_alone(second.as_mut()).is_pending());
    drop(held);
    drop(first);
    assert!(poll_alone(second.as_mut()).is_ready());
    assert!(!mutex.is_locked());
    assert_eq!(Arc::strong_count(&mutex), 1);
}

// WITNESS: mutex.panicked
#[test]
fn panic_leaves_a_mark_and_no_poison() {
    let mutex = Mutex::new(1);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = mutex.lock_blocking();
        *guard = 2;
        panic!("half way");
    }));
    assert!(unwound.is_err());
    let guard = mutex.try_lock().unwrap();
    assert!(mutex.has_panicked());
    assert_eq!(*guard, 2);
    mutex.clear_panicked();
    drop(guard);
    assert!(!mutex.has_panicked());
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        drop(MutexGuard::map(
            mutex.lock_blocking(),
            |_: &mut i32| -> &mut i32 { panic!() },
        ));
    }));
    assert!(unwound.is_err() && mutex.has_panicked() && !mutex.is_locked());
}

struct LocksInDrop<'a>(&'a Mutex<i32>);

impl Drop for LocksInDrop<'_> {
    fn drop(&mut self) {
        *self.0.lock_blocking() += 1;
    }
}

// WITNESS: mutex.panicked
#[test]
fn lock_taken_while_a_panic_is_under_way_is_not_blamed() {
    let mutex = Mutex::new(0);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _locks = LocksInDrop(&mutex);
        panic!("before the lock");
    }));
    assert!(unwound.is_err());
    assert_eq!(*mutex.lock_blocking(), 1);
    assert!(!mutex.has_panicked());
}

// WITNESS: mutex.exclusive
#[test]
fn mapped_guard_is_the_lock() {
    let mutex = Mutex::new((1, [2, 3]));
    let part = MutexGuard::map(mutex.lock_blocking(), |value| &mut value.1);
    assert!(mutex.try_lock().is_none());
    let mut part = MappedMutexGuard::map(part, |part| &mut part[1]);
    *part = 4;
    thread::scope(|scope| scope.spawn(move || drop(part)).join().unwrap());
    let guard = MutexGuard::try_map(mutex.try_lock().unwrap(), |value| value.1.get_mut(7));
    let guard = guard.unwrap_err();
    let part = MutexGuard::try_map(guard, |value| value.1.get_mut(1)).unwrap();
    assert_eq!(format!("{part:?}"), "4");
    drop(part);
    assert_eq!(mutex.into_inner(), (1, [2, 4]));
}

#[test]
fn blocking_waits_and_gives_up_in_time() {
    let mutex = Arc::new(Mutex::new(0));
    let held = mutex.lock_owned_blocking();
    assert!(mutex.lock_timeout(Duration::ZERO).is_none());
    let other = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || *mutex.lock_blocking() += 1)
    };
    while mutex.diagnose().waiting == 0 {
        thread::yield_now();
    }
    drop(held);
    other.join().unwrap();
    assert_eq!(*mutex.lock_timeout(Duration::from_secs(9)).unwrap(), 1);
}

#[test]
fn values_without_a_size_are_guarded_too() {
    let mutex: Arc<Mutex<dyn Fn() -> i32 + Send>> = Arc::new(Mutex::new(|| 7));
    assert_eq!((mutex.lock_blocking())(), 7);
    assert_eq!((mutex.lock_owned_blocking())(), 7);
    let boxed: Box<Mutex<[u8]>> = Box::new(Mutex::new([1, 2]));
    assert_eq!(boxed.lock_blocking().len(), 2);
}

#[test]
fn value_is_reached_without_the_lock_by_its_owner() {
    let mut mutex = Mutex::from(1).revocable();
    *mutex.get_mut() += 1;
    assert_eq!(format!("{:?}", mutex.lock_blocking()), "2");
    let shown = format!("{mutex:?}");
    assert!(
        shown.contains("value: 2") && shown.contains("panicked: false"),
        "{shown}"
    );
    let guard = mutex.lock_blocking();
    assert!(format!("{mutex:?}").contains("<locked>"));
    drop(guard);
    assert_eq!(mutex.into_inner(), 2);
    assert_eq!(Mutex::<u8>::default().into_inner(), 0);
}
