//! What sending and receiving answer when they cannot.

use super::log::Refusal;
use std::error::Error;
use std::fmt;

/// Why a message was not sent; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<T> {
    /// The channel was closed, for good.
    Closed(T),
    /// There is no receiver. Sending works again when somebody subscribes.
    NoReceivers(T),
}

impl<T> SendError<T> {
    pub(super) fn new(value: T, why: Refusal) -> Self {
        match why {
            Refusal::Closed => Self::Closed(value),
            Refusal::NoReceivers => Self::NoReceivers(value),
            Refusal::Full => unreachable!("a send that waits, or never waits, is not told Full"),
        }
    }

    /// Whether the channel was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Whether a later attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::NoReceivers(_))
    }

    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Closed(value) | Self::NoReceivers(value) => value,
        }
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed(_) => "Closed(..)",
            Self::NoReceivers(_) => "NoReceivers(..)",
        })
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed(_) => "the channel is closed",
            Self::NoReceivers(_) => "there is no receiver",
        })
    }
}

impl<T> Error for SendError<T> {}

/// Why a message was not sent at once, or not in time; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrySendError<T> {
    /// A receiver holds the senders back, or others wait for room already.
    Full(T),
    /// The channel was closed, for good.
    Closed(T),
    /// There is no receiver. Sending works again when somebody subscribes.
    NoReceivers(T),
}

impl<T> TrySendError<T> {
    pub(super) fn new(value: T, why: Refusal) -> Self {
        match why {
            Refusal::Closed => Self::Closed(value),
            Refusal::NoReceivers => Self::NoReceivers(value),
            Refusal::Full => Self::Full(value),
        }
    }

    /// Whether there was no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Whether the channel was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Whether a later attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        !self.is_closed()
    }

    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) | Self::NoReceivers(value) => value,
        }
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        match error {
            SendError::Closed(value) => Self::Closed(value),
            SendError::NoReceivers(value) => Self::NoReceivers(value),
        }
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
            Self::NoReceivers(_) => "NoReceivers(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the channel is full",
            Self::Closed(_) => "the channel is closed",
            Self::NoReceivers(_) => "there is no receiver",
        })
    }
}

impl<T> Error for TrySendError<T> {}

/// What a receiver is told instead of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecvError {
    /// The receiver was overtaken, and this many messages were lost to it. It goes on at the oldest
    /// that is kept.
    Lagged(u64),
    /// The receiver was too slow, and its policy is to be disconnected for that. For good.
    Disconnected,
    /// The channel was closed, and everything was received. For good.
    Closed,
}

impl RecvError {
    /// Whether messages were lost and the next one can be received.
    #[must_use]
    pub fn is_lagged(&self) -> bool {
        matches!(self, Self::Lagged(_))
    }

    /// Whether the receiver was disconnected.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected)
    }

    /// Whether the channel was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether a later attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_lagged()
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TryRecvError::from(*self).fmt(f)
    }
}

impl Error for RecvError {}

/// What a receiver that does not wait, or not for ever, is told instead of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryRecvError {
    /// There is nothing yet.
    Empty,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
    /// As [`RecvError::Disconnected`].
    Disconnected,
    /// As [`RecvError::Closed`].
    Closed,
}

impl TryRecvError {
    /// Whether there was nothing yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether messages were lost and the next one can be received.
    #[must_use]
    pub fn is_lagged(&self) -> bool {
        matches!(self, Self::Lagged(_))
    }

    /// Whether the receiver was disconnected.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected)
    }

    /// Whether the channel was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether a later attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_empty() || self.is_lagged()
    }
}

impl From<RecvError> for TryRecvError {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Lagged(lost) => Self::Lagged(lost),
            RecvError::Disconnected => Self::Disconnected,
            RecvError::Closed => Self::Closed,
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no message yet"),
            Self::Lagged(lost) => write!(f, "the receiver was overtaken and lost {lost} messages"),
            Self::Disconnected => f.write_str("the receiver was disconnected for being slow"),
            Self::Closed => f.write_str("the channel is closed"),
        }
    }
}

impl Error for TryRecvError {}
