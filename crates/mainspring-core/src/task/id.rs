//! Numbers of tasks: unique in the process, never reused.

use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::global::AtomicU64;
use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;

/// The number of a task: a counter's value, unique in the process and never reused.
///
/// Threads take numbers in blocks, so the order of two numbers says nothing about time when
/// different threads drew them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(NonZeroU64);

/// How many numbers a thread takes at once, so that spawning threads do not meet on the counter. A
/// block begins at a multiple of this, which is not given away: a thread's next number is one when
/// its block is used up, and zero before it has taken any.
const BLOCK: u64 = 1024;

static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0);

std::thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

impl TaskId {
    /// Draws a number nobody had before. One thread-local access; one contended read-modify-write
    /// every 1,023 calls.
    #[inline]
    pub(crate) fn next() -> Self {
        NEXT.with(|next| {
            let id = match NonZeroU64::new(next.get()) {
                Some(id) if id.get() % BLOCK != 0 => id,
                _ => take_block(),
            };
            next.set(id.get() + 1);
            Self(id)
        })
    }

    /// The task with the number that a [`TaskStamp`](crate::poll::TaskStamp) carries.
    #[inline]
    pub(crate) fn from_u64(id: u64) -> Option<Self> {
        NonZeroU64::new(id).map(Self)
    }

    /// The number itself.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }
}

#[cold]
fn take_block() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(NEXT_BLOCK.fetch_add(BLOCK, Relaxed))
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({})", self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
