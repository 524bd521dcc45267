//! Models of the right to make the value: made, dropped and handed on.

use crate::OnceCell;
use crate::parked::tests::racing::{explore, race};
use crate::parked::tests::wakers::poll;
use loom::future::block_on;
use mainspring_core::sync::Arc;
use std::future::{pending, ready};
use std::pin::pin;
use std::task::Waker;

// WITNESS: once-cell.right
#[test]
fn two_who_need_the_value_get_the_same_one() {
    explore(|start| {
        let cell = Arc::new(OnceCell::new());
        let needs = |value: u32| {
            let cell = Arc::clone(&cell);
            move || *block_on(cell.get_or_init(|| ready(value)))
        };
        let (first, second) = race(start, needs(1), needs(2));
        assert_eq!(first, second, "once-cell.right");
    });
}

// WITNESS: once-cell.right
#[test]
fn initialiser_that_is_dropped_leaves_the_right_to_who_waits() {
    explore(|start| {
        let cell = Arc::new(OnceCell::new());
        let gives_up = {
            let cell = Arc::clone(&cell);
            move || {
                let mut making = pin!(cell.get_or_init(pending::<u32>));
                let _ = poll(making.as_mut(), Waker::noop());
            }
        };
        let waits = {
            let cell = Arc::clone(&cell);
            move || *block_on(cell.get_or_init(|| ready(7)))
        };
        let ((), value) = race(start, gives_up, waits);
        assert_eq!(value, 7);
    });
}
