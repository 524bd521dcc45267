//! A future's waiter, together with an answer that it got and could not give out yet.
//!
//! For a future whose answer, once it has it, is its own to keep: those of signals and cells are a
//! [`Parked`] and a look. A request for permits asks without taking instead, and one of a channel
//! keeps a permit, so they have forms of their own.
//!
//! # Invariants
//!
//! - **parked.order** — a poll without budget queues before it yields, so that the order of arrival
//!   is that of the first polls; what it is answered meanwhile is kept for the next poll.
//! - **parked.pinned** — the waiter is pinned structurally; the other fields are not pinned.

use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Holds, Kind, Queue, Waiter, Why};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(crate) type KeyOf<L> = <<L as Holds>::Kind as Kind>::Key;

/// A waiter that is answered with an `R`.
pub(crate) struct Parked<L: Holds, R> {
    waiter: Waiter<L>,
    answer: Option<R>,
    /// It was queued, and has not been answered since.
    is_queued: bool,
}

impl<L: Holds, R> Parked<L, R> {
    pub(crate) fn new(holder: L, key: KeyOf<L>) -> Self {
        Self {
            waiter: Waiter::new(holder, key),
            answer: None,
            is_queued: false,
        }
    }

    pub(crate) fn holder(&self) -> &L {
        self.waiter.holder()
    }

    /// Takes an answer that no poll has given out: whoever drops a `Parked` owes it to others.
    pub(crate) fn take_answer(&mut self) -> Option<R> {
        self.answer.take()
    }

    /// Waits until `quick`, which is asked once and without the lock, or `look` answers.
    ///
    /// Takes a unit of the budget for an answer and notes what is waited for.
    #[inline]
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        kind: WaitKind,
        quick: impl FnOnce(&L::Kind) -> Option<R>,
        look: impl FnMut(&mut Queue<'_, L::Kind>, &mut KeyOf<L>, Why) -> Option<R>,
    ) -> Poll<R> {
        let unit = budget::poll_proceed(cx);
        let (waiter, answer, is_queued) = self.project();
        // CLAIM: [parked.order] it has its place, or all that it waited for.
        if unit.is_pending() && (*is_queued || answer.is_some()) {
            return Poll::Pending;
        }
        let known = answer.take().or_else(|| {
            let kind = waiter.holder().list().kind();
            if *is_queued { None } else { quick(kind) }
        });
        let found = match known {
            Some(found) => Poll::Ready(found),
            None => waiter.poll_wait(cx, look),
        };
        *is_queued = found.is_pending();
        match (found, unit) {
            (Poll::Ready(found), Poll::Ready(unit)) => {
                unit.spend();
                Poll::Ready(found)
            }
            (Poll::Ready(found), Poll::Pending) => {
                *answer = Some(found);
                Poll::Pending
            }
            (Poll::Pending, _) => {
                wait::note(kind, 0);
                Poll::Pending
            }
        }
    }

    /// Queues without a poll; whoever polls later is woken. `true` if there is an answer already.
    ///
    /// One that was queued before is left alone, with the waker that it has.
    pub(crate) fn enable(
        self: Pin<&mut Self>,
        placeholder: &Waker,
        look: impl FnMut(&mut Queue<'_, L::Kind>, &mut KeyOf<L>, Why) -> Option<R>,
    ) -> bool {
        let (waiter, answer, is_queued) = self.project();
        if answer.is_none() && !*is_queued {
            let found = waiter.poll_wait(&mut Context::from_waker(placeholder), look);
            *is_queued = found.is_pending();
            if let Poll::Ready(found) = found {
                *answer = Some(found);
            }
        }
        answer.is_some()
    }

    #[inline]
    fn project(self: Pin<&mut Self>) -> (Pin<&mut Waiter<L>>, &mut Option<R>, &mut bool) {
        // SAFETY: [parked.pinned] nothing is moved out of the waiter below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [parked.pinned] the waiter is pinned as long as `self` is: there is no other way
        // to it, and its drop runs in place.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        (waiter, &mut this.answer, &mut this.is_queued)
    }
}

#[cfg(test)]
pub(crate) mod tests;
