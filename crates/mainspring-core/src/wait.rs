//! Why the current task is pending: kind, object, since when.
//!
//! A leaf that is about to return `Pending` calls [`note`]: two plain stores into its task's
//! header, no clock read (the stamp is the turn clock's). Anybody may read them later without
//! polling anybody. When several leaves of one poll return `Pending` (a join, a select), the last
//! one wins and is shown as "one of".
//!
//! # Invariants
//!
//! - **wait.one-writer** — a slot is written only by the thread that polls its task, so a load and
//!   a store are enough to update one half of the word.
//! - **wait.torn** — the object and the word are two stores: a reader believes them only between
//!   two equal reads of the word, while the task was seen idle before and after.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `wait.note` | writing object, link, word | reading them | that a newer poll began |

use crate::poll::{self, TaskStamp};
use crate::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::task::TaskId;
use crate::time::Nanos;
use std::fmt;
use std::time::Duration;

/// What a pending task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum WaitKind {
    /// Nothing was noted. No [`WaitReason`] has it: a task whose poll noted nothing waits for
    /// something outside the family, and shows none.
    Unknown = 0,
    /// A moment in time.
    Timer = 1,
    /// The task asked to let others run.
    Yield = 2,
    /// Another task's end.
    Join = 3,
    /// One value from one producer.
    Completion = 4,
    /// The next of a stream of completions.
    Relay = 5,
    /// A job on the blocking pool.
    Blocking = 6,
    /// A mutex or a read-write lock.
    Lock = 7,
    /// Permits of a semaphore.
    Permit = 8,
    /// Room in a channel.
    Send = 9,
    /// A message.
    Receive = 10,
    /// A notification.
    Notify = 11,
    /// Bytes, or a datagram, to arrive.
    Read = 12,
    /// Room to write.
    Write = 13,
    /// A connection to arrive.
    Accept = 14,
    /// A connection to be established.
    Connect = 15,
    /// An operation on a file.
    File = 16,
    /// A signal or the end of a child process.
    Signal = 17,
    /// A rate or concurrency limiter.
    Limiter = 18,
    /// Cancellation, or the end of a scope.
    Cancel = 19,
    /// A promise.
    Promise = 20,
}

impl WaitKind {
    const ALL: [Self; 21] = [
        Self::Unknown,
        Self::Timer,
        Self::Yield,
        Self::Join,
        Self::Completion,
        Self::Relay,
        Self::Blocking,
        Self::Lock,
        Self::Permit,
        Self::Send,
        Self::Receive,
        Self::Notify,
        Self::Read,
        Self::Write,
        Self::Accept,
        Self::Connect,
        Self::File,
        Self::Signal,
        Self::Limiter,
        Self::Cancel,
        Self::Promise,
    ];

    fn from_u8(kind: u8) -> Self {
        Self::ALL
            .get(usize::from(kind))
            .copied()
            .unwrap_or(Self::Unknown)
    }
}

/// Why a task is pending, as read from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitReason {
    /// What it waits for.
    pub kind: WaitKind,
    /// Which one: the number that the primitive's own `Debug` shows, a descriptor, a deadline in
    /// nanoseconds. Zero when the primitive has no number.
    pub object: u64,
    /// For how long, within 8.4 ms, up to 39 hours; longer waits wrap around.
    pub elapsed: Duration,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for {:?}", self.kind, self.elapsed)
    }
}

/// Bits of one unit of the stamp: 2^23 ns are 8.4 ms.
const SINCE_SHIFT: u32 = 23;
const SINCE_BITS: u32 = 24;
const SINCE_MASK: u64 = (1 << SINCE_BITS) - 1;
const POLLS_BITS: u32 = u32::BITS;

/// The part of a task's header that says who it is, what it waits for and how often it was polled.
///
/// `object` shares its place with the link of the run queue: a task that is queued waits for
/// nothing.
#[derive(Debug)]
pub struct WaitSlot {
    task: TaskId,
    /// What is waited for, or the link of the queue that the task is in.
    pub(crate) object: AtomicU64,
    /// The kind in the high 8 bits, the stamp in the next 24, polls in the low 32.
    word: AtomicU64,
}

impl WaitSlot {
    /// The slot of a task that was never polled.
    #[inline]
    pub(crate) fn new(task: TaskId) -> Self {
        Self {
            task,
            object: AtomicU64::new(0),
            word: AtomicU64::new(0),
        }
    }

    /// Counts a poll and forgets what was waited for.
    #[inline]
    pub(crate) fn begin_poll(&self) {
        // CLAIM: [wait.one-writer] the poller alone, one after the other by the state word.
        let polls = self.polls().wrapping_add(1);
        // ORDERING: [wait.note] Release, pairs with `reason`: who reads that this poll began finds
        // the task running, or a newer word. Relaxed would show the last poll's object for it.
        self.word.store(u64::from(polls), Release);
    }

    /// The task that it belongs to.
    #[inline]
    pub(crate) fn task(&self) -> TaskId {
        self.task
    }

    /// The task's number and the number of its last poll.
    #[inline]
    pub(crate) fn stamp(&self) -> TaskStamp {
        TaskStamp {
            task: self.task.as_u64(),
            polls: self.polls(),
        }
    }

    /// How often the task was polled, wrapping.
    #[inline]
    pub(crate) fn polls(&self) -> u32 {
        polls_of(self.word.load(Relaxed))
    }

    #[inline]
    fn note(&self, kind: WaitKind, object: u64, now: Nanos) {
        let since = (now.0 >> SINCE_SHIFT) & SINCE_MASK;
        let reason = (kind as u64) << SINCE_BITS | since;
        self.set_object(object);
        let word = reason << POLLS_BITS | u64::from(self.polls());
        // ORDERING: [wait.note] Release, pairs with `reason`: a reader of this word finds this
        // object or a newer one. Relaxed would let it find the last poll's.
        self.word.store(word, Release);
    }

    /// Writes the object, or the link of a queue.
    #[inline]
    pub(crate) fn set_object(&self, object: u64) {
        // ORDERING: [wait.note] Release, pairs with `reason`: a reader that finds this object also
        // finds, when it looks again, that the task was queued or polled since the last. Relaxed
        // would let it take a link, or the next poll's object, for the last poll's.
        self.object.store(object, Release);
    }

    /// The word, to be compared with a later one.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        self.word.load(Relaxed)
    }

    /// What was noted last, if this poll has noted anything. The caller brackets this by two equal
    /// reads of the word, and these by two looks that find the task idle: [wait.torn].
    pub(crate) fn reason(&self, now: Nanos) -> Option<WaitReason> {
        // ORDERING: [wait.note] Acquire, pairs with `note`: the object below is not older.
        let word = self.word.load(Acquire);
        // ORDERING: [wait.note] Acquire, pairs with `set_object`: the caller's second reads see
        // what came before a newer object.
        let object = self.object.load(Acquire);
        let reason = word >> POLLS_BITS;
        let kind = WaitKind::from_u8((reason >> SINCE_BITS) as u8);
        // Without a note there is no stamp either.
        if kind == WaitKind::Unknown {
            return None;
        }
        let since = reason & SINCE_MASK;
        let elapsed = ((now.0 >> SINCE_SHIFT).wrapping_sub(since)) & SINCE_MASK;
        Some(WaitReason {
            kind,
            object,
            elapsed: Duration::from_nanos(elapsed << SINCE_SHIFT),
        })
    }
}

/// The polls in a slot's word.
#[inline]
pub(crate) fn polls_of(word: u64) -> u32 {
    word as u32
}

/// Notes why the current task is about to return `Pending`.
///
/// Outside a task of ours it does nothing. Two relaxed stores and one thread-local access.
#[inline]
pub fn note(kind: WaitKind, object: u64) {
    poll::with_wait_slot(|slot| slot.note(kind, object, poll::turn_now()));
}

#[cfg(test)]
impl WaitSlot {
    /// The slot of a task in this poll.
    pub(crate) fn of(stamp: TaskStamp) -> Self {
        Self {
            task: TaskId::from_u64(stamp.task).expect("tasks count from one"),
            object: AtomicU64::new(0),
            word: AtomicU64::new(u64::from(stamp.polls)),
        }
    }
}

#[cfg(test)]
mod tests;
