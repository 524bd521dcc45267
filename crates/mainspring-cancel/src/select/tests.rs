//! The first of two.

use crate::token::tests::wakers::{counted, poll};
use crate::{CancelToken, Either, Reason, Select2, select2};
use mainspring_core::{CancelSafe, assert_cancel_safe, random};
use std::future::{Pending, pending, ready};
use std::pin::pin;
use std::task::{Poll, Waker};

type Losing = Pending<()>;

const _: () = assert!(<Select2<Losing, Losing> as CancelSafe>::KEEPS_PLACE);

// WITNESS: select.pinned
#[test]
fn whichever_is_ready_is_the_one_and_either_wakes() {
    let (left, right) = (CancelToken::new(), CancelToken::new());
    let (counter, waker) = counted();
    let mut first = pin!(select2(left.cancelled(), right.cancelled()));
    assert!(poll(first.as_mut(), &waker).is_pending());
    right.cancel(Reason::custom("right"));
    assert_eq!(counter.count(), 1);
    let Poll::Ready(Either::Second(reason)) = poll(first.as_mut(), &waker) else {
        panic!("the second was cancelled");
    };
    assert_eq!(reason.message(), Some("right"));
    assert!(!left.is_cancelled());
}

#[test]
fn two_that_are_always_ready_both_have_their_turns_unless_it_is_biased() {
    let _seeded = random::enter(7);
    let one = || assert_cancel_safe(ready(()));
    let count = |is_biased: bool| {
        let firsts = (0..1_000).filter(|_| {
            let both = select2(one(), one());
            let both = if is_biased { both.biased() } else { both };
            let found = poll(pin!(both), Waker::noop());
            matches!(found, Poll::Ready(Either::First(())))
        });
        firsts.count()
    };
    assert_eq!(count(true), 1_000);
    let firsts = count(false);
    assert!((300..700).contains(&firsts), "{firsts} of 1000");
}

#[test]
#[should_panic(expected = "MS0017")]
fn polled_after_its_end_it_panics() {
    let mut both = pin!(select2(assert_cancel_safe(ready(1)), pending::<()>()));
    assert_eq!(
        poll(both.as_mut(), Waker::noop()),
        Poll::Ready(Either::First(1))
    );
    let _ = poll(both.as_mut(), Waker::noop());
}
