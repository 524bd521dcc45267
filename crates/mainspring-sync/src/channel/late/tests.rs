//! What is made is dropped, once, and what is not is not.

use super::Late;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

struct Counts<'a>(&'a Cell<u32>, bool);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(!self.1, "as asked");
    }
}

// WITNESS: late.made
#[test]
fn a_node_is_dropped_once_if_it_was_made() {
    let drops = Cell::new(0);
    let mut late = Late::new();
    assert!(late.get().is_none());
    late.made_with(|| Counts(&drops, false));
    late.made_with(|| unreachable!("it was made"));
    assert!(late.get().is_some());
    late.clear();
    assert_eq!(drops.get(), 1);
    late.clear();
    assert!(late.get().is_none());
    assert_eq!(drops.get(), 1);

    late.made_with(|| Counts(&drops, false));
    assert!(late.is_made());
    late.clear();
    assert_eq!(drops.get(), 2);
}

// WITNESS: late.made
#[test]
fn a_node_whose_drop_panics_is_dropped_once() {
    let drops = Cell::new(0);
    let mut late = Late::new();
    late.made_with(|| Counts(&drops, true));
    let panicked = catch_unwind(AssertUnwindSafe(|| late.clear()));
    assert!(panicked.is_err());
    late.clear();
    assert_eq!(drops.get(), 1);
}
