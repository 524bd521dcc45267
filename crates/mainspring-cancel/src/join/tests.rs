//! Both of two.

use crate::token::tests::wakers::{counted, poll};
use crate::{CancelToken, Reason, join2, try_join2};
use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::pin;
use std::task::{Poll, Waker};

struct Noting<'a>(&'a Cell<u32>);

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

// WITNESS: join.pinned
#[test]
fn each_is_dropped_when_it_is_ready_and_the_outputs_are_kept() {
    let token = CancelToken::new();
    let dropped = Cell::new(0);
    let noting = Noting(&dropped);
    let quick = async {
        let _noting = noting;
        // An address of its own, across a poll.
        let kept = [7_u8; 32];
        let of_kept = &kept;
        std::future::ready(()).await;
        of_kept[31]
    };
    let (counter, waker) = counted();
    let mut both = pin!(join2(quick, token.cancelled()));
    assert!(poll(both.as_mut(), &waker).is_pending());
    assert_eq!(dropped.get(), 1);
    token.cancel(Reason::requested());
    assert_eq!(counter.count(), 1);
    let Poll::Ready((seven, _)) = poll(both.as_mut(), &waker) else {
        panic!("both are ready");
    };
    assert_eq!(seven, 7);
}

// WITNESS: join.pinned
#[test]
fn dropped_early_it_drops_what_it_has_once() {
    let dropped = Cell::new(0);
    let (output, held) = (Noting(&dropped), Noting(&dropped));
    let holding = async {
        let _held = held;
        pending::<()>().await;
    };
    let mut both = Box::pin(join2(ready(output), holding));
    assert!(poll(both.as_mut(), Waker::noop()).is_pending());
    assert_eq!(dropped.get(), 0);
    drop(both);
    assert_eq!(dropped.get(), 2);
}

#[test]
fn first_failure_ends_a_try_join_and_either_may_fail() {
    type Outcome = Result<u8, &'static str>;
    let fails = || ready(Outcome::Err("no"));
    let never = || pending::<Outcome>();
    let found = poll(pin!(try_join2(fails(), never())), Waker::noop());
    assert_eq!(found, Poll::Ready(Err("no")));
    let found = poll(pin!(try_join2(never(), fails())), Waker::noop());
    assert_eq!(found, Poll::Ready(Err("no")));
    let works = |number| ready(Outcome::Ok(number));
    let found = poll(pin!(try_join2(works(1), works(2))), Waker::noop());
    assert_eq!(found, Poll::Ready(Ok((1, 2))));
    assert!(poll(pin!(try_join2(works(1), never())), Waker::noop()).is_pending());
}

#[test]
#[should_panic(expected = "MS0017")]
fn join_polled_after_its_end_panics() {
    let mut both = pin!(join2(ready(1), ready(2)));
    assert!(poll(both.as_mut(), Waker::noop()).is_ready());
    let _ = poll(both.as_mut(), Waker::noop());
}

#[test]
#[should_panic(expected = "MS0017")]
fn try_join_polled_after_its_failure_panics() {
    let mut both = pin!(try_join2(
        pending::<Result<(), ()>>(),
        ready(Err::<(), ()>(()))
    ));
    assert!(poll(both.as_mut(), Waker::noop()).is_ready());
    let _ = poll(both.as_mut(), Waker::noop());
}
