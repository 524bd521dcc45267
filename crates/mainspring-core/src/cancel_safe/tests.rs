use super::{CancelSafe, assert_cancel_safe};
use crate::budget::unconstrained;
use std::cell::Cell;
use std::future::{Future, Pending, pending};
use std::marker::PhantomPinned;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Safe, but joins the queue at its end.
struct Queued;

impl Future for Queued {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl CancelSafe for Queued {
    const KEEPS_PLACE: bool = false;
}

fn keeps_place<F: CancelSafe>(_: &F) -> bool {
    F::KEEPS_PLACE
}

#[test]
fn wrappers_keep_what_the_future_says_about_its_place() {
    assert!(!keeps_place(&Box::pin(Queued)));
    assert!(!keeps_place(&Box::new(Queued)));
    assert!(!keeps_place(&unconstrained(Queued)));
    assert!(keeps_place(&pending::<u8>()));
    assert!(keeps_place::<Pin<Box<Pending<u8>>>>(&Box::pin(pending())));
}

// WITNESS: cancel-safe.pinned
#[test]
fn vouched_future_does_not_move_between_polls() {
    struct KnowsItsPlace<'a>(&'a Cell<Option<*const u8>>, u8, PhantomPinned);
    impl Future for KnowsItsPlace<'_> {
        type Output = bool;
        fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<bool> {
            let here = std::ptr::from_ref(&self.1);
            match self.0.replace(Some(here)) {
                None => Poll::Pending,
                Some(before) => Poll::Ready(before == here),
            }
        }
    }
    let seen = Cell::new(None);
    let mut future = pin!(assert_cancel_safe(KnowsItsPlace(&seen, 0, PhantomPinned)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut cx).is_pending());
    assert_eq!(future.as_mut().poll(&mut cx), Poll::Ready(true));
}
