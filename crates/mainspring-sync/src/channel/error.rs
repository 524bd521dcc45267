//! Why a message could not be sent or received. A message that was not sent comes back.

use std::error::Error;
use std::fmt;

/// The channel is closed: no message will be taken, or none will come any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Closed;

impl Closed {
    /// Whether the same call may succeed later: no.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the channel is closed")
    }
}

impl Error for Closed {}

/// A message could not be sent because the channel is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> SendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Whether the same call may succeed later: no.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Closed.fmt(f)
    }
}

impl<T> Error for SendError<T> {}

/// Why a message could not be sent at once.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrySendError<T> {
    /// There is no room, or senders wait for it already.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }

    /// Whether there was no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Whether the channel is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_full()
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_full() {
            "Full(..)"
        } else {
            "Closed(..)"
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("the channel is full"),
            Self::Closed(_) => Closed.fmt(f),
        }
    }
}

impl<T> Error for TrySendError<T> {}

/// Why room could not be held at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryReserveError {
    /// There is no room, or senders wait for it already; or as many permits are out as there can
    /// be, which is 65,535, also where there is no bound.
    Full,
    /// The channel is closed.
    Closed,
}

impl TryReserveError {
    /// Whether there was no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }

    /// Whether the channel is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_full()
    }
}

impl fmt::Display for TryReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the channel is full, or all its permits are out"),
            Self::Closed => Closed.fmt(f),
        }
    }
}

impl Error for TryReserveError {}

/// Why a message could not be sent within a limit of time.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendTimeoutError<T> {
    /// The limit passed and there was no room.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }

    /// Whether the limit passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Whether the channel is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_timeout()
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_timeout() {
            "Timeout(..)"
        } else {
            "Closed(..)"
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(_) => f.write_str("the channel was full until the limit passed"),
            Self::Closed(_) => Closed.fmt(f),
        }
    }
}

impl<T> Error for SendTimeoutError<T> {}

/// Why there is no message at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryRecvError {
    /// There is none now, but one may come: somebody can send, or holds a permit.
    Empty,
    /// There is none, and none will come.
    Closed,
}

impl TryRecvError {
    /// Whether there is none now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }

    /// Whether none will come.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_empty()
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the channel is empty"),
            Self::Closed => Closed.fmt(f),
        }
    }
}

impl Error for TryRecvError {}

/// Why no message came within a limit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecvTimeoutError {
    /// The limit passed and there was no message.
    Timeout,
    /// There is none, and none will come.
    Closed,
}

impl RecvTimeoutError {
    /// Whether the limit passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        *self == Self::Timeout
    }

    /// Whether none will come.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_timeout()
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the channel was empty until the limit passed"),
            Self::Closed => Closed.fmt(f),
        }
    }
}

impl Error for RecvTimeoutError {}
