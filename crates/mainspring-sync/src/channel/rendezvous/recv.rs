//! Receiving a message from whoever sends it.
//!
//! # Invariants
//!
//! - **encounter.pinned** — the waiter inside an [`Encounter`] is pinned with it and never moved.

use super::meeting::{self, Counted, Meeting, Seat, Table, Taken};
use crate::channel::Closed;
use crate::channel::place::Waits;
use mainspring_core::payload::absorb;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Holds, Queue, Waiter};
use mainspring_core::{CancelSafe, budget};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a receiver found at the table.
enum Found<T> {
    Message(Taken<T>),
    /// A message is there, and no budget to take it.
    Later,
    Closed,
}

/// Waits for one message after another: what is inside everything that receives.
pub(super) struct Encounter<T, L: Holds<Kind = Meeting<T>>> {
    waiter: Waiter<L>,
    /// It may be in the queue, or have been told to look.
    waits: bool,
}

impl<T, L: Holds<Kind = Meeting<T>>> Encounter<T, L> {
    pub(super) fn of_a_task(holder: L) -> Self {
        Self::new(holder, Seat::of_a_task())
    }

    fn new(holder: L, seat: Seat<T>) -> Self {
        Self {
            waiter: Waiter::new(holder, seat),
            waits: false,
        }
    }

    fn number(&self) -> u64 {
        meeting::number(self.waiter.holder().list())
    }
}

impl<T, L: Holds<Kind = Meeting<T>>> Waits for Encounter<T, L> {
    fn waits(&self) -> bool {
        self.waits
    }
}

/// A thread that receives: whoever makes one blocks its thread until it is ready, or
/// [gives up](Self::give_up).
pub(super) struct Blocked<'a, T> {
    encounter: Encounter<T, &'a Table<T>>,
    /// CLAIM: [meeting.counted] after the encounter, and so dropped when that has left the list.
    _counted: Counted<'a>,
}

impl<'a, T> Blocked<'a, T> {
    pub(super) fn new(table: &'a Table<T>) -> Self {
        Self {
            encounter: Encounter::new(table, Seat::of_a_thread()),
            _counted: Counted::new(table),
        }
    }

    fn encounter(self: Pin<&mut Self>) -> Pin<&mut Encounter<T, &'a Table<T>>> {
        // SAFETY: [encounter.pinned] a projection of the only field that is pinned; no `Drop`.
        unsafe { self.map_unchecked_mut(|this| &mut this.encounter) }
    }

    /// Ends the wait; returns what was put into the seat before it could end.
    pub(super) fn give_up(self: Pin<&mut Self>) -> Option<T> {
        // SAFETY: [encounter.pinned] a projection; nothing is moved.
        let waiter = unsafe { self.encounter().map_unchecked_mut(|this| &mut this.waiter) };
        // CLAIM: [meeting.seat]
        waiter.abandon(|seat| seat.slot.take())
    }
}

impl<T> Future for Blocked<'_, T> {
    type Output = Result<T, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.encounter().poll(cx)
    }
}

fn look<T>(
    queue: &mut Queue<'_, Meeting<T>>,
    seat: &mut Seat<T>,
    may_take: bool,
) -> Option<Found<T>> {
    if let Some(message) = seat.slot.take() {
        let sender = None;
        return Some(Found::Message(Taken { message, sender }));
    }
    if queue.is_closed() {
        return Some(Found::Closed);
    }
    if may_take {
        meeting::take_oldest(queue).map(Found::Message)
    } else {
        meeting::is_anybody_parked(queue).then_some(Found::Later)
    }
}

impl<T, L: Holds<Kind = Meeting<T>>> Future for Encounter<T, L> {
    type Output = Result<T, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [encounter.pinned] nothing is moved out; the waiter is only reached pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let unit = budget::poll_proceed(cx);
        let may_take = unit.is_ready();
        if !may_take && this.waits {
            // It has its place, or an offer that it keeps.
            return Poll::Pending;
        }
        // SAFETY: [encounter.pinned] part of what is pinned; dropped in place.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        // Before it may be queued: with an offer and without budget it must not look.
        this.waits = true;
        let found = waiter.poll_wait(cx, |queue, seat, _| look(queue, seat, may_take));
        this.waits = found.is_pending();
        let result = match found {
            Poll::Ready(Found::Message(Taken { message, sender })) => {
                if let Some(sender) = sender {
                    // A panic of it, which the hook has reported, takes no message along.
                    absorb(|| sender.wake());
                }
                Ok(message)
            }
            Poll::Ready(Found::Closed) => Err(Closed),
            Poll::Ready(Found::Later) => return Poll::Pending,
            Poll::Pending => {
                wait::note(WaitKind::Receive, this.number());
                return Poll::Pending;
            }
        };
        if let Poll::Ready(unit) = unit {
            unit.spend();
        }
        Poll::Ready(result)
    }
}

/// The future of [`Receiver::recv`](super::Receiver::recv).
///
/// It is larger than one message.
///
/// # Cancel safety
///
/// *Safe*: a message is taken only by the poll that returns it, and its sender waits until then. A
/// notification that came goes to the next receiver that waits.
#[must_use = "futures do nothing unless polled"]
pub struct Recv<'a, T> {
    encounter: Encounter<T, &'a Table<T>>,
}

impl<'a, T> Recv<'a, T> {
    pub(super) fn new(table: &'a Table<T>) -> Self {
        Self {
            encounter: Encounter::of_a_task(table),
        }
    }
}

impl<T> Future for Recv<'_, T> {
    type Output = Result<T, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [encounter.pinned] a projection of the only field; there is no `Drop`.
        unsafe { self.map_unchecked_mut(|this| &mut this.encounter) }.poll(cx)
    }
}

impl<T> CancelSafe for Recv<'_, T> {}

impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv")
            .field("channel", &self.encounter.number())
            .finish_non_exhaustive()
    }
}
