//! The order of arrival under a spent budget.

use super::wakers::{counted, poll};
use crate::Notify;
use mainspring_core::{budget, poll as polls};
use std::pin::pin;

/// Runs in a poll whose budget is spent.
fn exhausted<R>(run: impl FnOnce() -> R) -> R {
    polls::root(|| {
        for _ in 0..polls::BUDGET_UNITS {
            budget::consume();
        }
        assert!(budget::is_spent());
        run()
    })
}

// S13
// WITNESS: parked.order, parked.pinned
#[test]
fn poll_without_budget_queues_before_it_yields() {
    let notify = Notify::new();
    let [(first_calls, first_waker), (_, second_waker)] = [counted(), counted()];
    let mut first = pin!(notify.notified());
    let mut second = pin!(notify.notified());
    exhausted(|| assert!(poll(first.as_mut(), &first_waker).is_pending()));
    assert_eq!(first_calls.calls(), 1, "it yielded");
    assert!(poll(second.as_mut(), &second_waker).is_pending());
    notify.notify_one();
    assert!(poll(second.as_mut(), &second_waker).is_pending());
    assert!(poll(first.as_mut(), &first_waker).is_ready());
}

// WITNESS: parked.order
#[test]
fn answer_found_without_budget_is_kept_or_handed_on() {
    let notify = Notify::new();
    let (_, waker) = counted();
    notify.notify_one();
    let mut first = Box::pin(notify.notified());
    let mut second = pin!(notify.notified());
    exhausted(|| assert!(poll(first.as_mut(), &waker).is_pending()));
    assert!(poll(second.as_mut(), &waker).is_pending(), "it came second");
    exhausted(|| assert!(poll(first.as_mut(), &waker).is_pending()));
    drop(first);
    assert!(poll(second.as_mut(), &waker).is_ready());
}

#[test]
fn progress_costs_a_unit_and_waiting_none() {
    let notify = Notify::new();
    let (_, waker) = counted();
    polls::root(|| {
        let mut waits = Box::pin(notify.notified());
        for _ in 0..2 * polls::BUDGET_UNITS {
            assert!(poll(waits.as_mut(), &waker).is_pending());
        }
        drop(waits);
        for _ in 0..polls::BUDGET_UNITS {
            notify.notify_one();
            assert!(poll(pin!(notify.notified()), &waker).is_ready());
        }
        notify.notify_one();
        assert!(poll(pin!(notify.notified()), &waker).is_pending());
    });
}
