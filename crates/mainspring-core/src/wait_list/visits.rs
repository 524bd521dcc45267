//! How many entries were looked at: what tests hold the complexity to.

#[cfg(debug_assertions)]
use std::cell::Cell;

#[cfg(debug_assertions)]
// DOOR: a count for tests, which carries no protocol.
std::thread_local! {
    static VISITS: Cell<u64> = const { Cell::new(0) };
}

/// An entry is looked at, in a walk whose length depends on how many there are.
#[cfg(debug_assertions)]
pub(super) fn note() {
    let _ = VISITS.try_with(|visits| visits.set(visits.get() + 1));
}

/// Nobody counts.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(super) fn note() {}

/// How many entries this thread has looked at in search of others' offers and places, in builds
/// with debug assertions. For the tests of the family, and no part of the interface.
#[cfg(debug_assertions)]
#[must_use]
pub fn visits() -> u64 {
    VISITS.with(Cell::get)
}
