//! The turn clock of whatever runs further down on this thread's stack.

use mainspring_core::poll;
use mainspring_core::time::Nanos;

/// Puts the thread's turn clock back to what it was when this was made, on unwind too.
#[must_use = "the clock goes back when this is dropped"]
pub(crate) struct OuterTurn(Nanos);

impl OuterTurn {
    /// Remembers what the clock says now.
    pub(crate) fn keep() -> Self {
        Self(poll::turn_now())
    }
}

impl Drop for OuterTurn {
    fn drop(&mut self) {
        poll::begin_turn(self.0);
    }
}
