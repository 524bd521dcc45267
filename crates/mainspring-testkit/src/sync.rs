//! The primitives that the kit is made of: those of the standard library, always.
//!
//! Not those behind core's door. The kit is never modelled; but it may be built next to models, as
//! the dev-dependency of a crate that has some, and has to be what it always is there.

// DOOR: as the header says.
pub(crate) use std::hint::spin_loop;
// DOOR: as the header says.
pub(crate) use std::sync::Arc;

use std::sync::PoisonError;

pub(crate) mod atomic {
    // DOOR: as the header says.
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
}

// DOOR: as the header says.
type Inner<T> = std::sync::Mutex<T>;
// DOOR: as the header says.
type Guard<'a, T> = std::sync::MutexGuard<'a, T>;

/// A mutex that does not poison: a panic under a lock of the kit leaves data that is still whole.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(Inner<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Inner::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
