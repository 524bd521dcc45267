//! Who polls the initialiser, and what becomes of it.

use crate::Lazy;
use crate::lazy::Wait;
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{poll, tasks};
use mainspring_core::{CancelSafe, Completion, completion};
use std::cell::Cell;
use std::future::{Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Poll, Waker};
use std::thread;

// B184: who polled it last is gone, and nothing says that it is being polled.
// WITNESS: lazy.driver
#[test]
fn initialiser_of_a_dropped_waiter_is_polled_on_by_the_next() {
    let (first_step, step) = completion::<u32>();
    let (second_step, last_step) = completion::<u32>();
    let steps = Mutex::new(Some((step, last_step)));
    let lazy = Lazy::new(|| {
        let (step, last_step): (Completion<u32>, Completion<u32>) =
            steps.lock().unwrap().take().expect("started once");
        async move { step.await.unwrap() + last_step.await.unwrap() }
    });
    let [a, b] = tasks();
    let mut first = Box::pin(lazy.wait());
    let mut second = pin!(lazy.wait());
    assert_eq!(lazy.get(), None);
    assert!(poll(first.as_mut(), &a.1).is_pending());
    assert!(poll(second.as_mut(), &b.1).is_pending());
    first_step.complete(3).unwrap();
    assert!(poll(first.as_mut(), &a.1).is_pending());
    drop(first);
    assert_eq!(b.0.calls(), 1, "its turn");
    assert!(poll(second.as_mut(), &b.1).is_pending());
    second_step.complete(4).unwrap();
    assert_eq!((a.0.calls(), b.0.calls()), (1, 2));
    assert_eq!(poll(second.as_mut(), &b.1), Poll::Ready(&7));
    assert_eq!(poll(pin!(lazy.wait()), &a.1), Poll::Ready(&7));
    assert_eq!((lazy.get(), lazy.is_set()), (Some(&7), true));
}

#[test]
fn initialiser_rests_while_nobody_waits() {
    let (completer, completion) = completion::<u32>();
    let step = Mutex::new(Some(completion));
    let lazy = Lazy::new(|| {
        let step = step.lock().unwrap().take().expect("started once");
        async move { step.await.unwrap() }
    });
    assert!(poll(pin!(lazy.wait()), Waker::noop()).is_pending());
    completer.complete(7).unwrap();
    assert_eq!(lazy.get(), None);
    assert_eq!(poll(pin!(lazy.wait()), Waker::noop()), Poll::Ready(&7));
}

// S11
// WITNESS: lazy.driver
#[test]
fn initialiser_that_panics_is_dropped_and_the_next_starts_again() {
    let attempts = Mutex::new(0);
    let lazy = Lazy::new(|| {
        let attempt = {
            let mut attempts = attempts.lock().unwrap();
            *attempts += 1;
            *attempts
        };
        async move {
            assert_ne!(attempt, 1, "on purpose");
            attempt
        }
    });
    let mut first = Box::pin(lazy.wait());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(first.as_mut(), Waker::noop()))).is_err());
    assert_eq!(poll(pin!(lazy.wait()), Waker::noop()), Poll::Ready(&2));
    assert_eq!(poll(first.as_mut(), Waker::noop()), Poll::Ready(&2));
}

#[test]
fn threads_wait_for_one_initialiser() {
    static LAZY: Lazy<u32, fn() -> Ready<u32>> = Lazy::new(|| ready(7));
    let waiting = [(); 4].map(|()| thread::spawn(|| *LAZY.wait_blocking()));
    assert!(
        waiting
            .map(|one| one.join().unwrap())
            .iter()
            .all(|value| *value == 7)
    );
}

// S18, B142, B143
#[test]
fn threads_and_classes_are_as_promised() {
    fn is_cancel_safe<F: CancelSafe>() {}
    type Start<T> = fn() -> Ready<T>;
    is_cancel_safe::<Wait<'_, u32, Start<u32>>>();
    assert_eq!(send_sync!(Lazy<u32, Start<u32>>), (true, true));
    assert_eq!(send_sync!(Lazy<Cell<u32>, Start<Cell<u32>>>), (true, false));
    assert_eq!(send_sync!(Lazy<Rc<u32>, Start<Rc<u32>>>), (false, false));
    assert_eq!(send_sync!(Lazy<u32, Rc<u32>>), (false, false));
    assert_eq!(send_sync!(Lazy<u32, Cell<u32>>), (true, false));
    assert_eq!(send_sync!(Wait<'static, u32, Start<u32>>), (true, true));
    assert_eq!(
        send_sync!(Wait<'static, Cell<u32>, Start<Cell<u32>>>),
        (false, false)
    );
    let lazy = Lazy::<u32, Start<u32>>::new(|| ready(7));
    assert!(format!("{lazy:?} {:?}", lazy.wait()).contains("value: None"));
}
