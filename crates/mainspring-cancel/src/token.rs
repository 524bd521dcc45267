//! The token: one tree of work that is cancelled together, and waited for.

pub(crate) mod deadline;
pub(crate) mod guard;
pub(crate) mod hold;
pub(crate) mod node;
pub(crate) mod register;
pub(crate) mod report;
pub(crate) mod until;
pub(crate) mod wait;
pub(crate) mod wave;

use self::guard::DropGuard;
use self::hold::{Drained, Hold};
use self::node::Node;
use self::register::Registration;
use self::report::{CancelReport, NotDrained};
use self::until::RunUntilCancelled;
use self::wait::{Until, WaitCancelled, WaitCancelledOwned, WaitDrained};
use self::wave::Wave;
use crate::reason::{Reason, What};
use mainspring_core::sync::Arc;
use mainspring_core::time::{Deadline, sleep};
use mainspring_core::{CancelSafe, assert_cancel_safe};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// How far a token's cancellation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Nobody has cancelled it.
    Alive = 0,
    /// It was cancelled: work is told to stop, and cleans up.
    Cancelling = 1,
    /// Every callback has returned, every hold was released, and every child has come here.
    Cancelled = 2,
}

/// Tells work to stop, says why, and knows when it has.
///
/// Give each piece of work a [`child`](Self::child): cancelling a token cancels everything below
/// it, and nothing above or beside. Clones are the same token. The work awaits
/// [`cancelled`](Self::cancelled), asks [`is_cancelled`](Self::is_cancelled), or is run by
/// [`run_until_cancelled`](Self::run_until_cancelled). It works under any executor, and in threads.
///
/// To wait for tasks that nobody cancels take a [`TaskTracker`](crate::TaskTracker); to tell of
/// something that happens more than once, a channel.
///
/// # Two phases
///
/// [`cancel`](Self::cancel) makes a token [`Cancelling`](Phase::Cancelling): work stops and cleans
/// up. It becomes [`Cancelled`](Phase::Cancelled) when that is done: every callback has returned,
/// every [`Hold`] is released, and every child is `Cancelled` or gone. [`drained`](Self::drained)
/// waits for it. A child whose last handle is dropped is waited for no longer; its own children
/// are. Handles are tokens, [`Hold`]s, [`Registration`]s, guards, and futures that own a token.
///
/// A token that is made below one that was cancelled is `Cancelled` from the start: there is
/// nothing in it yet that could be waited for.
///
/// # Guarantees
///
/// - When `cancel` returns, this token and everything below it is cancelled. It is not one step: a
///   child may be seen alive while the call is under way.
/// - What was done before `cancel` is seen by whoever finds the token cancelled, and what was done
///   before a hold was released, by whoever finds it drained.
/// - The first reason stays. Those below get it as an [inherited](Reason::is_inherited) one.
/// - `cancel` never panics and runs nobody's code under a lock: it marks the tree, wakes those who
///   wait, then calls the callbacks of each token in the order of their registration. What panics
///   is contained, goes to the hook of `mainspring_core::task::set_unobserved_failure_hook`, and
///   into the [`cancel_report`](Self::cancel_report); the others are called all the same.
/// - No depth is too deep: nothing here recurses.
///
/// # Complexity
///
/// `is_cancelled` is one load. Waiting allocates nothing. Making and dropping a child is O(1), with
/// one allocation, and takes its parent's lock for a moment; dropping the last handle of one that
/// has children is O(n) in them. `cancel` is O(n) in the tokens below, and allocates their list.
///
/// ```
/// use mainspring_cancel::{CancelToken, Phase, Reason};
///
/// let server = CancelToken::new();
/// let request = server.child();
/// let cleanup = request.hold().expect("it is not cancelled");
///
/// server.cancel(Reason::shutdown());
/// assert!(request.is_cancelled());
/// assert_eq!(server.phase(), Phase::Cancelling);
///
/// drop(cleanup); // the request has let go of what it had
/// assert_eq!(server.phase(), Phase::Cancelled);
/// ```
pub struct CancelToken {
    node: Arc<Node>,
}

impl CancelToken {
    /// A token above all others.
    #[must_use]
    pub fn new() -> Self {
        Self {
            node: Node::root(Deadline::never()),
        }
    }

    /// A token that is cancelled with this one, or alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            node: node::child(&self.node, Deadline::never()),
        }
    }

    /// A child that is cancelled when `deadline` comes, too, with [`What::Timeout`].
    ///
    /// Who waits is woken by the timers themselves: those that are current where this is called,
    /// else the process's fallback timer thread. Callbacks are called by a task on the executor
    /// that is current here; without one, or if it has ended, on the thread of the timers: then
    /// they must be short. If no timers can be had the child is cancelled at once, with
    /// [`What::Overload`].
    ///
    /// Allocates the sleep and the waker besides the child. Cancelled or dropped early, it frees
    /// both at once.
    ///
    /// ```
    /// use mainspring_cancel::CancelToken;
    /// use mainspring_core::time::Deadline;
    /// use std::time::Duration;
    ///
    /// let server = CancelToken::new();
    /// let request = server.with_deadline(Deadline::after(Duration::from_secs(30)));
    /// // A part of it cannot have more time than the whole.
    /// let part = request.with_deadline(Deadline::after(Duration::from_secs(60)));
    /// assert_eq!(part.deadline(), request.deadline());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_deadline(&self, deadline: impl Into<Deadline>) -> Self {
        let deadline = deadline.into();
        let token = Self {
            node: node::child(&self.node, deadline),
        };
        // Where the parent's comes first, it cancels this one as well.
        if deadline < self.node.deadline {
            deadline::arm(&token, Location::caller());
        }
        token
    }

    /// When it is cancelled at the latest: its own deadline, or one above it that comes first.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        self.node.deadline
    }

    /// Cancels this token and everything below it. `true` if it was not cancelled before.
    ///
    /// Wakes and calls on this stack, and never panics. A callback may cancel again, register, or
    /// drop any handle; it must not block.
    pub fn cancel(&self, reason: Reason) -> bool {
        if self.node.has_reached(Phase::Cancelled) {
            return false;
        }
        Wave::start(&self.node, reason).is_first()
    }

    /// Whether it was cancelled. One load.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.node.has_reached(Phase::Cancelling)
    }

    /// How far its cancellation has come.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.node.waiters.kind().phase()
    }

    /// Why it was cancelled; `None` if it was not.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.node.lock().reason.clone()
    }

    /// The reason of a token that was cancelled.
    fn known_reason(&self) -> Reason {
        let reason = self.reason();
        reason.unwrap_or_else(|| Reason::at(What::Requested, Location::caller()))
    }

    /// Waits until the token is cancelled, and says why.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing.
    pub fn cancelled(&self) -> WaitCancelled<'_> {
        WaitCancelled::new(self)
    }

    /// As [`cancelled`](Self::cancelled), for a future without a lifetime.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing.
    pub fn cancelled_owned(self) -> WaitCancelledOwned {
        WaitCancelledOwned::new(self)
    }

    /// Waits until the token is [`Cancelled`](Phase::Cancelled): told, and everything in it over.
    ///
    /// It does not cancel: while nobody does, it waits.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing.
    pub fn drained(&self) -> WaitDrained<'_> {
        WaitDrained::new(self)
    }

    /// As [`drained`](Self::drained), for `limit` at most, counted from its first poll.
    ///
    /// # Errors
    ///
    /// When the limit has passed: with the holds and callbacks that are left, by their places in
    /// the code.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing.
    pub fn drained_within(
        &self,
        limit: Duration,
    ) -> impl CancelSafe<Output = Result<(), NotDrained>> + '_ {
        assert_cancel_safe(async move {
            let mut drained = pin!(Until::new(self, Phase::Cancelled));
            let mut limit = pin!(sleep(limit));
            poll_fn(|cx| {
                if drained.as_mut().poll_reached(cx).is_ready() {
                    return Poll::Ready(Ok(()));
                }
                let passed = limit.as_mut().poll_elapsed(cx);
                passed.map(|()| Err(NotDrained::of(self)))
            })
            .await
        })
    }

    /// Runs `future` until it is ready or the token is cancelled, whichever a poll finds first. The
    /// token is looked at first: a cancelled one polls the future no more.
    ///
    /// The future is dropped with the one that this returns, not when that is ready: give it what
    /// may be lost with it. Where it must not stop halfway, await
    /// [`cancelled`](Self::cancelled) inside, at a place that you choose.
    ///
    /// # Cancel safety
    ///
    /// That of `future`, which is given up with it: *safe* if that one is.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](crate::Cancelled), with the reason.
    pub fn run_until_cancelled<F: Future>(&self, future: F) -> RunUntilCancelled<'_, F> {
        RunUntilCancelled::new(self, future)
    }

    /// Calls `callback` when the token is cancelled, on the canceller's stack, if the
    /// [`Registration`] is kept until then.
    ///
    /// On a token that was cancelled already it is called at once, here. It must not block: the
    /// canceller waits for it. It may do anything with any token.
    ///
    /// Allocates the callback's box and its place in the row.
    #[track_caller]
    pub fn on_cancel(&self, callback: impl FnOnce(&Reason) + Send + 'static) -> Registration {
        register::register(self, Box::new(callback), Location::caller())
    }

    /// Keeps the token from being [`Cancelled`](Phase::Cancelled) for as long as the hold is kept.
    ///
    /// # Errors
    ///
    /// When it is `Cancelled` already: nobody would wait for the hold.
    #[track_caller]
    pub fn hold(&self) -> Result<Hold, Drained> {
        Hold::take(self, Location::caller())
    }

    /// Cancels the token when the guard is dropped, unless that is [disarmed](DropGuard::disarm).
    #[track_caller]
    pub fn drop_guard(self) -> DropGuard {
        DropGuard::new(self, Location::caller())
    }

    /// How far the cancellation has come, what it waits for, and what panicked: for people to read.
    /// O(n) in the tokens below.
    #[must_use]
    pub fn cancel_report(&self) -> CancelReport {
        CancelReport::of(&self.node)
    }

    /// Whether the two are the same token.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Clone for CancelToken {
    fn clone(&self) -> Self {
        self.node.add_handle();
        Self {
            node: Arc::clone(&self.node),
        }
    }
}

impl Drop for CancelToken {
    fn drop(&mut self) {
        node::drop_handle(&self.node);
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}

// No code of a user's runs under a lock or between two steps of a protocol.
impl UnwindSafe for CancelToken {}
impl RefUnwindSafe for CancelToken {}

#[cfg(test)]
pub(crate) mod tests;
