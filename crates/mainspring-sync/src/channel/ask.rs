//! A sender's request for room: what is inside every future that sends or reserves.
//!
//! # Invariants
//!
//! - **ask.pinned** — the waiter inside is pinned with the request and never moved.
//! - **ask.holds** — a request that holds a permit gives it on exactly once: to its owner, or back.

use super::Closed;
use super::late::Late;
use super::place::Waits;
use super::reach::{Copied, Reach, ToSenders};
use super::shared::{Grant, Shared};
use super::words::Reserve;
use mainspring_core::sync::thread;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::Waiter;
use mainspring_core::{budget, poll};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Asks for one permit after another.
pub(crate) struct Ask<R: Reach + Copied> {
    reach: R,
    /// Made at the first poll that has to wait.
    waiter: Late<Waiter<ToSenders<R>>>,
    /// A permit was granted and is not used yet.
    holds: bool,
    /// It has a place in the queue, or was granted a permit there.
    waits: bool,
    /// It let the receivers run once since its last permit.
    gave_way: bool,
}

impl<R: Reach + Copied> Ask<R> {
    #[inline(always)]
    pub(crate) fn new(reach: R) -> Self {
        Self {
            reach,
            waiter: Late::new(),
            holds: false,
            waits: false,
            gave_way: false,
        }
    }

    pub(crate) fn reach(&self) -> &R {
        &self.reach
    }

    /// Whether nothing was asked for yet: who comes now is a newcomer.
    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        !self.waits && !self.holds
    }

    /// Asks for a permit, which is held from `Ok` until [`spend`](Self::spend) or the drop.
    ///
    /// With a spent budget it asks all the same, so as not to lose its turn, and yields with the
    /// permit in hand.
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        self.poll_after(cx, Shared::reserve)
    }

    /// As [`poll`](Self::poll), where the caller has found no room just now.
    pub(crate) fn poll_queued(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Closed>> {
        self.poll_after(cx, |_| Reserve::Full)
    }

    #[inline]
    fn poll_after(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        look_first: impl FnOnce(&Shared<R::Item>) -> Reserve,
    ) -> Poll<Result<(), Closed>> {
        // SAFETY: [ask.pinned] nothing is moved out of it; the waiter is only reached pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let unit = budget::poll_proceed(cx);
        if !this.holds {
            match this.ask(cx, look_first) {
                Poll::Ready(Ok(())) => this.holds = true,
                Poll::Ready(Err(closed)) => return Poll::Ready(Err(closed)),
                Poll::Pending => return Poll::Pending,
            }
        }
        match unit {
            Poll::Ready(unit) => {
                unit.spend();
                Poll::Ready(Ok(()))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    #[inline]
    fn ask(
        &mut self,
        cx: &mut Context<'_>,
        look_first: impl FnOnce(&Shared<R::Item>) -> Reserve,
    ) -> Poll<Result<(), Closed>> {
        let shared = self.reach.shared();
        if !self.waits {
            match look_first(shared) {
                Reserve::Held => {
                    self.gave_way = false;
                    return Poll::Ready(Ok(()));
                }
                Reserve::Closed => return Poll::Ready(Err(Closed)),
                Reserve::Full | Reserve::Busy | Reserve::Queue => {}
            }
            // CLAIM: [side.once]
            if !self.gave_way && shared.sending.gives_way_to(&shared.receiving, cx) {
                self.gave_way = true;
                return Poll::Pending;
            }
        }
        let reach = &self.reach;
        let waiter = self
            .waiter
            .made_with(|| Waiter::new(ToSenders(reach.copied()), 0));
        // SAFETY: [ask.pinned] part of `self`, which `poll` got pinned; dropped in place.
        let mut waiter = unsafe { Pin::new_unchecked(waiter) };
        // Also if the poll unwinds.
        self.waits = true;
        let grant = match waiter.as_mut().take_offer(cx) {
            Some(_) => {
                shared.sending.came();
                Poll::Ready(shared.granted())
            }
            None => waiter.poll_wait(cx, |queue, parked, why| {
                shared.look_for_room(queue, parked, why)
            }),
        };
        self.waits = grant.is_pending();
        match grant {
            Poll::Ready(Grant::Held) => {
                self.gave_way = false;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Grant::Closed(told)) => {
                shared.tell(told);
                Poll::Ready(Err(Closed))
            }
            Poll::Ready(Grant::Busy) => {
                look_again(cx);
                Poll::Pending
            }
            Poll::Pending => {
                wait::note(WaitKind::Send, shared.number());
                Poll::Pending
            }
        }
    }

    /// A message was sent without a permit: what comes next may give way again.
    pub(crate) fn begin_anew(self: Pin<&mut Self>) {
        // SAFETY: [ask.pinned] a flag is set, nothing is moved.
        let this = unsafe { self.get_unchecked_mut() };
        this.gave_way = false;
    }

    /// The permit that was held is the caller's now.
    pub(crate) fn spend(self: Pin<&mut Self>) {
        // SAFETY: [ask.pinned] a flag is set, nothing is moved.
        let this = unsafe { self.get_unchecked_mut() };
        debug_assert!(this.holds, "ask.holds: there is no permit");
        this.holds = false;
    }

    /// Gives up what it has: a permit, or its place.
    pub(crate) fn leave(self: Pin<&mut Self>) {
        // SAFETY: [ask.pinned] the waiter is dropped where it is.
        let this = unsafe { self.get_unchecked_mut() };
        this.give_up();
    }

    #[inline(never)]
    fn end(&mut self) {
        if self.waits || self.holds {
            self.give_up();
        } else {
            // In no list; nothing comes back from it.
            self.waiter.clear();
        }
    }

    fn give_up(&mut self) {
        self.waits = false;
        // An offer that it had goes to the next.
        self.waiter.clear();
        let shared = self.reach.shared();
        if std::mem::take(&mut self.holds) {
            // CLAIM: [ask.holds]
            shared.release();
        }
        shared.settle_spare();
    }
}

impl<R: Reach + Copied> Waits for Ask<R> {
    fn waits(&self) -> bool {
        self.waits || self.holds
    }
}

impl<R: Reach + Copied> Drop for Ask<R> {
    #[inline]
    fn drop(&mut self) {
        // CLAIM: [late.made] one that never had to wait has no waiter, and nothing comes back.
        if self.waiter.is_made() || self.holds {
            self.end();
        }
    }
}

/// Asks to be polled again soon: a peer is in the middle of something, and who it is nobody knows.
pub(crate) fn look_again(cx: &Context<'_>) {
    poll::note_yield();
    cx.waker().wake_by_ref();
    if !poll::is_active() {
        // On a thread of the user's nobody else would make room for the peer.
        thread::yield_now();
    }
}
