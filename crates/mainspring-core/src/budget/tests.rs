use super::{enter, is_spent, poll_proceed, unconstrained};
use crate::poll::{BUDGET_UNITS, Polling, budget, has_yielded};
use std::future::poll_fn;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn proceed(cx: &mut Context<'_>) -> bool {
    match poll_proceed(cx) {
        Poll::Ready(unit) => {
            unit.spend();
            true
        }
        Poll::Pending => false,
    }
}

// WITNESS: budget.self-wake
#[test]
fn spent_budget_wakes_its_task_and_marks_a_yield() {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    let polling = Polling::begin(None);
    for _ in 0..BUDGET_UNITS {
        assert!(proceed(&mut cx));
    }
    assert!(is_spent());
    assert_eq!(count.0.load(Relaxed), 0);
    assert!(!proceed(&mut cx));
    assert_eq!(count.0.load(Relaxed), 1, "budget.self-wake");
    assert!(has_yielded());
    drop(polling);
}

// WITNESS: budget.lent
#[test]
fn unit_that_is_not_spent_costs_nothing() {
    let mut cx = Context::from_waker(Waker::noop());
    let _polling = Polling::begin(None);
    for _ in 0..10 * BUDGET_UNITS {
        assert!(poll_proceed(&mut cx).is_ready(), "budget.lent");
    }
}

// WITNESS: budget.pinned
#[test]
fn unconstrained_future_has_no_budget_and_leaves_the_outer_one() {
    let mut cx = Context::from_waker(Waker::noop());
    let _polling = Polling::begin(None);
    assert!(proceed(&mut cx));
    let mut inner = pin!(unconstrained(poll_fn(|cx| {
        Poll::Ready((0..10 * BUDGET_UNITS).all(|_| proceed(cx)))
    })));
    assert_eq!(inner.as_mut().poll(&mut cx), Poll::Ready(true));
    for _ in 1..BUDGET_UNITS {
        assert!(proceed(&mut cx));
    }
    assert!(!proceed(&mut cx));
}

// WITNESS: budget.entered
#[test]
fn budget_that_is_entered_is_that_of_later_polls_until_the_guard_goes() {
    let units_of_a_poll = || {
        let _polling = Polling::begin(None);
        budget()
    };
    let under_way = Polling::begin(None);
    let entered = enter(NonZeroU32::new(7).unwrap());
    assert_eq!(
        budget(),
        Some(BUDGET_UNITS),
        "budget.entered: a poll before"
    );
    assert_eq!(units_of_a_poll(), Some(7), "budget.entered");
    drop(under_way);
    let unwound = std::panic::catch_unwind(|| {
        let _inner = enter(NonZeroU32::MAX);
        assert_eq!(units_of_a_poll(), Some(u32::MAX));
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(unwound.is_err());
    assert_eq!(
        units_of_a_poll(),
        Some(7),
        "budget.entered: after an unwind"
    );
    drop(entered);
    assert_eq!(units_of_a_poll(), Some(BUDGET_UNITS), "budget.entered");
    assert_eq!(budget(), None);
}
