//! Panics of foreign code inside a driver's turn.

use mainspring_core::payload::{Payload, contain, discard};
use std::panic;
use std::thread;

/// The first panic of foreign code, to be resumed when everybody was told.
#[derive(Default)]
pub(crate) struct Panics(Option<Payload>);

impl Panics {
    /// Runs foreign code.
    pub(crate) fn catch(&mut self, foreign: impl FnOnce()) {
        if let Some(payload) = contain(foreign) {
            match self.0 {
                None => self.0 = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Goes on unwinding, if somebody panicked.
    pub(crate) fn resume(self) {
        match self.0 {
            // A second unwind would abort.
            Some(payload) if thread::panicking() => discard(payload),
            Some(payload) => panic::resume_unwind(payload),
            None => {}
        }
    }
}
