//! Panics of foreign code inside a driver's turn.

use mainspring_core::payload::absorb;

/// Contains the panics of a turn: what a waker panics with, the panic hook has reported, and
/// nobody else's wait depends on it.
pub(crate) struct Panics;

impl Panics {
    /// Runs foreign code, with no lock held.
    pub(crate) fn catch(&mut self, foreign: impl FnOnce()) {
        absorb(foreign);
    }
}
