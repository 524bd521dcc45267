//! A model of the initialiser that changes hands.

use crate::Lazy;
use crate::parked::tests::racing::{explore, race};
use crate::parked::tests::wakers::poll;
use loom::future::block_on;
use mainspring_core::sync::Arc;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, Waker};

// WITNESS: lazy.driver
#[test]
fn initialiser_goes_on_in_the_hands_of_the_next() {
    explore(|start| {
        let lazy = Arc::new(Lazy::new(|| {
            let mut steps = 0;
            poll_fn(move |cx| {
                steps += 1;
                if steps < 3 {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(steps)
            })
        }));
        let gives_up = {
            let lazy = Arc::clone(&lazy);
            move || {
                let mut making = pin!(lazy.wait());
                let _ = poll(making.as_mut(), Waker::noop());
            }
        };
        let waits = {
            let lazy = Arc::clone(&lazy);
            move || *block_on(lazy.wait())
        };
        let ((), value) = race(start, gives_up, waits);
        assert_eq!(value, 3, "lazy.driver");
    });
}
