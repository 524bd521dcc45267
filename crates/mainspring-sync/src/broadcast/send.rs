//! Waiting to send: for room, with a message or without, and for the end of interest.

use super::error::SendError;
use super::log::Refusal;
use super::sender::unshared;
use super::shared::{Message, Room, Shared};
use mainspring_core::CancelSafe;
use mainspring_core::budget::{self, Unit};
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{WaitList, Waiter};
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits in the queue of senders for a permit.
struct Claim<'a, T> {
    shared: &'a Shared<T>,
    waiter: Waiter<&'a WaitList<Room<T>>>,
    is_queued: bool,
}

impl<'a, T> Claim<'a, T> {
    fn new(shared: &'a Shared<T>) -> Self {
        Self {
            shared,
            waiter: Waiter::new(&shared.senders, ()),
            is_queued: false,
        }
    }

    /// With a spent budget (`unit` is `None`) it takes its place in the queue, and no more.
    fn poll_claim(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        unit: Option<Unit>,
    ) -> Poll<Result<Permit<'a, T>, Refusal>> {
        // SAFETY: [broadcast.pinned] the waiter stays where it is; nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        if unit.is_none() && this.is_queued {
            return Poll::Pending;
        }
        let shared = this.shared;
        let may_claim = unit.is_some();
        // A permit from the moment it is counted: others are woken before the wait returns, and
        // one of their wakers may panic.
        let mut permit = None;
        // SAFETY: [broadcast.pinned] structural: `self` was pinned.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        let claimed = waiter.poll_wait(cx, |queue, (), why| {
            let claimed = queue.kind().look(queue, why, may_claim)?;
            Some(claimed.map(|()| permit = Some(Permit { shared })))
        });
        this.is_queued = claimed.is_pending();
        if claimed.is_pending() {
            if may_claim {
                wait::note(WaitKind::Send, shared.number);
            }
            return Poll::Pending;
        }
        if let Some(unit) = unit {
            unit.spend();
        }
        claimed.map_ok(|()| permit.expect("broadcast.once: claimed, and so there is one"))
    }

    /// Leaves the queue; an offer goes to the next.
    fn abandon(self: Pin<&mut Self>) {
        // SAFETY: [broadcast.pinned] structural; nothing is moved.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.waiter) };
        waiter.abandon(|()| ());
    }
}

const UNSENT: &str = "MS0017: a `Send` was polled after its message was gone (docs/errors.md)";

fn refused<T>((message, why): (Message<T>, Refusal)) -> SendError<T> {
    SendError::new(unshared(message), why)
}

/// A unit of the budget, or `None` if it is spent, in which case the task was woken.
fn unit(cx: &mut Context<'_>) -> Option<Unit> {
    match budget::poll_proceed(cx) {
        Poll::Ready(unit) => Some(unit),
        Poll::Pending => None,
    }
}

/// The future of [`Sender::send`](super::Sender::send).
///
/// # Cancel safety
///
/// *Loses value*: dropped before it is ready, it drops the message, unless
/// [`take`](Self::take) got it back.
///
/// # Panics
///
/// With `MS0017` if it is polled after it was ready, or after its message was taken back.
#[must_use = "futures do nothing unless polled"]
pub struct Send<'a, T> {
    /// Before the message: its place is given up before user code runs.
    claim: Claim<'a, T>,
    message: Option<Message<T>>,
}

impl<'a, T> Send<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>, value: T) -> Self {
        Self {
            claim: Claim::new(shared),
            message: Some(Message::new(value)),
        }
    }

    /// Gives up sending and takes the message back; `None` if it was sent, or taken before.
    pub fn take(self: Pin<&mut Self>) -> Option<T> {
        let (claim, message) = self.parts();
        claim.abandon();
        message.take().map(unshared)
    }

    fn parts(self: Pin<&mut Self>) -> (Pin<&mut Claim<'a, T>>, &mut Option<Message<T>>) {
        // SAFETY: [broadcast.pinned] only the claim is pinned structurally, and stays in place.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [broadcast.pinned] structural: `self` was pinned.
        let claim = unsafe { Pin::new_unchecked(&mut this.claim) };
        (claim, &mut this.message)
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (claim, message) = self.parts();
        assert!(message.is_some(), "{UNSENT}");
        let mut unit = unit(cx);
        if !claim.is_queued {
            if let Some(one) = unit {
                // Without a look at the list: whoever waits there has left word in the log.
                let sent = claim.shared.send(message.take().expect(UNSENT));
                let Err((back, Refusal::Full)) = sent else {
                    one.spend();
                    return Poll::Ready(sent.map_err(refused));
                };
                *message = Some(back);
                unit = Some(one);
            }
        }
        let claimed = ready!(claim.poll_claim(cx, unit));
        let mine = message.take().expect(UNSENT);
        Poll::Ready(match claimed {
            Ok(permit) => permit.send_message(mine),
            Err(why) => Err(refused((mine, why))),
        })
    }
}

impl<T> fmt::Debug for Send<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send")
            .field("channel", self.claim.shared)
            .field("is_queued", &self.claim.is_queued)
            .field("is_done", &self.message.is_none())
            .finish()
    }
}

/// The future of [`Sender::reserve`](super::Sender::reserve).
///
/// # Cancel safety
///
/// *Loses place*: dropped before it is ready, it leaves the queue, and nothing else is lost.
#[must_use = "futures do nothing unless polled"]
pub struct Reserve<'a, T> {
    claim: Claim<'a, T>,
}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            claim: Claim::new(shared),
        }
    }
}

impl<'a, T> Future for Reserve<'a, T> {
    type Output = Result<Permit<'a, T>, SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let unit = unit(cx);
        // SAFETY: [broadcast.pinned] structural; nothing is moved.
        let claim = unsafe { self.map_unchecked_mut(|this| &mut this.claim) };
        let shared = claim.shared;
        if unit.is_some() && !claim.is_queued {
            // Without a look at the list: whoever waits there has left word in the log.
            let claimed = shared.log().claim_in_passing();
            if claimed != Err(Refusal::Full) {
                budget::consume();
                let permit = claimed.map(|()| Permit { shared });
                return Poll::Ready(permit.map_err(|why| SendError::new((), why)));
            }
        }
        let claimed = claim.poll_claim(cx, unit);
        claimed.map_err(|why| SendError::new((), why))
    }
}

impl<T> CancelSafe for Reserve<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T> fmt::Debug for Reserve<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve")
            .field("channel", self.claim.shared)
            .field("is_queued", &self.claim.is_queued)
            .finish()
    }
}

/// Room for one message, set aside: what [`Sender::reserve`](super::Sender::reserve) gives.
///
/// It is a number in the channel, no place in the order: messages are received in the order in
/// which they are sent. While one is out, receivers of a closed channel are not told that it is
/// closed, for the permit may still be used. Dropping it gives the room to whoever waits; one that
/// is *forgotten* takes its room along.
#[must_use = "dropping the permit gives the room back"]
pub struct Permit<'a, T> {
    shared: &'a Shared<T>,
}

impl<T> Permit<'_, T> {
    /// Sends a message to every receiver, without waiting.
    ///
    /// # Errors
    ///
    /// [`SendError::NoReceivers`] with the message in it if nobody receives. A channel that was
    /// closed since the permit was given still takes it.
    ///
    /// # Panics
    ///
    /// As [`Sender::send`](super::Sender::send).
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        self.send_message(Message::new(value))
    }

    fn send_message(self, message: Message<T>) -> Result<(), SendError<T>> {
        let shared = self.shared;
        // The permit is used up by what follows, whatever panics there.
        mem::forget(self);
        let sent = shared.send_claimed(message);
        sent.map_err(refused)
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        let owed = self.shared.log().unclaim();
        self.shared.pay(owed, None);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("channel", self.shared)
            .finish()
    }
}

/// The future of `closed` on both kinds of sender.
///
/// # Cancel safety
///
/// *Safe*: there is nothing to lose.
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a, T> {
    shared: &'a Shared<T>,
    waiter: Waiter<&'a WaitList>,
}

impl<'a, T> Closed<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            shared,
            waiter: Waiter::new(&shared.watchers, ()),
        }
    }
}

impl<T> Future for Closed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let unit = ready!(budget::poll_proceed(cx));
        let shared = self.shared;
        // SAFETY: [broadcast.pinned] structural; nothing is moved.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.waiter) };
        let over = waiter.poll_wait(cx, |_, (), _| {
            let mut log = shared.log();
            let is_refused = log.refusal().is_some();
            if !is_refused {
                // CLAIM: [broadcast.flags] under the lock under which it found interest.
                log.note_watcher_waits();
            }
            is_refused.then_some(())
        });
        match over {
            Poll::Ready(()) => unit.spend(),
            Poll::Pending => wait::note(WaitKind::Notify, shared.number),
        }
        over
    }
}

impl<T> CancelSafe for Closed<'_, T> {}

impl<T> fmt::Debug for Closed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closed")
            .field("channel", self.shared)
            .finish_non_exhaustive()
    }
}
