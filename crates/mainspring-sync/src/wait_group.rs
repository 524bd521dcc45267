//! Waiting until everybody who holds a token has gone.
//!
//! # Invariants
//!
//! - **wait-group.zero** — the count reaches zero under the list's lock, in which those who wait
//!   are released: a wait is over if there was a moment without a token since it began, and never
//!   otherwise.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `wait-group.left` | each `leave` | the last `leave`, `are_none` | what the holders did |
//!
//! # Rejected
//!
//! A count that is armed in advance (`add(n)`, `done()`): a task that panics or is dropped does not
//! count itself down, and one too many is a negative count. A token does it by its drop.

pub(crate) mod count;

use self::count::{Count, Holders, Zero};
use crate::block;
use mainspring_core::CancelSafe;
use mainspring_core::sync::Arc;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::WaitList;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// Waits until every [`Worker`] token has been dropped.
///
/// Give a token to each task whose end is to be waited for; it goes with the task, also when that
/// panics or is dropped. For the *results* of tasks use their join handles; for tasks that start
/// together, a [`Barrier`](crate::Barrier).
///
/// # Late tokens
///
/// Tokens may be made at any time, also while somebody waits and after the count was zero. A
/// [`wait`](Self::wait) is over as soon as there was *one moment* without a token since it was
/// first polled; tokens made after that moment are waited for by the next `wait`. So make the first
/// token before you wait, and further ones from tasks that hold one.
///
/// # Guarantees
///
/// Whoever waited sees what the tasks did before they dropped their tokens.
///
/// # Complexity
///
/// One allocation for the group. Making or dropping a token is one read-modify-write; the last one
/// takes a short lock.
///
/// ```
/// use mainspring_sync::WaitGroup;
/// use std::thread;
///
/// let group = WaitGroup::new();
/// for _ in 0..3 {
///     let worker = group.worker();
///     thread::spawn(move || {
///         // … work …
///         drop(worker);
///     });
/// }
/// group.wait_blocking();
/// assert_eq!(group.workers(), 0);
/// ```
pub struct WaitGroup {
    count: Arc<Count>,
}

impl WaitGroup {
    /// A group without a token.
    #[must_use]
    pub fn new() -> Self {
        Self {
            count: Arc::new(Count::new(0)),
        }
    }

    /// A token that is waited for.
    ///
    /// # Panics
    ///
    /// When half of all that can be counted were made and forgotten.
    pub fn worker(&self) -> Worker {
        self.count.join();
        Worker {
            count: Arc::clone(&self.count),
        }
    }

    /// How many tokens there are now.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.count.holders()
    }

    /// Waits until there is no token.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing; a moment without a token that it saw, and nobody
    /// was told of, may be over when the next one begins.
    pub fn wait(&self) -> Wait<'_> {
        Wait {
            zero: Zero::new(&self.count),
        }
    }

    /// Blocks this thread until there is no token.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn wait_blocking(&self) {
        block::wait(pin!(self.wait()));
    }

    /// As [`wait_blocking`](Self::wait_blocking), for `limit` at most: `false` when it has passed
    /// and there were tokens all the time.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        block::wait_for(pin!(self.wait()), limit).is_some()
    }
}

impl Default for WaitGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitGroup")
            .field("workers", &self.workers())
            .finish()
    }
}

/// A token of a [`WaitGroup`]. A clone is another token. It may outlive the group.
#[must_use = "a token that is dropped is not waited for"]
pub struct Worker {
    count: Arc<Count>,
}

impl Clone for Worker {
    fn clone(&self) -> Self {
        self.count.join();
        Self {
            count: Arc::clone(&self.count),
        }
    }
}

impl Drop for Worker {
    /// # Panics
    ///
    /// When the waker of a task that waits for the group panics.
    fn drop(&mut self) {
        self.count.leave();
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("workers", &self.count.holders())
            .finish()
    }
}

/// The future of [`WaitGroup::wait`]. Polled after it was ready it is ready again.
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'a> {
    zero: Zero<&'a WaitList<Holders>>,
}

impl Future for Wait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: [parked.pinned] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.zero) }.poll(cx, WaitKind::Notify)
    }
}

impl CancelSafe for Wait<'_> {}

impl fmt::Debug for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
