//! What the transitions of the index words answer.

use super::Tail;
use crate::channel::shape::{Position, Widths};
use crate::channel::words::Head;

/// Whose turn it is to ask for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Anybody's: if a sender waits, it goes first.
    Newcomer,
    /// That of the senders' queue, whose lock the caller holds.
    Queued,
}

/// Why nobody need look for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The channel is closed.
    Closed,
    /// A sender waits, or did: go through the senders' queue.
    Queue,
}

/// Whether there is room, by the words.
pub(crate) enum Room<W: Widths> {
    /// None.
    Full,
    /// There is some; where the slots say otherwise, a message is still being read out.
    Free,
    /// The word has changed meanwhile: begin again with this one.
    Changed(Tail<W>),
}

/// A position that is the caller's to write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a claimed position that is never written blocks every receiver"]
pub(crate) struct Claimed {
    pub(crate) position: Position,
    pub(crate) told: Told,
}

/// Who is to be woken, when the message is written or the permit is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a receiver that is not told sleeps for ever"]
pub(crate) enum Told {
    Nobody,
    /// One receiver: there is a message.
    Receiver,
    /// All receivers: there is a message, or none will come any more.
    Receivers,
}

/// What became of a request for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a permit that is held and forgotten is room that is lost"]
pub(crate) enum Reserve {
    Held,
    /// No room.
    Full,
    /// There is room, but a receiver is still reading the message that was there.
    Busy,
    Closed,
    /// Go through the senders' queue.
    Queue,
}

/// What became of a permit that was to be turned into a claim.
#[must_use = "a claimed position that is never written blocks every receiver"]
pub(crate) enum Redeem {
    Claimed(Claimed),
    /// No receiver is left; the permit is given up.
    Gone,
}

/// What a permit that was given back asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "whoever waits for the permit's room, or for the end, is to be told"]
pub(crate) struct Freed {
    pub(crate) senders_wait: bool,
    pub(crate) told: Told,
}

/// A message that is the caller's to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a message that is taken has to be read out"]
pub(crate) struct Taken {
    pub(crate) position: Position,
    pub(crate) senders_wait: bool,
}

/// Why nothing is there to be taken.
pub(crate) enum Vacancy<W: Widths> {
    /// No message.
    Empty,
    /// No message, and none will come.
    Closed,
    /// The oldest message is claimed and not yet written.
    Busy,
    /// The word has changed meanwhile: begin again with this one.
    Changed(Head<W>),
}

/// Whether this call closed the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "whoever closes it wakes those who wait"]
pub(crate) enum Closing {
    First,
    Again,
}

/// Whether one that noted that it waits may do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "one that waits in vain is never woken"]
pub(crate) enum OnPark {
    Wait,
    /// Something has changed: look again.
    Look,
}
