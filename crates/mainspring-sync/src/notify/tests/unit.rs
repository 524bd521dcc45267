//! What a notification does, seen from outside.

use crate::Notify;
use crate::notify::{Notified, NotifiedOwned};
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::wakers::{counted, poll, tasks};
use mainspring_core::CancelSafe;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::thread;
use std::time::Duration;

fn waiting<'a, const N: usize>(
    notify: &'a Notify,
    wakers: [&Waker; N],
) -> [Pin<Box<Notified<'a>>>; N] {
    wakers.map(|waker| {
        let mut future = Box::pin(notify.notified());
        assert!(poll(future.as_mut(), waker).is_pending());
        future
    })
}

/// Whether a permit is stored. Takes it.
fn takes_permit(notify: &Notify) -> bool {
    poll(pin!(notify.notified()), Waker::noop()).is_ready()
}

// WITNESS: notify.once
#[test]
fn permits_that_find_nobody_are_stored_once() {
    let notify = Notify::new();
    assert!(!takes_permit(&notify));
    notify.notify_one();
    notify.notify_last();
    assert!(takes_permit(&notify));
    assert!(!takes_permit(&notify));
}

// S1
// WITNESS: notify.once, notify.waits
#[test]
fn dropped_waiter_hands_on_from_the_same_end() {
    let notify = Notify::new();
    let [a, b, c, d] = tasks();
    let [one, two, three, four] = waiting(&notify, [&a.1, &b.1, &c.1, &d.1]);
    notify.notify_last();
    drop(four);
    assert_eq!((c.0.calls(), a.0.calls()), (1, 0));
    notify.notify_one();
    drop(one);
    assert_eq!(b.0.calls(), 1);
    drop((two, three));
    assert!(takes_permit(&notify), "both permits found nobody");
    assert!(!takes_permit(&notify));
}

// B130
// WITNESS: notify.once, notify.releases
#[test]
fn drop_of_a_released_waiter_leaves_a_stored_permit() {
    let notify = Notify::new();
    let (_, waker) = counted();
    let old = waiting(&notify, [&waker]);
    notify.notify_all();
    notify.notify_one();
    drop(old);
    assert!(takes_permit(&notify));
}

// B131
// WITNESS: notify.releases
#[test]
fn released_future_leaves_a_later_permit_to_the_next() {
    for polled_before in [false, true] {
        let notify = Notify::new();
        let (_, waker) = counted();
        let mut first = pin!(notify.notified());
        if polled_before {
            assert!(poll(first.as_mut(), &waker).is_pending());
        }
        let mut second = pin!(notify.notified());
        notify.notify_all();
        notify.notify_one();
        assert!(poll(first.as_mut(), &waker).is_ready());
        assert!(poll(second.as_mut(), &waker).is_ready(), "released too");
        assert!(takes_permit(&notify));
    }
}

// WITNESS: notify.releases
#[test]
fn notification_of_all_reaches_who_exists_and_nobody_else() {
    let notify = Notify::new();
    let [a, b] = tasks();
    let [mut polled] = waiting(&notify, [&a.1]);
    let mut created = pin!(notify.notified());
    notify.notify_all();
    let mut late = pin!(notify.notified());
    assert!(poll(late.as_mut(), &b.1).is_pending());
    assert!(poll(polled.as_mut(), &a.1).is_ready());
    assert!(poll(created.as_mut(), &b.1).is_ready());
    assert!(poll(created.as_mut(), &b.1).is_ready(), "and stays so");
    assert!(poll(late.as_mut(), &b.1).is_pending());
    assert_eq!((a.0.calls(), b.0.calls()), (1, 0));
}

#[test]
fn notification_of_all_keeps_a_stored_permit() {
    let notify = Notify::new();
    notify.notify_one();
    let mut created = pin!(notify.notified());
    notify.notify_all();
    assert!(poll(created.as_mut(), Waker::noop()).is_ready());
    assert!(takes_permit(&notify));
}

// B127
#[test]
fn waker_that_panics_keeps_nobody_asleep() {
    let notify = Notify::new();
    let broken = hooked(|touch| assert_ne!(touch, Touch::Wake, "broken"));
    let [b, c] = tasks();
    let mut all = waiting(&notify, [&broken, &b.1, &c.1]);
    let panicked = catch_unwind(AssertUnwindSafe(|| notify.notify_all()));
    assert!(panicked.is_err());
    assert_eq!((b.0.calls(), c.0.calls()), (1, 1));
    for future in &mut all {
        assert!(poll(future.as_mut(), Waker::noop()).is_ready());
    }
}

#[test]
fn more_than_one_batch_is_woken() {
    let notify = Notify::new();
    let tasks = tasks::<100>();
    let mut all = waiting(&notify, tasks.each_ref().map(|(_, waker)| waker));
    notify.notify_all();
    for (future, (counter, waker)) in all.iter_mut().zip(&tasks) {
        assert_eq!(counter.calls(), 1);
        assert!(poll(future.as_mut(), waker).is_ready());
    }
}

// S4: registered before the condition is looked at, without a waker of anybody's.
#[test]
fn enabled_future_is_a_waiter() {
    let notify = Notify::new();
    let [a, b] = tasks();
    let mut enabled = pin!(notify.notified());
    assert!(!enabled.as_mut().enable());
    let [mut second] = waiting(&notify, [&b.1]);
    notify.notify_one();
    notify.notify_one();
    assert_eq!(b.0.calls(), 1, "the first was the enabled one's");
    assert!(poll(enabled.as_mut(), &a.1).is_ready());
    assert!(enabled.as_mut().enable(), "ready before");
    assert!(poll(second.as_mut(), &b.1).is_ready());
}

#[test]
fn enabled_future_is_woken_once_it_was_polled() {
    let notify = Notify::new();
    let (counter, waker) = counted();
    let mut future = pin!(notify.notified());
    assert!(!future.as_mut().enable());
    assert!(poll(future.as_mut(), &waker).is_pending());
    assert!(!future.as_mut().enable(), "keeps the waker that it has");
    notify.notify_one();
    assert_eq!(counter.calls(), 1);
    assert!(poll(future.as_mut(), &waker).is_ready());
}

// WITNESS: notify.once
#[test]
fn enabled_future_with_a_permit_hands_it_on() {
    let notify = Notify::new();
    notify.notify_one();
    let mut future = Box::pin(notify.notified());
    assert!(future.as_mut().enable());
    assert!(!takes_permit(&notify), "it is the future's");
    assert!(future.as_mut().enable());
    let (counter, waker) = counted();
    let [mut next] = waiting(&notify, [&waker]);
    drop(future);
    assert_eq!(counter.calls(), 1);
    assert!(poll(next.as_mut(), &waker).is_ready());
    assert!(!takes_permit(&notify));
}

// WITNESS: notify.placeholder
#[test]
fn enabled_futures_are_not_taken_for_one_task() {
    let notify = Notify::new();
    let (_, waker) = counted();
    let mut first = pin!(notify.notified());
    let mut second = pin!(notify.notified());
    assert!(!first.as_mut().enable());
    notify.notify_one();
    assert!(!second.as_mut().enable(), "the notification is the first's");
    assert!(poll(first.as_mut(), &waker).is_ready());
}

// B133
// WITNESS: notify.waits, notify.once
#[test]
fn notification_of_an_unpolled_future_goes_to_another_of_its_task() {
    let notify = Notify::new();
    let [a, b] = tasks();
    let [unpolled, mut second, mut third] = waiting(&notify, [&a.1, &a.1, &b.1]);
    notify.notify_one();
    assert_eq!(notify.diagnose().offers.len(), 1);
    assert!(poll(second.as_mut(), &a.1).is_ready(), "taken over");
    notify.notify_one();
    assert!(poll(third.as_mut(), &b.1).is_ready());
    notify.notify_one();
    drop(unpolled);
    assert!(takes_permit(&notify), "nobody waits: stored");
}

// S15, S17, B166
#[test]
fn repeated_polls_keep_one_place_and_the_latest_waker() {
    let notify = Notify::new();
    let [a, b] = tasks();
    let mut future = pin!(notify.notified());
    for _ in 0..1_000 {
        assert!(poll(future.as_mut(), &a.1).is_pending());
        assert!(poll(future.as_mut(), &b.1).is_pending());
    }
    assert_eq!(notify.diagnose().waiting, 1);
    notify.notify_one();
    assert_eq!((a.0.calls(), b.0.calls()), (0, 1));
}

#[test]
fn owned_future_keeps_its_notify() {
    let notify = Arc::new(Notify::new());
    let mut future = Box::pin(Arc::clone(&notify).notified_owned());
    assert!(!future.as_mut().enable());
    notify.notify_one();
    drop(notify);
    assert!(poll(future.as_mut(), Waker::noop()).is_ready());
    let mut alone = Box::pin(Arc::new(Notify::new()).notified_owned());
    assert!(poll(alone.as_mut(), Waker::noop()).is_pending());
}

#[test]
fn thread_waits_for_a_notification() {
    let notify = Arc::new(Notify::new());
    let (done, is_done) = mpsc::channel();
    let waiter = {
        let notify = Arc::clone(&notify);
        thread::spawn(move || {
            notify.notified_blocking();
            done.send(()).unwrap();
        })
    };
    notify.notify_one();
    is_done.recv().unwrap();
    waiter.join().unwrap();
    assert!(!notify.notified_timeout(Duration::ZERO));
    notify.notify_one();
    assert!(notify.notified_timeout(Duration::ZERO));
}

// S18, B143
#[test]
fn threads_and_classes_are_as_promised() {
    fn is_send_sync<T: Send + Sync>() {}
    fn loses_its_place<F: CancelSafe>(_: F) -> bool {
        !F::KEEPS_PLACE
    }
    is_send_sync::<Notify>();
    is_send_sync::<Notified<'static>>();
    is_send_sync::<NotifiedOwned>();
    static NOTIFY: Notify = Notify::new();
    assert!(loses_its_place(NOTIFY.notified()));
    assert!(loses_its_place(Arc::new(Notify::new()).notified_owned()));
    assert!(format!("{NOTIFY:?}").contains("has_permit: false"));
    assert!(format!("{:?}", NOTIFY.notified()).contains("Notified"));
}
