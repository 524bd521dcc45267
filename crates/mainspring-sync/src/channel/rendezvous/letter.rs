//! A sender's node: the message, until somebody takes it.
//!
//! # States
//!
//! ```text
//!          park                    a receiver takes it
//!   OWN ─────────▶ LINKED (message, waker) ─────────▶ EMPTY
//!                    │    closed, dropped, taken back
//!                    └─────────────────────────────▶ OWN (message)
//! ```
//!
//! # Invariants
//!
//! - **letter.owner** — a letter that is linked is touched only under the table's lock; one that is
//!   not is its sender's alone, who finds out under that lock.
//! - **letter.pinned** — a linked node is pinned and alive; it is unlinked under the lock before it
//!   dies, and one that is forgotten is never freed.

use mainspring_core::list::Node;
use mainspring_core::sync::cell::UnsafeCell;
use std::task::Waker;

/// What a sender's node holds.
pub(crate) struct Letter<T>(UnsafeCell<Inside<T>>);

/// What is in a letter. An empty one that was parked has been received.
pub(crate) struct Inside<T> {
    pub(super) message: Option<T>,
    pub(super) waker: Option<Waker>,
    pub(super) is_linked: bool,
}

impl<T> Letter<T> {
    pub(super) fn sealed(message: T) -> Node<Self> {
        Node::new(Self(UnsafeCell::new(Inside {
            message: Some(message),
            waker: None,
            is_linked: false,
        })))
    }

    /// # Safety
    ///
    /// The table's lock is held, or the letter was never linked and the caller owns it. `f` does
    /// not come back for the same letter.
    pub(super) unsafe fn open<R>(&self, f: impl FnOnce(&mut Inside<T>) -> R) -> R {
        self.0.with_mut(|inside| {
            // SAFETY: [letter.owner] nobody else is at it, by the contract.
            f(unsafe { &mut *inside })
        })
    }
}
