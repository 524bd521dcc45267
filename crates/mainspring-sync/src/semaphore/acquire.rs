//! Waiting for permits.

use super::Semaphore;
use super::error::AcquireError;
use super::ledger::Request;
use super::permit::{OwnedPermit, Permit};
use super::permits::{Permits, Take};
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{Holds, Waiter};
use mainspring_core::{CancelSafe, WaitList};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A request for permits: what the futures of semaphores and mutexes are made of.
pub(crate) struct Asking<L: Holds<Kind = Permits>> {
    waiter: Waiter<L>,
    wanted: usize,
    kind: WaitKind,
    /// It was polled, and is not done.
    has_begun: bool,
}

impl<L: Holds<Kind = Permits>> Asking<L> {
    #[inline]
    pub(crate) fn new(holder: L, wanted: usize, kind: WaitKind) -> Self {
        Self {
            waiter: Waiter::new(holder, Request::new(wanted)),
            wanted,
            kind,
            has_begun: false,
        }
    }

    #[inline]
    pub(crate) fn holder(&self) -> &L {
        self.waiter.holder()
    }

    /// `Ready(Ok)`: the permits are the caller's, who has to see that they are given back.
    #[inline]
    pub(crate) fn poll_permits(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), AcquireError>> {
        let is_spent = budget::is_spent();
        if !is_spent && !self.has_begun {
            let taken = self.holder().list().kind().take(self.wanted);
            if taken == Take::Taken {
                budget::consume();
                return Poll::Ready(Ok(()));
            }
        }
        self.as_mut().poll_queue(cx, is_spent)
    }

    #[cold]
    fn poll_queue(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        is_spent: bool,
    ) -> Poll<Result<(), AcquireError>> {
        // SAFETY: [semaphore.pinned] the waiter is not moved out of; the rest is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        if this.wanted == 0 {
            ready!(budget::poll_proceed(cx)).spend();
            return Poll::Ready(match this.waiter.holder().list().kind().is_closed() {
                true => Err(AcquireError::Closed),
                false => Ok(()),
            });
        }
        // SAFETY: [semaphore.pinned] a projection of the pinned field.
        let mut waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        // With the budget spent it takes its place all the same: who comes next is behind it.
        let result = waiter.as_mut().poll_wait(cx, |queue, request, why| {
            queue.kind().look(queue, request, why, is_spent)
        });
        this.has_begun = result.is_pending();
        if result.is_ready() {
            budget::consume();
            return result;
        }
        let list = waiter.holder().list();
        wait::note(this.kind, number(list));
        if list.kind().free() >= this.wanted {
            // Its budget is spent, or it came back to the queue after it had lost an offer: what is
            // free is offered to whoever may have it, this one perhaps.
            list.with(|queue| queue.kind().settle(queue));
        }
        if is_spent && budget::poll_proceed(cx).is_ready() {
            // The budget was lent anew meanwhile, by a waker that polled something.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// What a wait reason calls a list.
pub(crate) fn number(list: &WaitList<Permits>) -> u64 {
    std::ptr::from_ref(list).addr() as u64
}

/// The future of [`Semaphore::acquire`]. Polled again after it was ready, it asks once more.
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it has taken nothing: permits that had been offered to
/// it go on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    asking: Asking<&'a WaitList<Permits>>,
}

impl<'a> Acquire<'a> {
    pub(super) fn new(semaphore: &'a Semaphore, permits: usize) -> Self {
        Self {
            semaphore,
            asking: Asking::new(semaphore.list(), permits, WaitKind::Permit),
        }
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = Result<Permit<'a>, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let semaphore = self.semaphore;
        let wanted = self.asking.wanted;
        // SAFETY: [semaphore.pinned] a projection of the pinned field.
        let asking = unsafe { self.map_unchecked_mut(|this| &mut this.asking) };
        ready!(asking.poll_permits(cx))?;
        Poll::Ready(Ok(Permit::new(semaphore, wanted)))
    }
}

impl CancelSafe for Acquire<'_> {
    const KEEPS_PLACE: bool = false;
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asking.fields(&mut f.debug_struct("Acquire"))
    }
}

/// Leads a waiter to the semaphore that it owns a share of.
struct Share(Arc<Semaphore>);

// SAFETY: [semaphore.pinned] what an `Arc` holds does not move and lives as long as the `Arc`.
unsafe impl Holds for Share {
    type Kind = Permits;

    fn list(&self) -> &WaitList<Permits> {
        self.0.list()
    }
}

/// The future of [`Semaphore::acquire_owned`].
///
/// # Cancel safety
///
/// *Loses place.* Dropped before it is ready it has taken nothing: permits that had been offered to
/// it go on to the next.
#[must_use = "futures do nothing unless polled"]
pub struct AcquireOwned {
    asking: Asking<Share>,
}

impl AcquireOwned {
    pub(super) fn new(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        Self {
            asking: Asking::new(Share(semaphore), permits, WaitKind::Permit),
        }
    }
}

impl Future for AcquireOwned {
    type Output = Result<OwnedPermit, AcquireError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [semaphore.pinned] a projection of the pinned field.
        let asking = unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.asking) };
        ready!(asking.poll_permits(cx))?;
        let semaphore = Arc::clone(&self.asking.holder().0);
        Poll::Ready(Ok(OwnedPermit::new(semaphore, self.asking.wanted)))
    }
}

impl CancelSafe for AcquireOwned {
    const KEEPS_PLACE: bool = false;
}

impl fmt::Debug for AcquireOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asking.fields(&mut f.debug_struct("AcquireOwned"))
    }
}

impl<L: Holds<Kind = Permits>> Asking<L> {
    fn fields(&self, out: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        out.field("permits", &self.wanted)
            .field("waits", &self.has_begun)
            .finish_non_exhaustive()
    }
}
