//! The two queues that are shared with the kernel, and who may touch which end.
//!
//! # Invariants
//!
//! - **uring.owner** — the submission side is touched by the thread that made the ring, and by no
//!   other: entries are written, and the backlog is kept, there alone. Nothing of it is lent out
//!   while other code runs.
//! - **uring.baton** — the completion side (its head, and the tail of the buffers that are
//!   provided) is touched under the baton, which is held while entries are copied out and never
//!   while foreign code runs; of a ring that is owned, by the owner alone.
//! - **uring.memory** — what an entry points to is valid until its last completion: an entry names
//!   memory through a reference that is lent to the kernel with it (see `cell`).
//! - **uring.kept** — an entry that was pushed is submitted, however often the kernel takes only
//!   some: what has no room waits in the backlog, in order.
//!
//! # Rejected
//!
//! Submitting at each push: a system call an operation. Dropping what has no room with an error:
//! the caller could do nothing but try again.

use super::listener;
use super::probe::{self, Profile};
use super::provided::Provider;
use crate::backend::RingRefusal;
use io_uring::squeue::Entry;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue};
use mainspring_core::sync::Mutex;
// DOOR: the owner's alone, which no model explores; and an id counter.
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
// DOOR: as above.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What the kernel says about one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    pub(crate) data: u64,
    pub(crate) result: i32,
    pub(crate) flags: u32,
}

/// Holds the completion side of the ring.
struct Baton {
    provider: Provider,
}

/// How often in a row the kernel may refuse an entry for a moment, before the owner is told: who
/// tries again at once, for ever, would spin.
const REFUSALS_MAX: u32 = 16;

/// The queues.
pub(crate) struct Ring {
    io: IoUring,
    profile: Profile,
    owner: u64,
    backlog: UnsafeCell<VecDeque<Entry>>,
    baton: Mutex<Baton>,
    /// Entries that the kernel has refused for a moment, since one last brought something.
    refusals: AtomicU32,
}

// SAFETY: [uring.owner, uring.baton] the backlog is touched by the owner alone, which is checked;
// the queues are the kernel's and ours, each end under its own rule; the rest is `Sync` by itself.
unsafe impl Sync for Ring {}
// SAFETY: [uring.owner] moving the value moves neither the mapped queues nor the owner.
unsafe impl Send for Ring {}

impl Ring {
    pub(crate) fn new(
        profile: Profile,
        provider: impl FnOnce(&IoUring) -> io::Result<Provider>,
    ) -> Result<Self, RingRefusal> {
        let io = probe::build(profile)?;
        let provider = provider(&io).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => RingRefusal::TooOld {
                lacks: "rings of provided buffers",
            },
            Some(libc::ENOMEM) => RingRefusal::Memlock,
            code => RingRefusal::Other {
                code: code.unwrap_or(0),
            },
        })?;
        Ok(Self {
            io,
            profile,
            owner: thread_id(),
            backlog: UnsafeCell::new(VecDeque::new()),
            baton: Mutex::new(Baton { provider }),
            refusals: AtomicU32::new(0),
        })
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    /// Whether this thread may push and enter.
    #[inline]
    pub(crate) fn is_owner(&self) -> bool {
        self.owner == thread_id()
    }

    /// By the owner: takes an entry in, to be submitted by the next entry into the kernel.
    ///
    /// # Safety
    ///
    /// What the entry points to stays valid until its last completion ([uring.memory]).
    pub(crate) unsafe fn push(&self, entry: Entry) {
        debug_assert!(self.is_owner(), "uring.owner: a push from elsewhere");
        if self.has_backlog() {
            // CLAIM: [uring.kept] behind what waits already.
            self.with_backlog(|backlog| backlog.push_back(entry));
        // SAFETY: [uring.memory] the caller's.
        } else if !unsafe { self.try_push(&entry) } {
            // A failure leaves the queue full, and says so again when somebody waits.
            let _ = self.enter();
            // SAFETY: [uring.memory] as above.
            if !unsafe { self.try_push(&entry) } {
                self.with_backlog(|backlog| backlog.push_back(entry));
            }
        }
    }

    /// # Safety
    ///
    /// As for `push`.
    unsafe fn try_push(&self, entry: &Entry) -> bool {
        let mut queue = self.submission();
        // SAFETY: [uring.memory] the caller's.
        unsafe { queue.push(entry) }.is_ok()
    }

    /// Moves what waits into the queue, as far as there is room.
    fn retry_backlog(&self) {
        while let Some(entry) = self.with_backlog(VecDeque::pop_front) {
            // SAFETY: [uring.memory] it was pushed by somebody who vouched for it, and has no
            // completion yet.
            if !unsafe { self.try_push(&entry) } {
                self.with_backlog(|backlog| backlog.push_front(entry));
                return;
            }
        }
    }

    fn has_backlog(&self) -> bool {
        self.with_backlog(|backlog| !backlog.is_empty())
    }

    fn with_backlog<R>(&self, with: impl FnOnce(&mut VecDeque<Entry>) -> R) -> R {
        debug_assert!(self.is_owner(), "uring.owner: the backlog from elsewhere");
        // SAFETY: [uring.owner] only the owner comes here, and `with` calls nothing of ours.
        with(unsafe { &mut *self.backlog.get() })
    }

    /// By the owner, when nothing will be submitted any more: what never was.
    pub(crate) fn take_backlog(&self) -> VecDeque<Entry> {
        self.with_backlog(std::mem::take)
    }

    fn submission(&self) -> SubmissionQueue<'_> {
        debug_assert!(self.is_owner(), "uring.owner: the queue from elsewhere");
        // SAFETY: [uring.owner] the only view of the queue: each is dropped before anything else of
        // this file runs, and no other thread makes one.
        unsafe { self.io.submission_shared() }
    }

    /// By the owner: whether there are completions that need no entry into the kernel. It posts
    /// them when it is entered, for a push that found the queue full, say. That deferred work is
    /// waiting ends no turn: a turn of a few polls for each arrival would enter once a request.
    pub(crate) fn peek(&self) -> bool {
        // A shared ring's are also taken by others, under the baton, which costs more than waiting
        // for the end of the turn.
        self.profile == Profile::Owned && !self.completion_of_owner().is_empty()
    }

    fn completion_of_owner(&self) -> CompletionQueue<'_> {
        debug_assert!(self.is_owner(), "uring.owner: completions from elsewhere");
        debug_assert_eq!(self.profile, Profile::Owned, "uring.baton: without it");
        // SAFETY: [uring.baton] nobody but the owner reaps a ring of this profile, and the view is
        // dropped before the owner does.
        unsafe { self.io.completion_shared() }
    }

    /// By the owner: whether an entry into the kernel would bring something.
    fn is_worth_entering(&self) -> bool {
        let queue = self.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
    }

    /// By the owner: submits, has deferred work done, and does not wait.
    pub(crate) fn look(&self) -> io::Result<()> {
        self.retry_backlog();
        if self.is_worth_entering() {
            self.enter()?;
        }
        Ok(())
    }

    /// By the owner: submits, and waits for a completion, for `limit` at most. May return early.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        self.retry_backlog();
        if self.has_backlog() {
            // CLAIM: [uring.kept] nobody would call back for what waits here.
            return self.enter();
        }
        let submitter = self.io.submitter();
        self.settle(match limit {
            None => submitter.submit_and_wait(1),
            Some(limit) => {
                let limit = Timespec::new()
                    .sec(limit.as_secs())
                    .nsec(limit.subsec_nanos());
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&limit))
            }
        })
    }

    /// Submits what the owner has published, has deferred work done if there is some, and does not
    /// wait. By the owner, or by anybody with a shared ring.
    fn enter(&self) -> io::Result<()> {
        self.settle(self.io.submitter().submit())
    }

    /// What an entry into the kernel says that is no fault.
    fn settle(&self, result: io::Result<usize>) -> io::Result<()> {
        let Err(error) = result else {
            self.refusals.store(0, Relaxed);
            return Ok(());
        };
        match error.raw_os_error() {
            // The limit; a signal, or work of ours that interrupts as one does.
            Some(libc::ETIME | libc::EINTR) => Ok(()),
            // Completions that have to be reaped first, or memory that is short for a moment.
            Some(libc::EBUSY | libc::EAGAIN)
                if self.refusals.fetch_add(1, Relaxed) < REFUSALS_MAX =>
            {
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn completion<'r>(&'r self, _baton: &'r Baton) -> CompletionQueue<'r> {
        // SAFETY: [uring.baton] the caller holds it, and the view is dropped before it is.
        unsafe { self.io.completion_shared() }
    }

    /// Copies what has completed out.
    pub(crate) fn reap(&self, into: &mut Vec<Completed>) {
        let baton = self.baton.lock();
        self.reap_holding(&baton, usize::MAX, into);
    }

    /// By anybody, of a shared ring: does the owner's part, unless somebody else is at it.
    pub(crate) fn rescue(&self, limit: usize, into: &mut Vec<Completed>) {
        debug_assert_eq!(
            self.profile,
            Profile::Shared,
            "uring.owner: not a shared ring"
        );
        if let Some(baton) = self.baton.try_lock() {
            // What fails for a rescuer, fails for the owner, who reports it.
            let _ = self.enter();
            self.reap_holding(&baton, limit, into);
        }
    }

    fn reap_holding(&self, baton: &Baton, limit: usize, into: &mut Vec<Completed>) {
        let before = into.len();
        let queue = self.completion(baton);
        into.extend(queue.take(limit).map(|entry| Completed {
            data: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
        if self.profile == Profile::Shared {
            // CLAIM: [cell.batch] under the baton: what comes later has not been copied out.
            into[before..].iter().for_each(listener::keep);
        }
        if into.len() > before {
            self.refusals.store(0, Relaxed);
        }
    }

    /// Gives the kernel the buffers that have come back.
    pub(crate) fn provide(&self) {
        if let Some(mut baton) = self.baton.try_lock() {
            baton.provider.provide();
        }
    }
}

/// This thread's number, which no other thread of the process ever has.
fn thread_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static ID: u64 = NEXT.fetch_add(1, Relaxed);
    }
    ID.with(|id| *id)
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
