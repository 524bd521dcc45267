//! A plain FIFO of runnables, linked through the tasks themselves.

use super::Runnable;
use super::header::TaskPtr;
use std::fmt;

/// A first-in first-out queue of runnables for one owner: O(1), and it never allocates.
///
/// Dropping it drops what is queued, which cancels those tasks.
#[derive(Default)]
pub struct RunQueue {
    ends: Option<(TaskPtr, TaskPtr)>,
    len: usize,
}

// SAFETY: [task.link] the queue owns its runnables, which are `Send`, and their links with them.
unsafe impl Send for RunQueue {}

impl RunQueue {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self { ends: None, len: 0 }
    }

    /// How many runnables are queued.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is queued.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Queues at the tail.
    #[inline]
    pub fn push(&mut self, runnable: Runnable) {
        runnable.header().set_link(None);
        let task = runnable.into_ptr();
        self.len += 1;
        self.ends = Some(match self.ends {
            None => (task, task),
            Some((first, last)) => {
                // SAFETY: [task.link] the queue owns the last runnable, so its task is alive.
                unsafe { last.as_ref() }.set_link(Some(task));
                (first, task)
            }
        });
    }

    /// Queues at the head.
    #[inline]
    pub fn push_front(&mut self, runnable: Runnable) {
        runnable
            .header()
            .set_link(self.ends.map(|(first, _)| first));
        let task = runnable.into_ptr();
        self.len += 1;
        self.ends = Some(match self.ends {
            None => (task, task),
            Some((_, last)) => (task, last),
        });
    }

    /// Takes the runnable at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Runnable> {
        let (first, last) = self.ends?;
        // SAFETY: [task.link] the queue owns the runnable, so its task is alive.
        let next = unsafe { first.as_ref() }.link();
        self.ends = next.map(|next| (next, last));
        self.len -= 1;
        // SAFETY: [task.link] it was made a pointer by `push`, and is reached no more.
        Some(unsafe { Runnable::from_ptr(first) })
    }

    /// Moves everything from the other queue to this one's tail, in order.
    pub fn append(&mut self, other: &mut RunQueue) {
        let Some((other_first, other_last)) = other.ends.take() else {
            return;
        };
        self.len += std::mem::take(&mut other.len);
        self.ends = Some(match self.ends {
            None => (other_first, other_last),
            Some((first, last)) => {
                // SAFETY: [task.link] the queue owns the last runnable, so its task is alive.
                unsafe { last.as_ref() }.set_link(Some(other_first));
                (first, other_last)
            }
        });
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
        f.debug_struct("RunQueue").field("len", &self.len).finish()
    }
}

#[cfg(test)]
mod tests;
