//! Room that is held before there is a message for it.
//!
//! # Invariants
//!
//! - **permit.once** — a permit is used or given back, exactly once, whatever panics meanwhile.

use super::ask::Ask;
use super::sender::Sender;
use super::shared::Shared;
use super::{Closed, SendError};
use mainspring_core::CancelSafe;
use mainspring_core::sync::Arc;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Room for one message, held for whoever has this.
///
/// It is a credit, not a place in the row: messages that are sent meanwhile go ahead. While it is
/// out, a closed channel does not end: `recv` waits for it, and `try_recv` says that the channel is
/// empty. Dropping it gives the room back. A forgotten one takes its room, and the end, with it.
#[must_use = "dropping the permit gives the room back"]
pub struct Permit<'a, T> {
    shared: &'a Shared<T>,
}

impl<T> Permit<'_, T> {
    /// Sends `value`, at once, also if the channel was closed in the meantime.
    ///
    /// # Errors
    ///
    /// The message, if no receiver is left.
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        // CLAIM: [permit.once] it is gone before anything can panic.
        let this = ManuallyDrop::new(self);
        this.shared.redeem(value).map_err(SendError)
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.shared.release();
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("channel", &self.shared.number())
            .finish()
    }
}

/// A [`Permit`] that owns its sender.
#[must_use = "dropping the permit gives the room back"]
pub struct OwnedPermit<T> {
    /// `None`: the permit was used.
    sender: Option<Sender<T>>,
}

impl<T> OwnedPermit<T> {
    /// Sends `value`, at once, also if the channel was closed in the meantime; the sender comes
    /// back.
    ///
    /// # Errors
    ///
    /// The message, if no receiver is left.
    pub fn send(mut self, value: T) -> Result<Sender<T>, SendError<T>> {
        // CLAIM: [permit.once] it is gone before anything can panic.
        let sender = self.sender.take().expect("a permit has its sender");
        match sender.shared().redeem(value) {
            Ok(()) => Ok(sender),
            Err(value) => Err(SendError(value)),
        }
    }

    /// Gives the room back; the sender comes back.
    pub fn release(mut self) -> Sender<T> {
        let sender = self.sender.take().expect("a permit has its sender");
        sender.shared().release();
        sender
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            sender.shared().release();
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit")
            .field("sender", &self.sender)
            .finish()
    }
}

/// The future of [`Sender::reserve`].
///
/// # Cancel safety
///
/// *Loses place*: nothing is lost but the turn; room that was granted goes to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Reserve<'a, T> {
    ask: Ask<&'a Shared<T>>,
}

impl<'a, T> Reserve<'a, T> {
    pub(crate) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            ask: Ask::new(shared),
        }
    }
}

impl<'a, T> Future for Reserve<'a, T> {
    type Output = Result<Permit<'a, T>, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [ask.pinned] a projection of the only field; there is no `Drop`.
        let mut ask = unsafe { self.map_unchecked_mut(|this| &mut this.ask) };
        let shared = *ask.reach();
        ask.as_mut().poll(cx).map_ok(|()| {
            ask.spend();
            Permit { shared }
        })
    }
}

impl<T> CancelSafe for Reserve<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T> fmt::Debug for Reserve<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve")
            .field("channel", &self.ask.reach().number())
            .finish_non_exhaustive()
    }
}

/// The permit of a sender that found room at once.
pub(crate) fn held<T>(shared: &Shared<T>) -> Permit<'_, T> {
    Permit { shared }
}

/// As [`held`], with the sender.
pub(crate) fn held_by<T>(sender: Sender<T>) -> OwnedPermit<T> {
    OwnedPermit {
        sender: Some(sender),
    }
}

/// The future of [`Sender::reserve_owned`].
///
/// # Cancel safety
///
/// *Loses place*, and the sender that it was made from.
#[must_use = "futures do nothing unless polled"]
pub struct ReserveOwned<T> {
    ask: Ask<Arc<Shared<T>>>,
    sender: Option<Sender<T>>,
}

impl<T> ReserveOwned<T> {
    pub(crate) fn new(sender: Sender<T>) -> Self {
        Self {
            ask: Ask::new(Arc::clone(sender.shared())),
            sender: Some(sender),
        }
    }
}

impl<T> Future for ReserveOwned<T> {
    type Output = Result<OwnedPermit<T>, Closed>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [ask.pinned] `ask` is pinned with us, the sender is not.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [ask.pinned] a projection; there is no `Drop` that would move it.
        let mut ask = unsafe { Pin::new_unchecked(&mut this.ask) };
        assert!(
            this.sender.is_some(),
            "MS0017: a `ReserveOwned` was polled after its end (docs/errors.md)"
        );
        let granted = match ask.as_mut().poll(cx) {
            Poll::Ready(granted) => granted,
            Poll::Pending => return Poll::Pending,
        };
        let sender = this.sender.take();
        Poll::Ready(granted.map(|()| {
            ask.spend();
            OwnedPermit { sender }
        }))
    }
}

impl<T> fmt::Debug for ReserveOwned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReserveOwned")
            .field("sender", &self.sender)
            .finish_non_exhaustive()
    }
}
