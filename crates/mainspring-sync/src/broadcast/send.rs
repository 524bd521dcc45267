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

/// Waits in the queue of senders for a permit, which whoever gets it has to use or give back.
struct Claim<'a, T> {
    waiter: Waiter<&'a WaitList<Room<T>>>,
    is_queued: bool,
}

impl<'a, T> Claim<'a, T> {
    fn new(shared: &'a Shared<T>) -> Self {
        Self {
            waiter: Waiter::new(&shared.senders, ()),
            is_queued: false,
        }
    }

    /// With a spent budget (`unit` is `None`) it takes its place in the queue, and no more.
    fn poll_claim(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        unit: Option<Unit>,
        number: u64,
    ) -> Poll<Result<(), Refusal>> {
        // SAFETY: [broadcast.pinned] the waiter stays where it is; nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        if unit.is_none() && this.is_queued {
            return Poll::Pending;
        }
        let may_claim = unit.is_some();
        // SAFETY: [broadcast.pinned] structural: `self` was pinned.
        let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
        let claimed = waiter.poll_wait(cx, |queue, (), why| {
            queue.kind().look(queue, why, may_claim)
        });
        this.is_queued = claimed.is_pending();
        match (unit, claimed) {
            (unit, Poll::Ready(result)) => {
                if let Some(unit) = unit {
                    unit.spend();
                }
                Poll::Ready(result)
            }
            (Some(_), Poll::Pending) => {
                wait::note(WaitKind::Send, number);
                Poll::Pending
            }
            // The task was woken, and waits for its turn only.
            (None, Poll::Pending) => Poll::Pending,
        }
    }

    /// Leaves the queue; an offer goes to the next.
    fn abandon(self: Pin<&mut Self>) {
        // SAFETY: [broadcast.pinned] structural; nothing is moved.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.waiter) };
        waiter.abandon(|()| ());
    }
}

const UNSENT: &str = "a send is polled while it has its message";

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
/// If it is polled after it was ready, or after its message was taken back.
#[must_use = "futures do nothing unless polled"]
pub struct Send<'a, T> {
    shared: &'a Shared<T>,
    /// Before the message: its place is given up before user code runs.
    claim: Claim<'a, T>,
    message: Option<Message<T>>,
}

impl<'a, T> Send<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>, value: T) -> Self {
        Self {
            shared,
            claim: Claim::new(shared),
            message: Some(Message::new(value)),
        }
    }

    /// Gives up sending and takes the message back; `None` if it was sent, or taken before.
    pub fn take(self: Pin<&mut Self>) -> Option<T> {
        let (claim, message, _) = self.parts();
        claim.abandon();
        message.take().map(unshared)
    }

    fn parts(
        self: Pin<&mut Self>,
    ) -> (
        Pin<&mut Claim<'a, T>>,
        &mut Option<Message<T>>,
        &'a Shared<T>,
    ) {
        // SAFETY: [broadcast.pinned] only the claim is pinned structurally, and stays in place.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [broadcast.pinned] structural: `self` was pinned.
        let claim = unsafe { Pin::new_unchecked(&mut this.claim) };
        (claim, &mut this.message, this.shared)
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (claim, message, shared) = self.parts();
        let mut unit = unit(cx);
        if !claim.is_queued {
            if let Some(one) = unit {
                // Without a look at the list: whoever waits there has left word in the log.
                let sent = shared.send(message.take().expect(UNSENT));
                let Err((back, Refusal::Full)) = sent else {
                    one.spend();
                    return Poll::Ready(sent.map_err(refused));
                };
                *message = Some(back);
                unit = Some(one);
            }
        }
        let claimed = ready!(claim.poll_claim(cx, unit, shared.number));
        let mine = message.take().expect(UNSENT);
        let result = match claimed {
            Ok(()) => shared.send_claimed(mine),
            Err(why) => Err((mine, why)),
        };
        Poll::Ready(result.map_err(refused))
    }
}

impl<T> fmt::Debug for Send<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send")
            .field("channel", self.shared)
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
    shared: &'a Shared<T>,
    claim: Claim<'a, T>,
}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Self {
            shared,
            claim: Claim::new(shared),
        }
    }
}

impl<'a, T> Future for Reserve<'a, T> {
    type Output = Result<Permit<'a, T>, SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = self.shared;
        let unit = unit(cx);
        // SAFETY: [broadcast.pinned] structural; nothing is moved.
        let claim = unsafe { self.map_unchecked_mut(|this| &mut this.claim) };
        let mut claimed = Poll::Pending;
        if unit.is_some() && !claim.is_queued {
            // Without a look at the list: whoever waits there has left word in the log.
            claimed = match shared.log().claim_in_passing() {
                Err(Refusal::Full) => Poll::Pending,
                done => Poll::Ready(done),
            };
        }
        let claimed = match claimed {
            Poll::Ready(done) => {
                budget::consume();
                done
            }
            Poll::Pending => ready!(claim.poll_claim(cx, unit, shared.number)),
        };
        Poll::Ready(match claimed {
            Ok(()) => Ok(Permit { shared }),
            Err(why) => Err(SendError::new((), why)),
        })
    }
}

impl<T> CancelSafe for Reserve<'_, T> {
    const KEEPS_PLACE: bool = false;
}

impl<T> fmt::Debug for Reserve<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve")
            .field("channel", self.shared)
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
        let message = Message::new(value);
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
