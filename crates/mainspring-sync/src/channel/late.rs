//! A node that a future makes when it first has to wait.
//!
//! Most futures of a channel never wait. One whose node was not made has nothing to drop, and says
//! so with one flag, in line; an `Option` of a node brings the node's whole destructor into every
//! place where such a future ends. For the same reason this has no destructor of its own: who has
//! one calls [`Late::clear`] in its own, out of line, together with what else is to be done there.
//!
//! # Invariants
//!
//! - **late.made** — the node is there if and only if the flag is set, stays where it is, and is
//!   dropped once, by `clear`.

use std::mem::MaybeUninit;

/// Room for a node, and whether it was made.
pub(crate) struct Late<N> {
    is_made: bool,
    node: MaybeUninit<N>,
}

impl<N> Late<N> {
    /// Writes the flag alone. (A constant of this type, which `Self { .. }` would be, is copied as
    /// a whole, with zeros where the node will be.)
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let mut late = MaybeUninit::<Self>::uninit();
        // SAFETY: [late.made] a field of the memory that `late` is.
        let is_made = unsafe { &raw mut (*late.as_mut_ptr()).is_made };
        // SAFETY: [late.made] as above.
        unsafe { is_made.write(false) };
        // SAFETY: [late.made] the flag is written, and the node may be anything.
        unsafe { late.assume_init() }
    }

    #[inline(always)]
    pub(crate) fn is_made(&self) -> bool {
        self.is_made
    }

    pub(crate) fn get(&mut self) -> Option<&mut N> {
        if !self.is_made {
            return None;
        }
        // SAFETY: [late.made] the flag is set.
        Some(unsafe { self.node.assume_init_mut() })
    }

    /// The node, which is written where it stays if it was not there.
    pub(crate) fn made_with(&mut self, make: impl FnOnce() -> N) -> &mut N {
        if !self.is_made {
            self.node.write(make());
            self.is_made = true;
        }
        // SAFETY: [late.made] the flag is set.
        unsafe { self.node.assume_init_mut() }
    }

    /// Drops the node where it is.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_made) {
            // SAFETY: [late.made] the flag was set, and is not any more, even if this unwinds.
            unsafe { self.node.assume_init_drop() };
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
