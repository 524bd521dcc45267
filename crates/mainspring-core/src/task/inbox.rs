//! Runnables from any thread to one owner: a lock-free stack through the tasks themselves, turned
//! around when it is taken.
//!
//! Nothing is ever popped singly, so the classic stack's ABA fault has no place here: pushes
//! compare the head, the owner swaps the whole chain out.
//!
//! # Invariants
//!
//! - **inbox.owned** — a runnable that was pushed belongs to the inbox, its link included, until
//!   the chain it is in is swapped out, once.
//! - **inbox.once-told** — between two takings by the owner exactly one push learns that it was the
//!   first: one unpark is enough, and none is missing.
//! - **inbox.closed** — after `close` no push succeeds, and every one gives its runnable back.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `inbox.push` | the push's exchange | taking the chain | its links |
//!
//! # Rejected
//!
//! A queue whose producers swap the tail and then link: a producer that stops between the two hides
//! every push after its own.

use super::Runnable;
use super::header::{Header, TaskPtr};
use super::queue::RunQueue;
use crate::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::fmt;
use std::ptr::{self, NonNull};

/// A lock-free inbox of runnables: any thread pushes, its one owner takes all.
///
/// Dropping it drops what is inside, which cancels those tasks.
pub struct Inbox {
    head: AtomicPtr<Header>,
}

/// What a push to an [`Inbox`] came to.
#[derive(Debug)]
#[must_use = "an owner that sleeps must be told, and a closed inbox gives the runnable back"]
pub enum Pushed {
    /// The inbox was empty: its owner may be asleep and must be unparked.
    First,
    /// Somebody pushed before and has seen to that.
    Queued,
    /// The inbox is closed.
    Closed(Runnable),
}

/// The head of a closed inbox: an address that no task has.
fn closed() -> *mut Header {
    ptr::without_provenance_mut(align_of::<Header>())
}

impl Inbox {
    /// An empty inbox.
    #[must_use]
    pub fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Pushes a runnable. One exchange, repeated if another push came between.
    #[inline]
    pub fn push(&self, runnable: Runnable) -> Pushed {
        let mut head = self.head.load(Relaxed);
        loop {
            if head == closed() {
                return Pushed::Closed(runnable);
            }
            runnable.header().set_link(NonNull::new(head));
            let task = runnable.task().as_ptr().as_ptr();
            // ORDERING: [inbox.push] [inbox.once-told] Release, pairs with the taking in `take_all`
            // and `close`: the owner sees the link written above. Relaxed would let it walk a stale
            // one. The exchange that finds nothing is the one that tells.
            match self
                .head
                .compare_exchange_weak(head, task, Release, Relaxed)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        std::mem::forget(runnable);
        if head.is_null() {
            Pushed::First
        } else {
            Pushed::Queued
        }
    }

    /// Whether there is nothing to take. A push that happens at the same time may be missed: an
    /// owner that goes to sleep announces it first, then looks.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let head = self.head.load(Relaxed);
        head.is_null() || head == closed()
    }

    /// Takes all that was pushed, first in first out. Only the owner calls it; O(n), one swap, and
    /// none if the inbox is empty.
    #[inline]
    pub fn take_all(&self) -> RunQueue {
        if self.is_empty() {
            return RunQueue::new();
        }
        let mut head = self.head.load(Relaxed);
        loop {
            if head == closed() {
                return RunQueue::new();
            }
            // ORDERING: [inbox.push] Acquire, pairs with the Release of every push in the chain,
            // each of which continues the one before. Relaxed would let us walk stale links.
            match self
                .head
                .compare_exchange_weak(head, ptr::null_mut(), Acquire, Relaxed)
            {
                Ok(chain) => return turn_around(chain),
                Err(now) => head = now,
            }
        }
    }

    /// Closes the inbox for good and takes what was in it.
    pub fn close(&self) -> RunQueue {
        // ORDERING: [inbox.push] Acquire, as in `take_all`.
        let chain = self.head.swap(closed(), Acquire);
        if chain == closed() {
            return RunQueue::new();
        }
        turn_around(chain)
    }
}

/// Makes a first-in first-out queue of a chain that begins with the last.
fn turn_around(chain: *mut Header) -> RunQueue {
    let mut queue = RunQueue::new();
    debug_assert_ne!(chain, closed(), "inbox.closed: the mark taken for a task");
    let mut next: Option<TaskPtr> = NonNull::new(chain);
    while let Some(task) = next {
        // SAFETY: [inbox.owned] the chain is ours, and a queued runnable's task is alive.
        next = unsafe { task.as_ref() }.link();
        // SAFETY: [inbox.owned] the push forgot the runnable, and the chain is walked once.
        queue.push_front(unsafe { Runnable::from_ptr(task) });
    }
    queue
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        drop(self.close());
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}

#[cfg(test)]
mod tests;
