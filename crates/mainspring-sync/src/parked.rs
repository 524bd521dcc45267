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
use mainspring_core::wait_list::{From, Holds, Kind, Queue, Waiter, Why};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(crate) type KeyOf<L> = <<L as Holds>::Kind as Kind>::Key;

/// A waiter that is answered with an `R`.
pub(crate) struct Parked<L: Holds, R> {
    /// What its waiter is made of, until there is one.
    parts: Option<(L, KeyOf<L>)>,
    /// Made where it stays, at the first poll that has to wait: until then the future is small to
    /// move.
    waiter: Option<Waiter<L>>,
    answer: Option<R>,
    /// It was queued, and has not been answered since.
    is_queued: bool,
}

impl<L: Holds, R> Parked<L, R> {
    #[inline]
    pub(crate) fn new(holder: L, key: KeyOf<L>) -> Self {
        Self {
            parts: Some((holder, key)),
            waiter: None,
            answer: None,
            is_queued: false,
        }
    }

    #[inline]
    pub(crate) fn holder(&self) -> &L {
        match (&self.parts, &self.waiter) {
            (Some((holder, _)), _) => holder,
            (None, Some(waiter)) => waiter.holder(),
            (None, None) => unreachable!("neither a waiter nor its parts"),
        }
    }

    /// Takes an answer that no poll has given out: whoever drops a `Parked` owes it to others.
    pub(crate) fn take_answer(&mut self) -> Option<R> {
        self.answer.take()
    }

    /// Takes what was offered to it, if that can be done without the lock: then
    /// [`answer`](Self::answer) it.
    #[inline]
    pub(crate) fn take_offer(self: Pin<&mut Self>, cx: &Context<'_>) -> Option<From> {
        let this = self.project();
        if !*this.is_queued {
            return None;
        }
        let taken = this.waiter.as_pin_mut()?.take_offer(cx);
        *this.is_queued = taken.is_none();
        taken
    }

    /// Gives it an answer, which the next poll gives out.
    #[inline]
    pub(crate) fn answer(self: Pin<&mut Self>, found: R) {
        *self.project().answer = Some(found);
    }

    /// Waits until `quick`, which is asked once and without the lock, or `look` answers.
    ///
    /// Takes a unit of the budget for an answer and notes what is waited for.
    #[inline]
    pub(crate) fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        kind: WaitKind,
        quick: impl FnOnce(&L::Kind) -> Option<R>,
        look: impl FnMut(&mut Queue<'_, L::Kind>, &mut KeyOf<L>, Why) -> Option<R>,
    ) -> Poll<R> {
        let unit = budget::poll_proceed(cx);
        // CLAIM: [parked.order] it has its place, or all that it waited for.
        if unit.is_pending() && (self.is_queued || self.answer.is_some()) {
            return Poll::Pending;
        }
        let known = if self.answer.is_some() {
            self.as_mut().project().answer.take()
        } else if self.is_queued {
            None
        } else {
            quick(self.holder().list().kind())
        };
        let this = self.project();
        let found = match known {
            Some(found) => Poll::Ready(found),
            None => made(this.parts, this.waiter).poll_wait(cx, look),
        };
        let (answer, is_queued) = (this.answer, this.is_queued);
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
        let this = self.project();
        if this.answer.is_none() && !*this.is_queued {
            let waiter = made(this.parts, this.waiter);
            let found = waiter.poll_wait(&mut Context::from_waker(placeholder), look);
            *this.is_queued = found.is_pending();
            if let Poll::Ready(found) = found {
                *this.answer = Some(found);
            }
        }
        this.answer.is_some()
    }

    #[inline]
    fn project(self: Pin<&mut Self>) -> Projected<'_, L, R> {
        // SAFETY: [parked.pinned] nothing is moved out of the waiter below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [parked.pinned] the waiter is pinned as long as `self` is: there is no other way
        // to it, and its drop runs in place.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        Projected {
            parts: &mut this.parts,
            waiter,
            answer: &mut this.answer,
            is_queued: &mut this.is_queued,
        }
    }
}

/// The fields of a pinned [`Parked`].
struct Projected<'a, L: Holds, R> {
    parts: &'a mut Option<(L, KeyOf<L>)>,
    waiter: Pin<&'a mut Option<Waiter<L>>>,
    answer: &'a mut Option<R>,
    is_queued: &'a mut bool,
}

/// The waiter, which is made now if it was not.
#[inline(always)]
fn made<'a, L: Holds>(
    parts: &mut Option<(L, KeyOf<L>)>,
    mut place: Pin<&'a mut Option<Waiter<L>>>,
) -> Pin<&'a mut Waiter<L>> {
    if let Some((holder, key)) = parts.take() {
        // SAFETY: [parked.pinned] nothing is there that could be moved.
        let place = unsafe { place.as_mut().get_unchecked_mut() };
        // Written where it stays; there is nothing to be dropped.
        std::mem::forget(place.replace(Waiter::new(holder, key)));
    }
    let waiter = place.as_pin_mut();
    waiter.expect("there is a waiter where its parts are not")
}

#[cfg(test)]
pub(crate) mod tests;
