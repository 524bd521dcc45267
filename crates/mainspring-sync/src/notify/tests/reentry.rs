//! Wakers that come back to the `Notify` they are touched by.

use crate::Notify;
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::wakers::{counted, poll};
use std::cell::Cell;
use std::pin::pin;
use std::task::Waker;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

fn use_everything(notify: &Notify) {
    if DEPTH.replace(1) == 0 {
        let mut one = Box::pin(notify.notified());
        let _ = one.as_mut().enable();
        let _ = poll(pin!(notify.notified()), Waker::noop());
        notify.notify_one();
        notify.notify_last();
        notify.notify_all();
        let _ = notify.diagnose();
        drop(one);
        DEPTH.set(0);
    }
}

// S5, B124
#[test]
fn waker_that_comes_back_from_clone_wake_or_drop_finds_it_usable() {
    static NOTIFY: Notify = Notify::new();
    for when in [Touch::Clone, Touch::Wake, Touch::Drop] {
        let waker = hooked(move |touch| {
            if touch == when {
                use_everything(&NOTIFY);
            }
        });
        let (_, other) = counted();
        for round in 0..4 {
            let mut future = Box::pin(NOTIFY.notified());
            let _ = poll(future.as_mut(), &waker);
            // Another waker, so that the first is dropped; and back.
            let _ = poll(future.as_mut(), &other);
            let _ = poll(future.as_mut(), &waker);
            match round {
                0 => NOTIFY.notify_one(),
                1 => NOTIFY.notify_all(),
                2 => NOTIFY.notify_last(),
                _ => {}
            }
            drop(future);
        }
        drop(waker);
    }
    // It works as before: one permit, one taker.
    let _ = poll(pin!(NOTIFY.notified()), Waker::noop());
    NOTIFY.notify_one();
    assert!(poll(pin!(NOTIFY.notified()), Waker::noop()).is_ready());
    assert!(poll(pin!(NOTIFY.notified()), Waker::noop()).is_pending());
}
