//! What a condition variable looks like from outside.

use crate::condvar::{Condvar, Wait, WaitWhile};
use crate::mutex::Mutex;
use crate::semaphore::tests::support::{
    Otherwise, Probe, Tasks, auto_traits, counted, poll, poll_alone,
};
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

type Waits<'a> = Pin<Box<Wait<'a, u32>>>;

/// A wait that is queued, and has unlocked.
fn waiting<'a>(condvar: &'a Condvar, mutex: &'a Mutex<u32>) -> Waits<'a> {
    let mut wait = Box::pin(condvar.wait(mutex.try_lock().unwrap()));
    assert!(poll_alone(wait.as_mut()).is_pending());
    assert!(!mutex.is_locked());
    wait
}

// WITNESS: condvar.queued
#[test]
fn one_notification_ends_the_longest_wait() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(1));
    condvar.notify_one();
    let mut first = waiting(&condvar, &mutex);
    let mut second = waiting(&condvar, &mutex);
    assert!(poll_alone(first.as_mut()).is_pending());
    condvar.notify_one();
    assert!(poll_alone(second.as_mut()).is_pending());
    let Poll::Ready(mut guard) = poll_alone(first.as_mut()) else {
        panic!("it was notified");
    };
    *guard += 1;
    drop(guard);
    condvar.notify_one();
    assert!(matches!(poll_alone(second.as_mut()), Poll::Ready(guard) if *guard == 2));
    assert!(format!("{condvar:?}").contains("waiting: 0"));
}

// WITNESS: condvar.queued
#[test]
fn notified_wait_queues_for_the_mutex() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(1));
    let (counter, waker) = counted();
    let mut wait = Box::pin(condvar.wait(mutex.try_lock().unwrap()));
    assert!(poll(wait.as_mut(), &waker).is_pending());
    let held = mutex.try_lock().unwrap();
    condvar.notify_one();
    assert!(poll(wait.as_mut(), &waker).is_pending());
    drop(held);
    assert_eq!(
        counter.calls(),
        2,
        "once for the notification, once for the lock"
    );
    assert!(poll(wait.as_mut(), &waker).is_ready());
}

// S6: who comes later is not among those that were all notified.
#[test]
fn all_are_notified_that_wait_now() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(1));
    let mut early: Vec<_> = (0..40).map(|_| waiting(&condvar, &mutex)).collect();
    condvar.notify_all();
    let mut late = waiting(&condvar, &mutex);
    for wait in &mut early {
        assert!(poll_alone(wait.as_mut()).is_ready());
    }
    assert!(poll_alone(late.as_mut()).is_pending());
    // B131: a single one after it is not eaten by those that were all notified.
    let mut early = waiting(&condvar, &mutex);
    condvar.notify_all();
    let mut later = waiting(&condvar, &mutex);
    condvar.notify_one();
    assert!(poll_alone(early.as_mut()).is_ready());
    assert!(poll_alone(later.as_mut()).is_ready());
}

// S1, B130
// WITNESS: condvar.passed-on, condvar.pinned
#[test]
fn wait_that_is_dropped_passes_its_notification_on() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(1));
    // Notified, and not polled since.
    let first = waiting(&condvar, &mutex);
    let mut second = waiting(&condvar, &mutex);
    condvar.notify_one();
    drop(first);
    assert!(poll_alone(second.as_mut()).is_ready());
    // Notified, and queued for the mutex.
    let mut first = waiting(&condvar, &mutex);
    let mut second = waiting(&condvar, &mutex);
    let held = mutex.try_lock();
    condvar.notify_one();
    assert!(poll_alone(first.as_mut()).is_pending());
    assert_eq!(mutex.diagnose().waiting, 1);
    drop(first);
    drop(held);
    assert!(!mutex.is_locked());
    assert!(poll_alone(second.as_mut()).is_ready());
    // What was for all is not passed on: it would come on top.
    let mut first = waiting(&condvar, &mutex);
    let held = mutex.try_lock();
    condvar.notify_all();
    drop(held);
    let mut second = waiting(&condvar, &mutex);
    let held = mutex.try_lock();
    assert!(poll_alone(first.as_mut()).is_pending());
    drop(first);
    drop(held);
    assert!(poll_alone(second.as_mut()).is_pending());
    // A wait that is over owes nothing.
    condvar.notify_one();
    let mut third = waiting(&condvar, &mutex);
    drop(poll_alone(second.as_mut()));
    drop(second);
    assert!(poll_alone(third.as_mut()).is_pending());
}

// S20
#[test]
fn wait_that_is_dropped_does_not_hold_the_mutex() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(1));
    drop(condvar.wait(mutex.try_lock().unwrap()));
    assert!(!mutex.is_locked());
    drop(waiting(&condvar, &mutex));
    assert!(!mutex.is_locked());
    assert_eq!(condvar.diagnose().waiting, 0);
}

#[test]
fn condition_is_asked_at_once_and_after_each_notification() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let ready = poll_alone(pin!(condvar.wait_while(guard, |value| *value > 0)));
    assert!(ready.is_ready());
    drop(ready);
    let mut asked = 0;
    let mut wait = Box::pin(condvar.wait_while(mutex.try_lock().unwrap(), |value| {
        asked += 1;
        *value < 2
    }));
    assert!(poll_alone(wait.as_mut()).is_pending());
    for _ in 0..2 {
        assert!(poll_alone(wait.as_mut()).is_pending());
        *mutex.try_lock().unwrap() += 1;
        condvar.notify_one();
    }
    assert!(poll_alone(wait.as_mut()).is_ready());
    drop(wait);
    assert_eq!(asked, 3);
}

#[test]
fn condition_that_panics_leaves_the_mutex_free_and_marked() {
    let (condvar, mutex) = (Condvar::new(), Mutex::new(0));
    let mut wait = Box::pin(condvar.wait_while(mutex.try_lock().unwrap(), |_| panic!()));
    let polled = catch_unwind(AssertUnwindSafe(|| poll_alone(wait.as_mut()).is_ready()));
    assert!(polled.is_err());
    assert!(!mutex.is_locked() && mutex.has_panicked());
}

#[test]
fn threads_wait_and_give_up_in_time() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let consumer = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let guard = shared.0.lock_blocking();
            *shared.1.wait_while_blocking(guard, |value| *value == 0)
        })
    };
    let (mutex, condvar) = &*shared;
    while condvar.diagnose().waiting == 0 {
        thread::yield_now();
    }
    *mutex.lock_blocking() = 7;
    condvar.notify_all();
    assert_eq!(consumer.join().unwrap(), 7);
    let (guard, was_notified) = condvar.wait_timeout(mutex.lock_blocking(), Duration::ZERO);
    assert_eq!((*guard, was_notified), (7, false));
    drop(guard);
    let other = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || *shared.1.wait_blocking(shared.0.lock_blocking()))
    };
    while condvar.diagnose().waiting == 0 {
        thread::yield_now();
    }
    condvar.notify_one();
    assert_eq!(other.join().unwrap(), 7);
}

#[test]
fn revocable_notification_goes_round_a_task_that_does_not_poll_for_it() {
    for is_revocable in [false, true] {
        let tasks = Tasks::new();
        let condvar = if is_revocable {
            Condvar::revocable()
        } else {
            Condvar::default()
        };
        let shared = Arc::new((Mutex::new(0), condvar));
        let distracted = {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move {
                let mut loser = Box::pin(shared.1.wait(shared.0.lock().await));
                let first =
                    std::future::poll_fn(|cx| Poll::Ready(loser.as_mut().poll(cx).is_pending()));
                assert!(first.await);
                std::future::pending::<()>().await;
                drop(loser);
            })
        };
        tasks.run_until_idle();
        let modest = {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { drop(shared.1.wait(shared.0.lock().await).await) })
        };
        tasks.run_until_idle();
        shared.1.notify_one();
        tasks.run_until_idle();
        assert_eq!(modest.is_finished(), is_revocable);
        assert_eq!(shared.1.diagnose().offers.is_empty(), is_revocable);
        distracted.abort();
        tasks.run_until_idle();
        assert!(modest.is_finished());
    }
}

// B142, S18
#[test]
fn waits_go_where_their_guards_go() {
    type Guarded = std::sync::MutexGuard<'static, u32>;
    type Condition<T> = fn(&mut T) -> bool;
    assert_eq!(auto_traits!(Condvar), (true, true));
    assert_eq!(auto_traits!(Wait<'static, u32>), (true, true));
    assert_eq!(auto_traits!(Wait<'static, Cell<u32>>), (true, false));
    assert_eq!(auto_traits!(Wait<'static, Rc<u32>>), (false, false));
    assert_eq!(auto_traits!(Wait<'static, Guarded>), (false, false));
    assert_eq!(auto_traits!(Wait<'static, *const u32>), (false, false));
    assert_eq!(
        auto_traits!(WaitWhile<'static, Cell<u32>, Condition<Cell<u32>>>),
        (true, false)
    );
    const fn keeps_place<F: CancelSafe>() -> bool {
        F::KEEPS_PLACE
    }
    assert!(!keeps_place::<Wait<'static, u32>>());
    assert!(!keeps_place::<WaitWhile<'static, u32, Condition<u32>>>());
}
