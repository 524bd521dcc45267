//! Waiting for a phase.
//!
//! # Invariants
//!
//! - **until.pinned** — the waiter is pinned with the future that has it.

use super::node::Phases;
use super::{CancelToken, Phase};
use crate::reason::Reason;
use mainspring_core::CancelSafe;
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Holds, WaitList, Waiter};
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What leads a waiter to its token: a reference, or a token.
pub(super) struct By<T>(T);

impl<T: Borrow<CancelToken>> By<T> {
    fn token(&self) -> &CancelToken {
        self.0.borrow()
    }
}

// SAFETY: [until.pinned] a node does not move, and lives as long as its token: `T` is one, or a
// reference to one, and either leads to the same node every time.
unsafe impl<T: Borrow<CancelToken>> Holds for By<T> {
    type Kind = Phases;

    fn list(&self) -> &WaitList<Phases> {
        &self.token().node.waiters
    }
}

/// Waits until a token has reached a phase.
pub(super) struct Until<T: Borrow<CancelToken>> {
    waiter: Waiter<By<T>>,
    phase: Phase,
}

impl<T: Borrow<CancelToken>> Until<T> {
    pub(super) fn new(token: T, phase: Phase) -> Self {
        Self {
            waiter: Waiter::new(By(token), ()),
            phase,
        }
    }

    pub(super) fn token(&self) -> &CancelToken {
        self.waiter.holder().token()
    }

    /// Whether it is over, without a look at the budget.
    #[inline]
    pub(super) fn poll_reached(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let phase = self.phase;
        if self.token().node.has_reached(phase) {
            return Poll::Ready(());
        }
        // SAFETY: [until.pinned] a projection; nothing is moved out.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.waiter) };
        // Whatever it was woken for: the word says.
        let found = waiter.poll_wait(cx, |queue, (), _| {
            queue.kind().has_reached(phase).then_some(())
        });
        if found.is_pending() {
            wait::note(WaitKind::Cancel, 0);
        }
        found
    }

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_reached(cx));
        // It stays so: the next poll finds it, if this one has no budget.
        ready!(budget::poll_proceed(cx)).spend();
        Poll::Ready(())
    }
}

/// The future of [`CancelToken::cancelled`]. Polled after it was ready it is ready again.
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct WaitCancelled<'a> {
    until: Until<&'a CancelToken>,
}

/// The future of [`CancelToken::cancelled_owned`]: a [`WaitCancelled`] that has a token of its own.
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct WaitCancelledOwned {
    until: Until<CancelToken>,
}

/// The future of [`CancelToken::drained`]. Polled after it was ready it is ready again.
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct WaitDrained<'a> {
    until: Until<&'a CancelToken>,
}

impl<'a> WaitCancelled<'a> {
    pub(super) fn new(token: &'a CancelToken) -> Self {
        let until = Until::new(token, Phase::Cancelling);
        Self { until }
    }
}

impl WaitCancelledOwned {
    pub(super) fn new(token: CancelToken) -> Self {
        let until = Until::new(token, Phase::Cancelling);
        Self { until }
    }
}

impl<'a> WaitDrained<'a> {
    pub(super) fn new(token: &'a CancelToken) -> Self {
        let until = Until::new(token, Phase::Cancelled);
        Self { until }
    }
}

impl Future for WaitCancelled<'_> {
    type Output = Reason;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reason> {
        // SAFETY: [until.pinned] a projection of the one field; nothing is moved out.
        let until = unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.until) };
        ready!(until.poll(cx));
        Poll::Ready(self.until.token().known_reason())
    }
}

impl Future for WaitCancelledOwned {
    type Output = Reason;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reason> {
        // SAFETY: [until.pinned] a projection of the one field; nothing is moved out.
        let until = unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.until) };
        ready!(until.poll(cx));
        Poll::Ready(self.until.token().known_reason())
    }
}

impl Future for WaitDrained<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: [until.pinned] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.until) }.poll(cx)
    }
}

impl CancelSafe for WaitCancelled<'_> {}
impl CancelSafe for WaitCancelledOwned {}
impl CancelSafe for WaitDrained<'_> {}

impl fmt::Debug for WaitCancelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitCancelled").finish_non_exhaustive()
    }
}

impl fmt::Debug for WaitCancelledOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitCancelledOwned").finish_non_exhaustive()
    }
}

impl fmt::Debug for WaitDrained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitDrained").finish_non_exhaustive()
    }
}
