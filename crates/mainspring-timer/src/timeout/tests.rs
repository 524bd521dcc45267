use super::{Elapsed, timeout, timeout_at};
use crate::driver::tests::rig::Rig;
use mainspring_core::CancelSafe;
use mainspring_core::driver::Until;
use mainspring_core::poll;
use mainspring_core::{budget, time};
use std::future::{self, Future, poll_fn};
use std::marker::PhantomPinned;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

// WITNESS: timeout.future-first
#[test]
fn future_that_is_ready_wins_and_arms_nothing() {
    let rig = Rig::new();
    let mut cx = Context::from_waker(Waker::noop());
    for limit in [Duration::ZERO, MS, Duration::MAX] {
        let limited = pin!(timeout(limit, async { 3 }));
        assert_eq!(limited.poll(&mut cx), Poll::Ready(Ok(3)));
        assert_eq!(rig.armed(), 0);
    }
    let past = Instant::now() - MS;
    let limited = pin!(timeout_at(past, future::ready(4)));
    assert_eq!(limited.poll(&mut cx), Poll::Ready(Ok(4)));
}

// WITNESS: timeout.future-first
#[test]
fn future_and_limit_ready_in_the_same_turn_give_the_output() {
    let mut rig = Rig::new();
    let mut calls = 0;
    let late = poll_fn(|_| {
        calls += 1;
        if calls > 1 {
            Poll::Ready(5)
        } else {
            Poll::Pending
        }
    });
    assert_eq!(rig.block_on(timeout(MS, late)), Ok(5));
}

// WITNESS: timeout.pinned
#[test]
fn pending_future_elapses_in_place() {
    let mut rig = Rig::new();
    let start = time::now();
    let pinned = async {
        let pinned = PhantomPinned;
        future::pending::<()>().await;
        let _still_there = &pinned;
    };
    assert_eq!(rig.block_on(timeout(MS, pinned)), Err(Elapsed));
    assert!(time::now().since(start) >= MS);
    assert_eq!(rig.armed(), 0);
}

#[test]
fn timeout_without_limit_never_elapses() {
    let mut rig = Rig::new();
    let mut left = 3;
    let slow = poll_fn(|_| {
        left -= 1;
        if left == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let limited = timeout(Duration::MAX, slow);
    assert_eq!(limited.deadline(), None);
    assert_eq!(rig.block_on(limited), Ok(()));
}

// A future that always has work spends the whole budget at every poll, and is polled again at once.
// WITNESS: timeout.clock-always
#[test]
fn future_that_always_spends_the_budget_cannot_outlive_its_limit() {
    let mut rig = Rig::new();
    let busy = poll_fn(|cx| {
        while let Poll::Ready(unit) = budget::poll_proceed(cx) {
            unit.spend();
        }
        Poll::<()>::Pending
    });
    let mut limited = pin!(timeout(5 * MS, busy));
    let mut cx = Context::from_waker(Waker::noop());
    let mut polls = 0;
    loop {
        poll::begin_turn(time::now());
        let polled = poll::root(|| limited.as_mut().poll(&mut cx));
        if let Poll::Ready(output) = polled {
            assert_eq!(output, Err(Elapsed));
            break;
        }
        polls += 1;
        assert!(polls < 10, "the limit is not seen");
        rig.clock.advance(MS);
        let _ = rig.park(Until::Now);
    }
    assert!(polls >= 5, "early, after {polls} ms");
    poll::begin_turn(time::Nanos::ZERO);
}

#[test]
fn elapsed_is_a_transient_error_with_a_kind() {
    assert!(Elapsed.is_transient());
    let error = std::io::Error::from(Elapsed);
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(error.to_string(), "the time limit has elapsed");
}

#[test]
fn timeout_is_as_cancel_safe_as_its_future_and_loses_the_place_that_it_loses() {
    /// Safe, but joins the queue at its end.
    struct Queued;
    impl Future for Queued {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }
    }
    impl CancelSafe for Queued {
        const KEEPS_PLACE: bool = false;
    }
    fn keeps_place<F: CancelSafe>(_: &F) -> bool {
        F::KEEPS_PLACE
    }
    assert!(keeps_place(&timeout(MS, future::pending::<()>())));
    assert!(keeps_place(&timeout_at(Instant::now(), time::sleep(MS))));
    assert!(!keeps_place(&timeout(MS, Queued)));
}
