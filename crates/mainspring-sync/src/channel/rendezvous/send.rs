//! Sending one message to whoever receives it.

use super::letter::{Inside, Letter};
use super::meeting::{self, Meeting, Table};
use crate::channel::SendError;
use mainspring_core::budget;
use mainspring_core::list::Node;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::Queue;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// The future of [`Sender::send`](super::Sender::send). Ready when the message was received.
///
/// # Cancel safety
///
/// *Loses value*: dropped while its message was not taken, it drops the message, unless
/// [`take`](Self::take) gets it back first; it also loses its place in the queue. Dropped after a
/// receiver has taken the message and before the poll that would say so, it changes nothing: the
/// message counts as sent, the receiver has it.
#[must_use = "futures do nothing unless polled"]
pub struct Send<'a, T> {
    table: &'a Table<T>,
    stage: Stage,
    node: Node<Letter<T>>,
}

// SAFETY: [letter.owner] what others reach of it is its letter, under the lock: the message, which
// is `Send`, and a waker. The rest moves with it.
unsafe impl<T: std::marker::Send> std::marker::Send for Send<'_, T> {}

// SAFETY: [letter.owner] a shared one shows its stage and its table, never the letter.
unsafe impl<T: std::marker::Send> Sync for Send<'_, T> {}

/// What the owner knows without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nobody else knows the letter.
    Fresh,
    /// It may have been parked: the truth is in it, under the lock.
    Known,
    /// The message is gone, and whoever had to know does.
    Over,
}

impl<'a, T> Send<'a, T> {
    pub(super) fn new(table: &'a Table<T>, message: T) -> Self {
        Self {
            table,
            stage: Stage::Fresh,
            node: Letter::sealed(message),
        }
    }

    /// Gives up: leaves the queue and returns the message. `None` if a receiver has taken it; then
    /// the send has succeeded, and says so if it is polled again.
    /// That can be after any poll that was `Pending`; a channel that holds messages is different:
    /// there a pending send always has its own.
    ///
    /// ```
    /// use mainspring_sync::channel;
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    ///
    /// let (tx, rx) = channel::rendezvous();
    /// let mut cx = Context::from_waker(Waker::noop());
    ///
    /// let mut send = pin!(tx.send("not taken"));
    /// assert!(send.as_mut().poll(&mut cx).is_pending());
    /// assert_eq!(send.as_mut().take(), Some("not taken"));
    ///
    /// let mut send = pin!(tx.send("taken"));
    /// assert!(send.as_mut().poll(&mut cx).is_pending());
    /// assert_eq!(rx.try_recv(), Ok("taken"));
    /// assert_eq!(send.as_mut().take(), None);
    /// assert!(send.poll(&mut cx).is_ready());
    /// ```
    #[must_use = "the message is dropped here"]
    pub fn take(self: Pin<&mut Self>) -> Option<T> {
        // SAFETY: [letter.pinned] the node is not moved, and is reached shared.
        let this = unsafe { self.get_unchecked_mut() };
        let (message, waker) = match this.stage {
            Stage::Over => return None,
            Stage::Known => this.leave(|inside| (inside.message.take(), inside.waker.take())),
            // SAFETY: [letter.owner] it was never linked.
            Stage::Fresh => unsafe {
                let letter = this.node.value();
                letter.open(|inside| (inside.message.take(), None))
            },
        };
        if message.is_some() {
            this.stage = Stage::Over;
        }
        drop(waker);
        message
    }

    /// Takes the letter out of the list, if it is there, and looks into it, under the lock.
    fn leave<R>(&self, look: impl FnOnce(&mut Inside<T>) -> R) -> R {
        let node = NonNull::from(&self.node);
        self.table.with(|queue| {
            let unlink = |inside: &mut Inside<T>| {
                unlink_if_linked(queue, node, inside);
                look(inside)
            };
            // SAFETY: [letter.owner] the lock is held.
            unsafe { self.node.value().open(unlink) }
        })
    }
}

/// `inside` belongs to the node, which is one of this table's senders'.
fn unlink_if_linked<T>(
    queue: &mut Queue<'_, Meeting<T>>,
    node: NonNull<Node<Letter<T>>>,
    inside: &mut Inside<T>,
) {
    if std::mem::take(&mut inside.is_linked) {
        // SAFETY: [letter.pinned] linked, says the letter, which changes with the list.
        unsafe { meeting::unlink(queue, node) };
    }
}

/// What a send has to do after it was at the table.
#[must_use = "a verdict is the sender's next step"]
enum Verdict<T> {
    /// The message was received.
    Sent,
    /// The channel is closed.
    Refused(T),
    /// The letter is parked with a waker that wakes the caller.
    Parked,
    /// The letter is parked, but for the waker: clone one without the lock, and come again.
    NeedsWaker,
}

/// One visit of a sender to the table, during a poll.
struct Visit<'a, T> {
    node: &'a Node<Letter<T>>,
    waker: &'a Waker,
    /// A waker to leave here; afterwards one to drop without the lock.
    spare: &'a mut Option<Waker>,
    /// There is budget to end the send at once.
    may_hand: bool,
}

impl<T> Visit<'_, T> {
    fn make(self, table: &Table<T>) -> Verdict<T> {
        let letter = self.node.value();
        table.with(|queue| {
            let look = |inside: &mut Inside<T>| self.look(queue, inside);
            // SAFETY: [letter.owner] the lock is held; `look` touches this letter by `inside`.
            unsafe { letter.open(look) }
        })
    }

    fn look(self, queue: &mut Queue<'_, Meeting<T>>, inside: &mut Inside<T>) -> Verdict<T> {
        let node = NonNull::from(self.node);
        if inside.is_linked && !queue.is_closed() {
            return self.leave_waker(inside);
        }
        unlink_if_linked(queue, node, inside);
        let Some(message) = inside.message.take() else {
            // CLAIM: [meeting.once] whoever emptied it has the message.
            return Verdict::Sent;
        };
        if queue.is_closed() {
            if self.spare.is_none() {
                *self.spare = inside.waker.take();
            }
            return Verdict::Refused(message);
        }
        let message = if self.may_hand {
            match meeting::hand(queue, message) {
                Ok(()) => return Verdict::Sent,
                Err(message) => message,
            }
        } else {
            message
        };
        inside.message = Some(message);
        inside.is_linked = true;
        // SAFETY: [letter.pinned] the send is pinned, and looks for the node before it dies.
        unsafe { meeting::park(queue, node) };
        self.leave_waker(inside)
    }

    fn leave_waker(self, inside: &mut Inside<T>) -> Verdict<T> {
        let has_ours = |waker: &Waker| waker.will_wake(self.waker);
        if inside.waker.as_ref().is_some_and(has_ours) {
            return Verdict::Parked;
        }
        std::mem::swap(&mut inside.waker, self.spare);
        match inside.waker {
            Some(_) => Verdict::Parked,
            // The old one wakes the wrong task: better none until the new one is here.
            None => Verdict::NeedsWaker,
        }
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    /// # Panics
    ///
    /// With `MS0017` if it is polled after it was ready, or after [`take`](Self::take) gave the
    /// message back.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [letter.pinned] the node is not moved, and is reached shared.
        let this = unsafe { self.get_unchecked_mut() };
        let stage = this.stage;
        assert!(
            stage != Stage::Over,
            "MS0017: a `Send` was polled after its message was gone (docs/errors.md)"
        );
        let unit = budget::poll_proceed(cx);
        if unit.is_pending() && stage == Stage::Known {
            // It has its place, or more.
            return Poll::Pending;
        }
        let mut spare = (stage == Stage::Fresh).then(|| cx.waker().clone());
        // Before it is linked: a waker that panics leaves a send that looks for its letter.
        this.stage = Stage::Known;
        let verdict = loop {
            let visit = Visit {
                node: &this.node,
                waker: cx.waker(),
                spare: &mut spare,
                may_hand: unit.is_ready(),
            };
            match visit.make(this.table) {
                Verdict::NeedsWaker => spare = Some(cx.waker().clone()),
                verdict => break verdict,
            }
        };
        let result = match verdict {
            Verdict::Sent => Ok(()),
            Verdict::Refused(message) => Err(SendError(message)),
            Verdict::Parked | Verdict::NeedsWaker => {
                wait::note(WaitKind::Send, meeting::number(this.table));
                return Poll::Pending;
            }
        };
        this.stage = Stage::Over;
        if let Poll::Ready(unit) = unit {
            unit.spend();
        }
        Poll::Ready(result)
    }
}

impl<T> Drop for Send<'_, T> {
    fn drop(&mut self) {
        if self.stage == Stage::Known {
            // The message, if it is still there, is dropped after this and without the lock.
            self.leave(|_| ());
        }
    }
}

impl<T> fmt::Debug for Send<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send")
            .field("channel", &meeting::number(self.table))
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
