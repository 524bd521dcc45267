//! Steps that all have to be made, though one of them may run code of the user's that panics.

use mainspring_core::payload::{Payload, contain, discard};
use std::panic::resume_unwind;
use std::thread;

/// Runs steps and keeps the first panic until all are made.
#[derive(Default)]
pub(crate) struct Steps {
    first: Option<Payload>,
}

impl Steps {
    pub(crate) fn run(&mut self, step: impl FnOnce()) {
        match (contain(step), &self.first) {
            (Some(payload), None) => self.first = Some(payload),
            (Some(payload), Some(_)) => discard(payload),
            (None, _) => {}
        }
    }

    /// Goes on with the first panic, if there was one.
    pub(crate) fn finish(self) {
        match self.first {
            Some(payload) if !thread::panicking() => resume_unwind(payload),
            // A second unwind would abort.
            Some(payload) => discard(payload),
            None => {}
        }
    }
}
