//! The payloads of caught panics that go no further.
//!
//! Public for the sibling crates, and not covered by semantic versioning.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// The text of a panic, if its payload is a text.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests;
