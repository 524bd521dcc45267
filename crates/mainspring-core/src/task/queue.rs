//! A plain FIFO of runnables, linked through the tasks themselves.

use super::Runnable;
use super::header::{Header, TaskPtr};
use std::fmt;
use std::ptr;

/// A first-in first-out queue of runnables for one owner: O(1), but for [`len`](Self::len), and it
/// never allocates.
///
/// Dropping it drops what is queued, which cancels those tasks.
pub struct RunQueue {
    first: Option<TaskPtr>,
    /// The last, whose link means nothing, if there is a first; otherwise dangling.
    last: TaskPtr,
}

// SAFETY: [task.link] the queue owns its runnables, which are `Send`, and their links with them.
unsafe impl Send for RunQueue {}

impl RunQueue {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            first: None,
            last: TaskPtr::dangling(),
        }
    }

    /// How many runnables are queued. Counts them: O(n).
    #[must_use]
    pub fn len(&self) -> usize {
        let mut len = 0;
        let mut next = self.first;
        while let Some(task) = next {
            len += 1;
            // SAFETY: [task.link] the queue owns the runnable, so its task is alive.
            next = self.after(unsafe { task.as_ref() });
        }
        len
    }

    /// What is linked behind a task of this queue.
    #[inline]
    fn after(&self, task: &Header) -> Option<TaskPtr> {
        if ptr::eq(self.last.as_ptr(), task) {
            None
        } else {
            task.link()
        }
    }

    /// Whether nothing is queued.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Queues at the tail.
    #[inline]
    pub fn push(&mut self, runnable: Runnable) {
        let task = runnable.into_ptr();
        self.link_last(task);
        self.last = task;
    }

    /// Links a chain behind the last, or makes it the first.
    #[inline]
    fn link_last(&mut self, next: TaskPtr) {
        if self.first.is_some() {
            // SAFETY: [task.link] the queue owns the last runnable, so its task is alive.
            unsafe { self.last.as_ref() }.set_link(Some(next));
        } else {
            self.first = Some(next);
        }
    }

    /// Queues at the head.
    #[inline]
    pub fn push_front(&mut self, runnable: Runnable) {
        runnable.header().set_link(self.first);
        let task = runnable.into_ptr();
        if self.first.replace(task).is_none() {
            self.last = task;
        }
    }

    /// Takes the runnable at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Runnable> {
        let first = self.first?;
        // SAFETY: [task.link] the queue owns the runnable, so its task is alive.
        self.first = self.after(unsafe { first.as_ref() });
        // SAFETY: [task.link] it was made a pointer by `push`, and is reached no more.
        Some(unsafe { Runnable::from_ptr(first) })
    }

    /// Moves everything from the other queue to this one's tail, in order.
    pub fn append(&mut self, other: &mut RunQueue) {
        let Some(first) = other.first.take() else {
            return;
        };
        self.link_last(first);
        self.last = other.last;
    }
}

impl Default for RunQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl Iterator for RunQueue {
    type Item = Runnable;

    fn next(&mut self) -> Option<Runnable> {
        self.pop()
    }
}

impl Extend<Runnable> for RunQueue {
    fn extend<I: IntoIterator<Item = Runnable>>(&mut self, runnables: I) {
        for runnable in runnables {
            self.push(runnable);
        }
    }
}

impl Drop for RunQueue {
    fn drop(&mut self) {
        while let Some(runnable) = self.pop() {
            drop(runnable);
        }
    }
}

impl fmt::Debug for RunQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunQueue")
            .field("len", &self.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
