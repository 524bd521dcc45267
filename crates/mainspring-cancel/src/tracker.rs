//! Waiting for tasks whose results nobody wants.
//!
//! # The word
//!
//! ```text
//!  63                                   1    0
//! ┌─────────────────────────────────────┬────────┐
//! │ tasks: how many are tracked         │ CLOSED │
//! └─────────────────────────────────────┴────────┘
//! ```
//!
//! # Invariants
//!
//! - **tracker.over** — the word becomes "closed, and no task" under the list's lock, in which
//!   those who wait are released: a wait is over if there was such a moment since it began, and
//!   never otherwise.
//! - **tracker.pinned** — a waiter, and a tracked future, is pinned with the future around it.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `tracker.left` | each `leave` | the last `leave`, `close`, `is_over` | what the tasks did |
//!
//! # Rejected
//!
//! Over when it is empty: whoever waits before the first task was spawned, or between two, would
//! not wait for the others.

use mainspring_core::CancelSafe;
use mainspring_core::budget;
use mainspring_core::spawn;
use mainspring_core::sync::Arc;
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use mainspring_core::task::JoinHandle;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Holds, Kind, WaitList, Waiter, Why};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

const CLOSED: usize = 1;
const TASK: usize = 2;

struct Word(AtomicUsize);

impl Kind for Word {
    type Key = ();
}

impl Word {
    fn is_over(&self) -> bool {
        // ORDERING: [tracker.left] Acquire, pairs with `leave`: what the tasks did is seen by who
        // finds that they are gone. Relaxed would say so before it can be seen.
        self.0.load(Acquire) == CLOSED
    }
}

struct Tracked {
    list: WaitList<Word>,
}

impl Tracked {
    fn join(&self) {
        let before = self.list.kind().0.fetch_add(TASK, Relaxed);
        assert!(before < usize::MAX / 2, "tracker.over: too many tasks");
    }

    fn leave(&self) {
        let word = &self.list.kind().0;
        let mut seen = word.load(Relaxed);
        while seen - TASK != CLOSED {
            // ORDERING: [tracker.left] Release, pairs with the last `leave`, with `close` and with
            // `is_over`. Relaxed would hide what this task did from those who wait.
            match word.compare_exchange(seen, seen - TASK, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        self.list.with(|queue| {
            // CLAIM: [tracker.over] under the lock.
            // ORDERING: [tracker.left] AcqRel: Release as above; Acquire, because those who are
            // released see only what this thread has seen, the other tasks' work included.
            if word.fetch_sub(TASK, AcqRel) == TASK | CLOSED {
                queue.wake_all();
            }
        });
    }

    fn close(&self) -> bool {
        self.list.with(|queue| {
            // CLAIM: [tracker.over] under the lock.
            // ORDERING: [tracker.left] Acquire, pairs with each `leave`: with no task left this is
            // what releases those who wait, and they see what this thread has seen.
            let before = self.list.kind().0.fetch_or(CLOSED, Acquire);
            if before == 0 {
                queue.wake_all();
            }
            before & CLOSED == 0
        })
    }
}

/// Waits until tasks have ended, whose results nobody wants.
///
/// Spawn tasks with [`spawn`](Self::spawn), or wrap any future with [`track`](Self::track), on any
/// executor. When no more are to come, [`close`](Self::close) the tracker: [`wait`](Self::wait) is
/// over when it is closed *and* no task is left. Nothing is kept of a task that has ended.
///
/// Where results are wanted keep join handles, or a `JoinSet`. To tell the tasks to stop give them
/// a [`CancelToken`](crate::CancelToken); a [`Hold`](crate::Hold) of that is waited for as well.
///
/// Clones are the same tracker.
///
/// # Guarantees
///
/// Who waited sees what the tasks did. A task that panics or is dropped counts as ended, when its
/// future has been dropped.
///
/// # Complexity
///
/// One allocation for the tracker. Tracking is one read-modify-write at each end of a task; the
/// last one of a closed tracker takes a short lock.
///
/// ```
/// use mainspring_cancel::TaskTracker;
/// use std::thread;
///
/// let tracker = TaskTracker::new();
/// let token = tracker.token();
/// let worker = thread::spawn(move || drop(token));
/// tracker.close();
/// worker.join().unwrap();
/// assert!(tracker.is_empty() && tracker.is_closed());
/// ```
pub struct TaskTracker {
    tracked: Arc<Tracked>,
}

impl TaskTracker {
    /// An open tracker without a task.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tracked: Arc::new(Tracked {
                list: WaitList::new(Word(AtomicUsize::new(0))),
            }),
        }
    }

    /// Spawns `future` on the executor that is current, tracked.
    ///
    /// # Errors
    ///
    /// Where no executor is current it gives the future back.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match spawn::current() {
            Some(spawner) => Ok(spawner.spawn(self.track(future))),
            None => Err(future),
        }
    }

    /// A future that is tracked until it is dropped, which an executor does when it is ready.
    ///
    /// # Cancel safety
    ///
    /// That of `future`: *safe* if that one is.
    pub fn track<F: Future>(&self, future: F) -> TrackedFuture<F> {
        TrackedFuture {
            future,
            _token: self.token(),
        }
    }

    /// What is waited for until it is dropped: for threads, and for tasks of a form of their own.
    pub fn token(&self) -> TrackerToken {
        self.tracked.join();
        TrackerToken {
            tracked: Arc::clone(&self.tracked),
        }
    }

    /// Says that no more tasks will come: from now on a wait can be over. Tasks that come all the
    /// same are waited for. `false` if it was closed before.
    ///
    /// # Panics
    ///
    /// When the waker of a task that waits panics. It is closed all the same.
    pub fn close(&self) -> bool {
        self.tracked.close()
    }

    /// Opens it again: waits that are not over go on. `false` if it was open.
    pub fn reopen(&self) -> bool {
        self.tracked.list.kind().0.fetch_and(!CLOSED, Relaxed) & CLOSED != 0
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.tracked.list.kind().0.load(Relaxed) & CLOSED != 0
    }

    /// How many tasks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracked.list.kind().0.load(Relaxed) / TASK
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the tracker is closed and has no task, or was for a moment since the first poll.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing.
    pub fn wait(&self) -> WaitTasks<'_> {
        WaitTasks {
            waiter: Waiter::new(&self.tracked.list, ()),
            is_over: false,
        }
    }
}

impl Clone for TaskTracker {
    fn clone(&self) -> Self {
        Self {
            tracked: Arc::clone(&self.tracked),
        }
    }
}

impl Default for TaskTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTracker")
            .field("len", &self.len())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}

/// What a [`TaskTracker`] waits for until it is dropped. A clone is another.
#[must_use = "a token that is dropped is not waited for"]
pub struct TrackerToken {
    tracked: Arc<Tracked>,
}

impl Clone for TrackerToken {
    fn clone(&self) -> Self {
        self.tracked.join();
        Self {
            tracked: Arc::clone(&self.tracked),
        }
    }
}

impl Drop for TrackerToken {
    /// # Panics
    ///
    /// When the waker of a task that waits panics.
    fn drop(&mut self) {
        self.tracked.leave();
    }
}

impl fmt::Debug for TrackerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrackerToken").finish_non_exhaustive()
    }
}

/// The future of [`TaskTracker::track`].
///
/// # Cancel safety
///
/// That of the future inside: *safe* if that one is.
#[must_use = "futures do nothing unless polled"]
pub struct TrackedFuture<F> {
    /// Dropped before the token.
    future: F,
    _token: TrackerToken,
}

impl<F: Future> Future for TrackedFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: [tracker.pinned] a projection; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.future) }.poll(cx)
    }
}

impl<F: CancelSafe> CancelSafe for TrackedFuture<F> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl<F> fmt::Debug for TrackedFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrackedFuture").finish_non_exhaustive()
    }
}

/// The future of [`TaskTracker::wait`]. Polled after it was ready it is ready again.
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct WaitTasks<'a> {
    waiter: Waiter<&'a WaitList<Word>>,
    is_over: bool,
}

impl Future for WaitTasks<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: [tracker.pinned] nothing is moved out of the waiter below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [tracker.pinned] it is pinned as long as `self` is, and dropped in place.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        if !this.is_over && !waiter.holder().list().kind().is_over() {
            let look = waiter.poll_wait(cx, |queue, (), why| {
                (why == Why::Released || queue.kind().is_over()).then_some(())
            });
            if look.is_pending() {
                wait::note(WaitKind::Join, 0);
                return Poll::Pending;
            }
        }
        // Kept, if this poll has no budget: the moment may be over at the next.
        this.is_over = true;
        ready!(budget::poll_proceed(cx)).spend();
        Poll::Ready(())
    }
}

impl CancelSafe for WaitTasks<'_> {}

impl fmt::Debug for WaitTasks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitTasks")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
