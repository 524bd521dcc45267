use super::Hand;
use crate::sync::Arc;
use crate::waker::Script;
use mainspring_core::{budget, poll};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

#[test]
fn polls_when_it_is_told_and_with_the_waker_it_is_told() {
    let mut polls = 0;
    let mut hand = Hand::new(poll_fn(move |cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        if polls == 3 {
            Poll::Ready(polls)
        } else {
            Poll::Pending
        }
    }));
    assert!(!hand.is_woken());
    assert!(hand.poll().is_pending());
    assert!(hand.is_woken());
    let (waker, tally) = Script::new().waker();
    assert!(hand.poll_with(&waker).is_pending());
    assert!(!hand.is_woken());
    assert_eq!(tally.woken(), 1);
    assert_eq!(hand.poll(), Poll::Ready(3));
    assert!(!hand.is_alive());
}

#[test]
fn future_is_dropped_when_it_is_ready_and_when_it_is_dismissed() {
    let held = Arc::new(());
    let theirs = Arc::clone(&held);
    let mut ready = Hand::new(async move {
        let _theirs = theirs;
    });
    assert!(ready.poll().is_ready());
    assert_eq!(Arc::strong_count(&held), 1);
    let theirs = Arc::clone(&held);
    let mut waits = Hand::new(async move {
        let _theirs = theirs;
        pending::<()>().await;
    });
    assert!(waits.poll().is_pending());
    assert_eq!(waits.dismiss().live(), 0);
    assert_eq!(Arc::strong_count(&held), 1);
    let again = catch_unwind(AssertUnwindSafe(|| ready.poll()));
    assert!(again.is_err());
}

#[test]
fn old_waker_does_not_count_when_it_has_another() {
    let mut hand = Hand::new(pending::<()>());
    assert!(hand.poll().is_pending());
    let old = hand.waker().clone();
    let tally = hand.rescript(Script::new());
    old.wake();
    assert!(!hand.is_woken());
    assert_eq!((tally.woken(), tally.live()), (1, 0));
    hand.waker().wake_by_ref();
    assert!(hand.is_woken());
}

#[test]
fn spent_poll_is_one_of_a_root_without_budget() {
    let mut hand = Hand::new(poll_fn(|cx| {
        assert!(poll::is_active());
        budget::poll_proceed(cx).map(budget::Unit::spend)
    }));
    assert!(hand.poll_spent().is_pending());
    assert!(hand.is_woken());
    assert!(!poll::is_active());
    let mut free = Hand::new(poll_fn(|cx| {
        budget::poll_proceed(cx).map(budget::Unit::spend)
    }));
    assert!(free.poll().is_ready());
}

#[test]
fn tools_go_where_they_are_needed() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    // A hand is polled by whoever has it: it is sent and not shared. What it gives may be neither.
    is_send::<Hand<()>>();
    is_send::<Hand<std::rc::Rc<()>>>();
    is_send::<crate::Puppet>();
    is_send::<Script>();
    is_send::<crate::Tally>();
    is_sync::<crate::Tally>();
    is_send::<crate::conformance::Parcel>();
    is_sync::<crate::History>();
    is_sync::<crate::conformance::Report>();
}
