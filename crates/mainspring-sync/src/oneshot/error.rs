//! Why nothing was received.

use std::error::Error;
use std::fmt;

/// The sender was dropped without sending, or there is nothing left to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl RecvError {
    /// Never: no value will come.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        false
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sender has gone and no value will come")
    }
}

impl Error for RecvError {}

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) received nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing was sent yet.
    Empty,
    /// The sender was dropped without sending, or there is nothing left to receive.
    Closed,
}

impl TryRecvError {
    /// Whether a later attempt may succeed.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether nothing was sent yet.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether nothing will come.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no value has been sent yet"),
            Self::Closed => RecvError.fmt(f),
        }
    }
}

impl Error for TryRecvError {}

/// Why [`Receiver::recv_timeout`](super::Receiver::recv_timeout) received nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The limit has passed, and nothing was sent yet.
    Timeout,
    /// The sender was dropped without sending, or there is nothing left to receive.
    Closed,
}

impl RecvTimeoutError {
    /// Whether a later attempt may succeed.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Timeout)
    }

    /// Whether the limit has passed.
    #[must_use]
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout)
    }

    /// Whether nothing will come.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("no value was sent in time"),
            Self::Closed => RecvError.fmt(f),
        }
    }
}

impl Error for RecvTimeoutError {}
