//! The place in a queue that an end of a channel keeps for its stream, or its sink.
//!
//! The place of a future goes with the future. That of a stream belongs to the end, so that the end
//! can be moved, and outlives a `next` that is dropped: what comes meanwhile would be announced to
//! a place at which nobody looks. Nobody can see the drop, but whoever uses the end in another way
//! is not waiting as a stream, and leaves the place first.
//!
//! # Invariants
//!
//! - **place.left** — every other way to receive, or to send, with the same end leaves the place
//!   before it looks; what the place had been given or told passes on, as by any future's drop.
//! - **place.alone** — the node is touched by who has the end for itself, or by who took the mark
//!   that it may be in a queue; the mark is set by the former only.

use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::sync::cell::UnsafeCell;
use std::pin::Pin;

/// A node, whose drop leaves the queue and passes on what it was given or told.
pub(crate) trait Waits {
    /// Whether it may be in the queue, or have something to pass on.
    fn waits(&self) -> bool;
}

/// A node on the heap, made when it is needed and kept until it is left while it waits.
pub(crate) struct Place<N> {
    node: UnsafeCell<Option<Pin<Box<N>>>>,
    /// The mark: there may be something to leave.
    may_wait: AtomicBool,
}

// SAFETY: [place.alone] a shared place lends its node to one thread at a time, which has to be
// allowed to have it.
unsafe impl<N: Send> Sync for Place<N> {}

impl<N> Place<N> {
    pub(crate) fn new() -> Self {
        Self {
            node: UnsafeCell::new(None),
            may_wait: AtomicBool::new(false),
        }
    }

    /// Calls `f` with the node, which may wait afterwards.
    #[inline]
    pub(crate) fn wait<R>(
        &mut self,
        make: impl FnOnce() -> N,
        f: impl FnOnce(Pin<&mut N>) -> R,
    ) -> R {
        // Relaxed, here and in `leave`: the end itself goes from one thread to another between the
        // two, and whatever brings it there orders them. Before `f`, which may unwind.
        if !self.may_wait.load(Relaxed) {
            self.may_wait.swap(true, Relaxed);
        }
        self.node.with_mut(|node| {
            // SAFETY: [place.alone] we are borrowed exclusively.
            let node = unsafe { &mut *node };
            f(node.get_or_insert_with(|| Box::pin(make())).as_mut())
        })
    }

    /// Drops the node.
    pub(crate) fn clear(&mut self) {
        let node = self.node.with_mut(|node| {
            // SAFETY: [place.alone] we are borrowed exclusively.
            let node = unsafe { &mut *node };
            node.take()
        });
        drop(node);
    }
}

impl<N: Waits> Place<N> {
    /// Leaves the queue, if the node is in it.
    ///
    /// One of several threads that come here does it, and the others do not wait for that: what it
    /// passes on reaches them in the queue.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        if self.may_wait.load(Relaxed) {
            self.leave_now();
        }
    }

    #[cold]
    fn leave_now(&self) {
        if !self.may_wait.swap(false, Relaxed) {
            return;
        }
        let left = self.node.with_mut(|node| {
            // SAFETY: [place.alone] the mark was there, and we took it.
            let node = unsafe { &mut *node };
            node.take_if(|node| node.waits())
        });
        // CLAIM: [place.left] a waker that comes back here finds neither mark nor node.
        drop(left);
    }
}

#[cfg(test)]
mod tests;
