//! A meeting point: nobody passes until so many are there.
//!
//! # Invariants
//!
//! - **barrier.round** — the queue holds those of one round who have arrived, and fewer than it
//!   takes; the one who completes a round is not in it and releases the others under the same lock.
//!
//! # Rejected
//!
//! A count beside the queue: a waiter that is dropped would have to be counted down, and the queue
//! is counted anyway. A number of the round, compared after waking: a release of all is one.

use crate::block;
use crate::parked::Parked;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::{Kind, Queue, WaitList, Why};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// Lets tasks pass in rounds: each waits until so many are there.
///
/// Use it for work in steps that all have to end before the next begins. To wait for the end of
/// tasks, use a [`WaitGroup`](crate::WaitGroup).
///
/// # Guarantees
///
/// - A round takes those who arrived first; who comes while its members are being woken is in the
///   next one.
/// - One of each round, the one that completed it, is the [leader](WaitResult::is_leader).
/// - What the members of a round did before they arrived is seen by all of them when they pass.
/// - A [`wait`](Self::wait) that is dropped before its round was complete leaves the count: the
///   round takes one more. Once the round is complete it has passed, whether it is polled or not.
///
/// # Complexity
///
/// A short lock for each arrival, O(n) for the one that completes a round. Nothing is allocated.
///
/// ```
/// use mainspring_sync::Barrier;
/// use std::sync::Arc;
/// use std::thread;
///
/// let barrier = Arc::new(Barrier::new(2));
/// let other = {
///     let barrier = Arc::clone(&barrier);
///     thread::spawn(move || barrier.wait_blocking())
/// };
/// let mine = barrier.wait_blocking();
/// let others = other.join().unwrap();
/// assert_ne!(mine.is_leader(), others.is_leader());
/// ```
pub struct Barrier {
    list: WaitList<Meeting>,
}

impl Barrier {
    /// A barrier that `parties` pass together. With 1 or 0 nobody waits, and everybody leads.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new(parties: usize) -> Self {
        Self {
            list: WaitList::new(Meeting { parties }),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new(parties: usize) -> Self {
        Self {
            list: WaitList::new(Meeting { parties }),
        }
    }

    /// Arrives, at the first poll, and waits for the others of its round.
    ///
    /// # Cancel safety
    ///
    /// *Not restartable*: dropped before its round was complete it has not arrived; dropped after
    /// that it has, and waiting again is to arrive for the next round. A `select!` that drops it
    /// cannot know which.
    pub fn wait(&self) -> Wait<'_> {
        Wait {
            parked: Parked::new(&self.list, ()),
            passed: None,
        }
    }

    /// Arrives, and blocks this thread until the round is complete.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn wait_blocking(&self) -> WaitResult {
        block::wait(pin!(self.wait()))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier")
            .field("parties", &self.list.kind().parties)
            .field("waiters", &self.list)
            .finish()
    }
}

/// What a member of a round learns when it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitResult {
    is_leader: bool,
}

impl WaitResult {
    /// Whether this member completed the round. It is one of each round: for what is to be done
    /// once.
    #[must_use]
    pub const fn is_leader(self) -> bool {
        self.is_leader
    }
}

struct Meeting {
    parties: usize,
}

impl Kind for Meeting {
    type Key = ();
}

/// The future of [`Barrier::wait`]. Polled after it was ready it gives the same answer.
///
/// # Cancel safety
///
/// *Not restartable*: see [`Barrier::wait`].
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'a> {
    parked: Parked<&'a WaitList<Meeting>, WaitResult>,
    passed: Option<WaitResult>,
}

impl Future for Wait<'_> {
    type Output = WaitResult;

    /// # Panics
    ///
    /// When this completes the round and the waker of another member panics. The round is complete
    /// and everybody was woken, but nobody leads it.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<WaitResult> {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(passed) = this.passed {
            return Poll::Ready(passed);
        }
        // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
        let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
        let passed = ready!(parked.poll(cx, WaitKind::Notify, |_| None, arrive));
        this.passed = Some(passed);
        Poll::Ready(passed)
    }
}

/// The look of one that arrives, or is asked whether it may pass.
fn arrive(queue: &mut Queue<'_, Meeting>, (): &mut (), why: Why) -> Option<WaitResult> {
    if why == Why::Released {
        return Some(WaitResult { is_leader: false });
    }
    // CLAIM: [barrier.round] this one is not in the queue while it looks.
    if queue.len() + 1 < queue.kind().parties {
        return None;
    }
    queue.wake_all();
    Some(WaitResult { is_leader: true })
}

impl fmt::Debug for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("passed", &self.passed)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
