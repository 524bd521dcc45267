//! Who waits for a source.

use super::readiness::Half;
use mainspring_core::wait_list::From;
use mainspring_core::{AtomicWaker, WaitList};
use std::task::Waker;

/// The waiters of both halves.
#[derive(Debug)]
pub(crate) enum Waiters {
    /// One for each half: what is called through `&mut self` or through a half of its own.
    One {
        read: AtomicWaker,
        write: AtomicWaker,
    },
    /// A queue for the read half: what is called through `&self`. Boxed, because streams are many.
    Many(Box<WaitList>),
}

impl Waiters {
    pub(crate) fn one() -> Self {
        Self::One {
            read: AtomicWaker::new(),
            write: AtomicWaker::new(),
        }
    }

    pub(crate) fn many() -> Self {
        Self::Many(Box::new(WaitList::revocable(())))
    }

    /// Takes the one waiter of `half`. Safe under a lock: nothing of a user's runs.
    #[must_use = "the waker is no longer registered: wake it"]
    pub(crate) fn take(&self, half: Half) -> Option<Waker> {
        match (self, half) {
            (Self::One { read, .. }, Half::Read) => read.take(),
            (Self::One { write, .. }, Half::Write) => write.take(),
            (Self::Many(_), _) => None,
        }
    }

    /// Registers the one waiter of `half`.
    pub(crate) fn register(&self, half: Half, waker: &Waker) {
        match (self, half) {
            (Self::One { read, .. }, Half::Read) => read.register(waker),
            (Self::One { write, .. }, Half::Write) => write.register(waker),
            (Self::Many(_), _) => unreachable!("calls on `&self` wait in the queue"),
        }
    }

    /// The queue of the read half, if there is one.
    pub(crate) fn queue(&self) -> Option<&WaitList> {
        match self {
            Self::One { .. } => None,
            Self::Many(queue) => Some(queue),
        }
    }

    /// Tells the one that has waited longest in the queue. Returns how many were told.
    pub(crate) fn tell_next(&self) -> usize {
        self.queue()
            .map_or(0, |queue| usize::from(queue.wake_one(From::Oldest)))
    }

    /// Tells everybody in the queue.
    pub(crate) fn tell_all(&self) {
        if let Some(queue) = self.queue() {
            queue.wake_all();
        }
    }
}
