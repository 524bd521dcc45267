//! What the ends know of each other without a lock: who is about to look.
//!
//! Waiting and waking cost a waker and two locks for each. Where two tasks take turns that is
//! nearly all of a message's cost, and it is spent for a peer that is awake and in the same run
//! queue. So who finds nothing, no message or no room, while the other side is about to look, lets
//! it run first: its task is woken and goes to the tail of its queue, and has most often what it
//! came for when it is polled again. If not, it waits like everybody.
//!
//! Who may give way: in a poll of the family only, for elsewhere nobody knows what a wake of
//! oneself costs, or whether it lets anybody run; and only while nobody of its own side waits, so
//! that those who do are not overtaken. Who gives way is in no queue yet: of two senders that find
//! no room, the one that gave way waits behind the one that did not.
//!
//! # Invariants
//!
//! - **side.hint** — nothing but whether somebody gives way rests on what is noted here: it may be
//!   wrong in both directions, at any time.
//! - **side.once** — one call gives way once at most, and each note that somebody is about to look
//!   is used once.
//! - **side.order** — one of whose side others wait, as far as is known, waits behind them.
//! - **side.owes** — who gives way has woken its task, is in no list and was told nothing: dropped
//!   before it looks again, it owes nothing to anybody.
//!
//! # Rejected
//!
//! Giving way whenever there is nothing: it would cost each wait a poll, and most waits are for
//! something that is not about to come. Looking into the list for who waits: a lock, which is half
//! of what this is to save. The note in the index words that somebody waits: it is left behind on
//! purpose where somebody was woken, which is just when there is somebody to give way to.

use super::ask::look_again;
use mainspring_core::poll;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Context;

/// What is known of the senders, or of the receivers. Stored and never exchanged.
#[derive(Debug)]
pub(crate) struct Side {
    /// One of them was woken, or gave way, and has perhaps not looked since.
    is_due: AtomicBool,
    /// One of them waits in the list, perhaps.
    waits: AtomicBool,
}

impl Side {
    pub(crate) fn new() -> Self {
        Self {
            is_due: AtomicBool::new(false),
            waits: AtomicBool::new(false),
        }
    }

    /// Lets the other side run, if it is about to look and nobody waits here. If so, the caller
    /// returns `Pending`, and remembers that it gave way.
    #[inline]
    pub(crate) fn gives_way_to(&self, other: &Side, cx: &Context<'_>) -> bool {
        // CLAIM: [side.hint] [side.order]
        if !other.is_due.load(Relaxed) || self.waits.load(Relaxed) || !poll::is_active() {
            return false;
        }
        // CLAIM: [side.once]
        other.is_due.store(false, Relaxed);
        self.is_due.store(true, Relaxed);
        // CLAIM: [side.owes]
        look_again(cx);
        true
    }

    /// One of them was woken, and whether it was the last that waited. Under the list's lock.
    #[inline]
    pub(crate) fn woken(&self, is_last: bool) {
        self.is_due.store(true, Relaxed);
        self.waits.store(!is_last, Relaxed);
    }

    /// One of them is about to wait, under the list's lock.
    #[inline]
    pub(crate) fn parks(&self) {
        self.waits.store(true, Relaxed);
    }

    /// Nobody waits any more, under the list's lock.
    #[inline]
    pub(crate) fn left(&self) {
        self.waits.store(false, Relaxed);
    }

    /// One that was woken has come.
    #[inline]
    pub(crate) fn came(&self) {
        self.is_due.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests;
