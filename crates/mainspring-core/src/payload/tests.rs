use super::{absorb, contain, discard};
use std::cell::Cell;
use std::panic::panic_any;
use std::sync::Arc;

thread_local! {
    static DROPS: Cell<usize> = const { Cell::new(0) };
}

/// Panics in its drop, with the like of it. It has no bytes: forgotten, it leaks none.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
        panic_any(Self);
    }
}

#[test]
fn absorbed_panic_leaves_nothing_behind() {
    let carried = Arc::new(());
    for _ in 0..3 {
        absorb(|| panic_any(Arc::clone(&carried)));
        assert_eq!(Arc::strong_count(&carried), 1, "the payload was leaked");
    }
    let payload = contain(|| panic_any(Arc::clone(&carried)));
    assert_eq!(Arc::strong_count(&carried), 2);
    payload.into_iter().for_each(discard);
    assert_eq!(Arc::strong_count(&carried), 1);
}

#[test]
fn payload_that_panics_in_its_drop_is_dropped_once_and_ends_there() {
    absorb(|| panic_any(PanicsInDrop));
    assert_eq!(DROPS.get(), 1);
}
