//! The payloads of caught panics that go no further.
//!
//! Public for the sibling crates, and not covered by semantic versioning.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// Runs code of the user's that must not unwind through ours; `Some` if it panicked.
#[inline]
pub fn contain(run: impl FnOnce()) -> Option<Payload> {
    catch_unwind(AssertUnwindSafe(run)).err()
}

/// As [`contain`], where nobody is interested in the panic. Call it with no lock held.
#[inline]
pub fn absorb(run: impl FnOnce()) {
    if let Some(payload) = contain(run) {
        discard(payload);
    }
}

/// Drops the payload of a panic that its hook has reported, or that says less than another. Call
/// it with no lock held: the payload's destructor is code of the user's.
#[cold]
pub fn discard(payload: Payload) {
    // That destructor may panic with another payload. It is forgotten, or this would have no end.
    if let Some(another) = contain(|| drop(payload)) {
        std::mem::forget(another);
    }
}

/// Steps that all have to be made, though one of them may run code of the user's that panics: the
/// first panic goes on when all are made, later ones are discarded.
#[derive(Debug, Default)]
#[must_use = "a panic is lost"]
pub struct Steps {
    first: Option<Payload>,
}

impl Steps {
    /// Makes a step. Call it with no lock held: what a later panic carries is dropped.
    #[inline]
    pub fn run(&mut self, step: impl FnOnce()) {
        match (contain(step), &self.first) {
            (Some(payload), None) => self.first = Some(payload),
            (Some(payload), Some(_)) => discard(payload),
            (None, _) => {}
        }
    }

    /// What the first panic carried, if there was one.
    #[inline]
    #[must_use]
    pub fn into_first(self) -> Option<Payload> {
        self.first
    }

    /// Goes on with the first panic, if there was one and none is under way.
    #[inline]
    pub fn finish(self) {
        match self.first {
            Some(payload) if !thread::panicking() => resume_unwind(payload),
            // A second unwind would abort.
            Some(payload) => discard(payload),
            None => {}
        }
    }
}

/// The text of a panic, if its payload is a text.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests;
