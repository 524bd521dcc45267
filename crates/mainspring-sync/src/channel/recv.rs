//! Receiving messages.
//!
//! # Invariants
//!
//! - **pull.pinned** — the waiter inside a [`Pull`] is pinned with it and never moved.
//! - **pull.owes** — a receiver that was told to look, and is dropped before it did or while the
//!   message was still being written, passes that on.

use super::Closed;
use super::ask::look_again;
use super::late::Late;
use super::place::Waits;
use super::reach::{Copied, Reach, ToReceivers};
use super::ring::Pop;
use super::shared::Shared;
use mainspring_core::payload::Steps;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Waiter, Why};
use mainspring_core::{CancelSafe, budget};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for one message after another: what is inside every future that receives.
pub(crate) struct Pull<R: Reach + Copied> {
    reach: R,
    /// Made at the first poll that has to wait.
    waiter: Late<Waiter<ToReceivers<R>>>,
    /// It is in the queue, or was told to look.
    waits: bool,
    /// It was told to look and found a message that is still being written.
    owes: bool,
    /// It let the senders run once since its last message.
    gave_way: bool,
}

impl<R: Reach + Copied> Pull<R> {
    #[inline(always)]
    pub(crate) fn new(reach: R) -> Self {
        Self {
            reach,
            waiter: Late::new(),
            waits: false,
            owes: false,
            gave_way: false,
        }
    }

    pub(crate) fn reach(&self) -> &R {
        &self.reach
    }

    /// Takes the oldest message, or waits for one.
    #[inline]
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<R::Item, Closed>> {
        // SAFETY: [pull.pinned] nothing is moved out of it; the waiter is only reached pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let Poll::Ready(unit) = budget::poll_proceed(cx) else {
            // One that waits keeps its place; one that does not has none to lose, for receivers
            // do not queue for messages that are there.
            return Poll::Pending;
        };
        if this.waits && this.take_release() {
            // CLAIM: [pull.owes] until it has looked.
            this.owes = true;
            this.waits = false;
            this.reach.shared().receiving.came();
        }
        if !this.waits {
            match this.reach.shared().pop() {
                Pop::Got(value, _) => {
                    this.owes = false;
                    this.gave_way = false;
                    unit.spend();
                    return Poll::Ready(Ok(value));
                }
                Pop::Closed => return Poll::Ready(Err(Closed)),
                Pop::Empty if this.gives_way(cx) => return Poll::Pending,
                Pop::Empty | Pop::Busy => {}
            }
        }
        let found = this.wait(cx);
        if found.is_ready() {
            unit.spend();
        }
        found
    }

    /// Whether it lets the senders run before it waits: if one is about to look, and once.
    #[inline]
    fn gives_way(&mut self, cx: &Context<'_>) -> bool {
        // CLAIM: [side.once]; and one that was told owes that, until it waits again.
        if self.gave_way || self.owes {
            return false;
        }
        let shared = self.reach.shared();
        self.gave_way = shared.receiving.gives_way_to(&shared.sending, cx);
        self.gave_way
    }

    #[inline(never)]
    fn end(&mut self) {
        let mut steps = Steps::default();
        if self.waits || self.owes {
            steps.run(|| self.leave());
        }
        // CLAIM: [late.made] whatever a stranger's waker does.
        steps.run(|| self.waiter.clear());
        steps.finish();
    }

    fn leave(&mut self) {
        if let Some(waiter) = self.waiter.get() {
            // SAFETY: [pull.pinned] part of `self`, which is pinned if this waiter ever was.
            let waiter = unsafe { Pin::new_unchecked(waiter) };
            // CLAIM: [pull.owes] told to look, and never did.
            self.owes |= waiter.withdraw();
        }
        if self.owes {
            self.reach.shared().wake_receiver();
        }
    }

    fn take_release(&mut self) -> bool {
        self.waiter.get().is_some_and(|waiter| {
            // SAFETY: [pull.pinned] part of `self`, which `poll` got pinned; dropped in place.
            unsafe { Pin::new_unchecked(waiter) }.take_release()
        })
    }

    #[inline(never)]
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Result<R::Item, Closed>> {
        let shared = self.reach.shared();
        let reach = &self.reach;
        let waiter = self
            .waiter
            .made_with(|| Waiter::new(ToReceivers(reach.copied()), ()));
        // SAFETY: [pull.pinned] part of `self`, which `poll` got pinned; dropped in place.
        let waiter = unsafe { Pin::new_unchecked(waiter) };
        let mut was_told = self.owes;
        // Also if the poll unwinds.
        self.waits = true;
        let found = waiter.poll_wait(cx, |_, (), why| {
            was_told |= matches!(why, Why::Offered(_));
            shared.look_for_message()
        });
        self.waits = found.is_pending();
        // CLAIM: [pull.owes] whoever found nothing at all, or the message, owes nothing.
        self.owes = was_told && matches!(found, Poll::Ready(Pop::Busy));
        match found {
            Poll::Ready(Pop::Got(value, senders_wait)) => {
                self.gave_way = false;
                if senders_wait {
                    shared.settle_with_message();
                }
                Poll::Ready(Ok(value))
            }
            Poll::Ready(Pop::Closed) => Poll::Ready(Err(Closed)),
            Poll::Ready(Pop::Busy) => {
                look_again(cx);
                Poll::Pending
            }
            Poll::Ready(Pop::Empty) | Poll::Pending => {
                wait::note(WaitKind::Receive, shared.number());
                Poll::Pending
            }
        }
    }
}

impl<R: Reach + Copied> Waits for Pull<R> {
    fn waits(&self) -> bool {
        self.waits || self.owes
    }
}

impl<R: Reach + Copied> Drop for Pull<R> {
    #[inline]
    fn drop(&mut self) {
        // CLAIM: [late.made] one that never had to wait has no waiter, and owes nothing.
        if self.waiter.is_made() {
            self.end();
        }
    }
}

/// The future of [`Receiver::recv`](super::Receiver::recv).
///
/// # Cancel safety
///
/// *Safe*: a message is taken only by the poll that returns it. A notification that came goes to
/// the next receiver that waits.
#[must_use = "futures do nothing unless polled"]
pub struct Recv<'a, T> {
    pull: Pull<&'a Shared<T>>,
}

impl<'a, T> Recv<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            pull: Pull::new(shared),
        }
    }
}

impl<T> Future for Recv<'_, T> {
    type Output = Result<T, Closed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [pull.pinned] a projection of the only field; there is no `Drop`.
        unsafe { self.map_unchecked_mut(|this| &mut this.pull) }.poll(cx)
    }
}

impl<T> CancelSafe for Recv<'_, T> {}

impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv")
            .field("channel", &self.pull.reach().number())
            .finish_non_exhaustive()
    }
}

/// The future of [`Receiver::recv_many`](super::Receiver::recv_many).
///
/// # Cancel safety
///
/// *Safe*: messages are taken only by the poll that returns their number.
#[must_use = "futures do nothing unless polled"]
pub struct RecvMany<'a, T> {
    pull: Pull<&'a Shared<T>>,
    buffer: &'a mut Vec<T>,
    most: usize,
}

impl<'a, T> RecvMany<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>, buffer: &'a mut Vec<T>, most: usize) -> Self {
        Self {
            pull: Pull::new(shared),
            buffer,
            most,
        }
    }
}

impl<T> Future for RecvMany<'_, T> {
    type Output = Result<usize, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [pull.pinned] `pull` is pinned with us, the rest is not.
        let this = unsafe { self.get_unchecked_mut() };
        if this.most == 0 {
            return Poll::Ready(Ok(0));
        }
        // SAFETY: [pull.pinned] a projection; there is no `Drop` that would move it.
        let pull = unsafe { Pin::new_unchecked(&mut this.pull) };
        let first = match pull.poll(cx) {
            Poll::Ready(first) => first,
            Poll::Pending => return Poll::Pending,
        };
        Poll::Ready(first.map(|first| {
            this.buffer.push(first);
            let shared = this.pull.reach;
            1 + take_more(shared, this.buffer, this.most - 1)
        }))
    }
}

/// Takes what is there, up to `most` messages.
fn take_more<T>(shared: &Shared<T>, buffer: &mut Vec<T>, most: usize) -> usize {
    let mut settle = Settle {
        shared,
        is_due: false,
    };
    let mut taken = 0;
    while taken < most {
        let Pop::Got(value, senders_wait) = shared.pop_unsettled() else {
            break;
        };
        settle.is_due |= senders_wait;
        buffer.push(value);
        budget::consume();
        taken += 1;
    }
    taken
}

/// Grants room to waiting senders when all is taken, on unwind too.
struct Settle<'a, T> {
    shared: &'a Shared<T>,
    is_due: bool,
}

impl<T> Drop for Settle<'_, T> {
    fn drop(&mut self) {
        if self.is_due {
            self.shared.settle_with_message();
        }
    }
}

impl<T> CancelSafe for RecvMany<'_, T> {}

impl<T> fmt::Debug for RecvMany<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvMany")
            .field("channel", &self.pull.reach().number())
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}
