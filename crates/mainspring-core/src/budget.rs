//! The cooperative budget: 128 units a poll, or what the executor says, consumed by every leaf.
//!
//! A task whose leaves are always ready (a socket that never runs dry, a full channel) would
//! never return `Pending` and starve its neighbours. So each leaf asks [`poll_proceed`] before it
//! makes progress; when the budget of this poll is spent, the leaf wakes its task and returns
//! `Pending`, and the task goes to the tail of its queue.
//!
//! The budget exists only inside a poll of ours. Under a foreign executor nobody would refill it,
//! so there it is unlimited.
//!
//! ```
//! use mainspring_core::budget;
//! use std::task::{Context, Poll, Waker};
//!
//! let mut cx = Context::from_waker(Waker::noop());
//! // Outside a poll of ours: always proceeds.
//! for _ in 0..1_000 {
//!     match budget::poll_proceed(&mut cx) {
//!         Poll::Ready(unit) => unit.spend(),
//!         Poll::Pending => unreachable!("the budget is unlimited here"),
//!     }
//! }
//! ```
//!
//! # Invariants
//!
//! - **budget.lent** — a unit that was lent and not spent costs nothing, so that a leaf which finds
//!   nothing ready takes none of its task's budget.
//! - **budget.entered** — what an executor has entered holds for the polls that begin on its thread
//!   while it is entered, on unwind too, and for no others.
//! - **budget.pinned** — the future inside [`Unconstrained`] is pinned structurally.
//! - **budget.self-wake** — `Pending` for a spent budget has woken the task and marked the poll as
//!   a yield first.

use crate::poll;
use std::future::Future;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};

/// One unit of the budget, lent by [`poll_proceed`]. Dropping it costs the task nothing.
#[derive(Debug)]
#[must_use = "spend the unit when progress was made"]
pub struct Unit(());

impl Unit {
    /// Progress was made: the unit is gone.
    #[inline]
    pub fn spend(self) {
        consume();
    }
}

/// Asks for one unit of this poll's budget, before a leaf tries to make progress.
///
/// `Pending` means that the budget is spent: the task has been woken and goes to the tail of its
/// queue; the leaf returns `Pending` too, with no registration of its own needed.
///
/// Costs one thread-local access; allocates nothing.
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<Unit> {
    if is_spent() {
        return ask_to_yield(cx);
    }
    // CLAIM: [budget.lent] nothing is taken before `spend`.
    Poll::Ready(Unit(()))
}

#[cold]
fn ask_to_yield(cx: &mut Context<'_>) -> Poll<Unit> {
    // CLAIM: [budget.self-wake]
    poll::note_yield();
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Consumes one unit without asking, for synchronous work that should count: the next leaf that
/// asks sees the smaller budget.
#[inline]
pub fn consume() {
    poll::consume_budget();
}

/// Whether the next [`poll_proceed`] of this poll would ask for a yield.
#[inline]
#[must_use]
pub fn is_spent() -> bool {
    poll::is_budget_spent()
}

/// Polls that begin on this thread have `units` of budget each while the guard lives, instead of
/// [`BUDGET_UNITS`](poll::BUDGET_UNITS).
///
/// For executors, which enter their threads. A poll that is under way goes on with what it has.
/// Fewer units let others run sooner, and cost more polls for the same work; at 1 every second
/// operation of a task waits for the others.
///
/// ```
/// use mainspring_core::{budget, poll};
/// use std::num::NonZeroU32;
///
/// let _entered = budget::enter(NonZeroU32::MIN);
/// poll::root(|| {
///     assert!(!budget::is_spent());
///     budget::consume();
///     assert!(budget::is_spent());
/// });
/// ```
pub fn enter(units: NonZeroU32) -> Entered {
    Entered {
        before: poll::replace_full_budget(units.get()),
        one_thread: PhantomData,
    }
}

/// The budget of the polls on this thread is what [`enter`] was given, until this is dropped.
///
/// Guards are dropped in the reverse order of their making.
#[derive(Debug)]
#[must_use = "the budget is back to what it was when the guard is dropped"]
pub struct Entered {
    before: u32,
    one_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // CLAIM: [budget.entered]
        poll::replace_full_budget(self.before);
    }
}

/// Polls `future` without a budget.
///
/// For a future that is fair by itself, or that must not be interrupted. A future that never
/// returns `Pending` then starves its worker.
///
/// # Cancel safety
///
/// That of `future`, which is dropped with it: *safe* if that one is.
pub fn unconstrained<F: Future>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

/// The future of [`unconstrained`].
///
/// # Cancel safety
///
/// That of the future inside (*safe* if that one is).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Unconstrained<F> {
    future: F,
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: [budget.pinned] structural pinning of the only field: it is never moved out of,
        // `Unconstrained` has no `Drop`, and it is `Unpin` exactly when `F` is.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        let restore = Restore(poll::replace_budget(None));
        let result = future.poll(cx);
        drop(restore);
        result
    }
}

/// Puts the budget back, on unwind too.
struct Restore(Option<u32>);

impl Drop for Restore {
    fn drop(&mut self) {
        poll::replace_budget(self.0);
    }
}

#[cfg(test)]
mod tests;
