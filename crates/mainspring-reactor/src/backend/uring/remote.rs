//! What other threads hand in for the owner of a ring to do, until the ring closes.
//!
//! # Invariants
//!
//! - **remote.kept** — what was handed in is taken once: by the owner's turn, or by the close.
//! - **remote.closed** — nothing is handed in after the close, and whoever tries is told.
//! - **remote.seen** — an owner that was told by other means that something was handed in (by a
//!   notification, or by a lock that the other thread held meanwhile) finds it. So it can be kept
//!   in order with what the owner does itself.
//!
//! # Rejected
//!
//! *Taking the lock in each turn*: two read-modify-writes for what almost never happens. *A
//! lock-free queue*: the close has to be decided together with what is in it.

use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The ring has closed, and this comes back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused<T>(pub(crate) T);

struct Inbox<T> {
    items: Vec<T>,
    is_closed: bool,
}

/// The inbox.
pub(crate) struct Remote<T> {
    inbox: Mutex<Inbox<T>>,
    /// There may be something in it. Written under the lock.
    has_some: AtomicBool,
}

impl<T> Remote<T> {
    pub(crate) fn new() -> Self {
        Self {
            inbox: Mutex::new(Inbox {
                items: Vec::new(),
                is_closed: false,
            }),
            has_some: AtomicBool::new(false),
        }
    }

    /// By anybody. The caller tells the owner afterwards.
    pub(crate) fn hand_in(&self, item: T) -> Result<(), Refused<T>> {
        let mut inbox = self.inbox.lock();
        if inbox.is_closed {
            // CLAIM: [remote.closed] under the lock under which the close takes what is there.
            return Err(Refused(item));
        }
        inbox.items.push(item);
        // Relaxed: what tells the owner orders it too.
        self.has_some.store(true, Relaxed);
        Ok(())
    }

    /// By the owner, in each turn: what there is.
    pub(crate) fn take(&self) -> Vec<T> {
        // CLAIM: [remote.seen] a load that misses it was not ordered after it: there is another.
        if !self.has_some.load(Relaxed) {
            return Vec::new();
        }
        let mut inbox = self.inbox.lock();
        self.has_some.store(false, Relaxed);
        // CLAIM: [remote.kept] under the lock.
        std::mem::take(&mut inbox.items)
    }

    /// By the owner, at the end: what there is, and never again.
    pub(crate) fn close(&self) -> Vec<T> {
        let mut inbox = self.inbox.lock();
        inbox.is_closed = true;
        self.has_some.store(false, Relaxed);
        std::mem::take(&mut inbox.items)
    }
}

#[cfg(test)]
mod tests;
