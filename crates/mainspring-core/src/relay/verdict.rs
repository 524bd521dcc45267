//! What the operations of a relay say to their callers.

use std::task::Waker;

/// What the caller of [`Relay::complete`](super::Relay::complete) owes.
#[derive(Debug)]
#[must_use = "a dropped verdict loses a wake or the value"]
pub enum OnComplete<T> {
    /// Queued; nobody waits.
    Queued,
    /// Queued. Wake the consumer, which was parked.
    Wake(Waker),
    /// No room: here is the value.
    Full(T),
    /// The consumer wants no more: here is the value.
    Closed(T),
}

/// What the caller of [`Relay::end`](super::Relay::end) owes.
#[derive(Debug)]
#[must_use = "a dropped verdict loses a wake"]
pub enum OnEnd {
    /// Nobody waits; the consumer will find the end behind the values.
    Ended,
    /// Wake the consumer, which was parked.
    Wake(Waker),
}

/// What [`Relay::try_take`](super::Relay::try_take) found.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a dropped verdict loses the value"]
pub enum OnTake<T> {
    /// The oldest value.
    Value(T),
    /// Nothing now.
    Empty,
    /// Nothing now or later: the producer ended, or the consumer closed.
    Ended,
}

/// What came of [`Relay::rearm`](super::Relay::rearm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "only an armed relay takes a new producer"]
pub enum OnRearm {
    /// The end was taken back; a new producer may begin.
    Armed,
    /// There was no end: the producer still exists.
    Live,
    /// The consumer had closed, which is for good.
    Closed,
}
