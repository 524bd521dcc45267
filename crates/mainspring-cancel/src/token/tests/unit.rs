//! One token: phases, waiting, holds, guards.

use super::wakers::{counted, poll};
use crate::{CancelToken, Drained, Phase, Reason, What};
use mainspring_core::CancelSafe;
use std::future::{pending, ready};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Duration;

fn safe<F: CancelSafe>(future: F) -> F {
    future
}

// C3, B208
// WITNESS: node.phase
#[test]
fn cancel_is_once_and_the_first_reason_stays() {
    let token = CancelToken::new();
    assert_eq!((token.is_cancelled(), token.phase()), (false, Phase::Alive));
    assert!(token.reason().is_none());
    let line = line!() + 1;
    assert!(token.cancel(Reason::new(What::Overload)));
    assert!(!token.cancel(Reason::shutdown()));
    assert!(token.is_cancelled());
    assert_eq!(token.phase(), Phase::Cancelled);
    let reason = token.reason().expect("it was cancelled");
    assert_eq!(reason.what(), What::Overload);
    assert_eq!(reason.location().line(), line);
}

// C11
// WITNESS: node.settled
#[test]
fn cancelling_lasts_until_the_last_hold_is_released() {
    let token = CancelToken::new();
    let holds = [token.hold().unwrap(), token.hold().unwrap()];
    let (counter, waker) = counted();
    let mut drained = pin!(safe(token.drained()));
    assert!(poll(drained.as_mut(), &waker).is_pending());
    token.cancel(Reason::requested());
    assert_eq!(token.phase(), Phase::Cancelling);
    // Told of the first phase, it goes on to wait for the second.
    assert!(poll(drained.as_mut(), &waker).is_pending());
    let late = token.hold().expect("it still waits");
    let [first, second] = holds;
    drop(first);
    drop(late);
    let before = counter.count();
    assert_eq!(token.phase(), Phase::Cancelling);
    assert!(second.token().is_same(&token));
    drop(second);
    assert_eq!(token.phase(), Phase::Cancelled);
    assert_eq!(counter.count(), before + 1);
    assert!(poll(drained.as_mut(), &waker).is_ready());
    assert!(poll(drained.as_mut(), &waker).is_ready());
    assert_eq!(token.hold().map(drop), Err(Drained));
}

// B205
// WITNESS: until.pinned
#[test]
fn waiter_is_woken_once_and_by_the_waker_of_its_last_poll() {
    let token = CancelToken::new();
    let (first, one) = counted();
    let (second, other) = counted();
    let mut waiting = pin!(safe(token.cancelled()));
    assert!(poll(waiting.as_mut(), &one).is_pending());
    assert!(poll(waiting.as_mut(), &one).is_pending());
    assert!(poll(waiting.as_mut(), &other).is_pending());
    let mut owned = Box::pin(safe(token.clone().cancelled_owned()));
    assert!(poll(owned.as_mut(), &one).is_pending());
    let dropped = Box::pin(token.cancelled());
    drop(dropped);
    token.cancel(Reason::custom("enough"));
    assert_eq!((first.count(), second.count()), (1, 1));
    let Poll::Ready(reason) = poll(waiting.as_mut(), &other) else {
        panic!("it was cancelled");
    };
    assert_eq!(reason.message(), Some("enough"));
    assert!(poll(owned.as_mut(), &one).is_ready());
    assert!(poll(pin!(token.cancelled()), Waker::noop()).is_ready());
}

// C8
// WITNESS: until-cancelled.pinned
#[test]
fn run_until_cancelled_looks_at_the_token_first() {
    let token = CancelToken::new();
    let done = poll(pin!(token.run_until_cancelled(ready(7))), Waker::noop());
    assert!(matches!(done, Poll::Ready(Ok(7))));
    let (counter, waker) = counted();
    let mut running = pin!(token.run_until_cancelled(pending::<()>()));
    assert!(poll(running.as_mut(), &waker).is_pending());
    token.cancel(Reason::new(What::Timeout));
    assert_eq!(counter.count(), 1);
    let Poll::Ready(Err(cancelled)) = poll(running.as_mut(), &waker) else {
        panic!("it was cancelled");
    };
    assert_eq!(cancelled.reason.what(), What::Timeout);
    assert!(
        cancelled
            .to_string()
            .starts_with("cancelled: timed out (at ")
    );
    let both = poll(pin!(token.run_until_cancelled(ready(7))), Waker::noop());
    assert!(matches!(both, Poll::Ready(Err(_))));
}

#[test]
#[should_panic(expected = "MS0017")]
fn run_until_cancelled_panics_when_it_is_polled_after_its_end() {
    let token = CancelToken::new();
    let mut running = pin!(token.run_until_cancelled(async {}));
    assert!(poll(running.as_mut(), Waker::noop()).is_ready());
    let _ = poll(running.as_mut(), Waker::noop());
}

#[test]
fn guard_cancels_by_its_drop_unless_it_was_disarmed() {
    let token = CancelToken::new();
    let guard = token.clone().drop_guard();
    assert!(guard.disarm().is_same(&token));
    assert!(!token.is_cancelled());
    let line = line!() + 1;
    drop(token.clone().drop_guard());
    let reason = token.reason().expect("the guard was dropped");
    assert_eq!(reason.location().line(), line);
    assert_eq!(reason.what(), What::Requested);
}

#[test]
fn drained_within_names_what_is_left_below() {
    let token = CancelToken::new();
    let child = token.child();
    let (line, hold) = (line!(), child.hold().unwrap());
    let (other, registration) = (line!(), token.on_cancel(|_| ()));
    let mut waiting = pin!(safe(token.drained_within(Duration::ZERO)));
    let Poll::Ready(Err(left)) = poll(waiting.as_mut(), Waker::noop()) else {
        panic!("the limit has passed");
    };
    assert_eq!(left.phase, Phase::Alive);
    assert_eq!(
        left.holds.iter().map(|at| at.line()).collect::<Vec<_>>(),
        [line]
    );
    assert_eq!(
        left.callbacks
            .iter()
            .map(|at| at.line())
            .collect::<Vec<_>>(),
        [other]
    );
    assert!(
        left.to_string()
            .starts_with("nobody has cancelled the token\n  held since ")
    );
    token.cancel(Reason::requested());
    let mut waiting = pin!(token.drained_within(Duration::ZERO));
    let Poll::Ready(Err(left)) = poll(waiting.as_mut(), Waker::noop()) else {
        panic!("the limit has passed");
    };
    assert_eq!((left.holds.len(), left.callbacks.len()), (1, 0));
    assert_eq!(left.phase, Phase::Cancelling);
    drop(hold);
    let mut waiting = pin!(token.drained_within(Duration::ZERO));
    assert!(matches!(
        poll(waiting.as_mut(), Waker::noop()),
        Poll::Ready(Ok(()))
    ));
    drop(registration);
    let report = token.cancel_report();
    assert_eq!(report.phase, Phase::Cancelled);
    assert!(report.to_string().starts_with("cancelled: requested (at "));
}

#[test]
fn debug_and_auto_traits_are_those_of_a_shared_handle() {
    fn shared<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>(_: &T) {}
    let token = CancelToken::default();
    shared(&token);
    let text = format!("{token:?} {:?}", token.cancelled());
    assert_eq!(
        text,
        "CancelToken { phase: Alive, .. } WaitCancelled { .. }"
    );
}
