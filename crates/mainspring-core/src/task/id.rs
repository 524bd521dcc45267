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

/// How many numbers a thread takes at once, so that spawning threads do not meet on the counter.
const BLOCK: u64 = 1024;

/// What is left of this thread's block.
#[derive(Clone, Copy)]
struct Block {
    next: u64,
    end: u64,
}

static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

std::thread_local! {
    static MINE: Cell<Block> = const { Cell::new(Block { next: 0, end: 0 }) };
}

impl TaskId {
    /// Draws a number nobody had before. One thread-local access; one contended read-modify-write
    /// every 1,024 calls.
    #[inline]
    pub(crate) fn next() -> Self {
        MINE.with(|mine| {
            let mut block = mine.get();
            if block.next == block.end {
                block = take_block();
            }
            let id = block.next;
            block.next += 1;
            mine.set(block);
            // Counting from one, 2^64 is out of reach, so this is never zero: the fallback costs
            // nothing and needs no panic path.
            Self(NonZeroU64::new(id).unwrap_or(NonZeroU64::MAX))
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
fn take_block() -> Block {
    let next = NEXT_BLOCK.fetch_add(BLOCK, Relaxed);
    Block {
        next,
        end: next + BLOCK,
    }
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
