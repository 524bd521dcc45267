//! Why there were no permits.

use std::error::Error;
use std::fmt;

/// Why an `acquire` of a [`Semaphore`](super::Semaphore) ended without a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The semaphore was closed; nobody will ever get a permit again.
    Closed,
    /// More permits were asked for than the semaphore ever had.
    TooLarge {
        /// How many were asked for.
        asked: usize,
        /// The largest capacity so far.
        capacity: usize,
    },
}

impl AcquireError {
    /// Whether the semaphore was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether the request was larger than the semaphore.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    /// Whether the same call can succeed later without anybody doing something about it: never.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the semaphore is closed"),
            Self::TooLarge { asked, capacity } => write!(
                f,
                "{asked} permits were asked for, and the semaphore never had more than {capacity}"
            ),
        }
    }
}

impl Error for AcquireError {}

/// Why a `try_acquire` or `acquire_timeout` of a [`Semaphore`](super::Semaphore) got no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryAcquireError {
    /// Not now, or not in time: too few are free, or those that wait have to be served first.
    NoPermits,
    /// The semaphore was closed; nobody will ever get a permit again.
    Closed,
    /// More permits were asked for than the semaphore ever had.
    TooLarge {
        /// How many were asked for.
        asked: usize,
        /// The largest capacity so far.
        capacity: usize,
    },
}

impl TryAcquireError {
    /// Whether the semaphore was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether the request was larger than the semaphore.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    /// Whether the same call can succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::NoPermits)
    }
}

impl From<AcquireError> for TryAcquireError {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Closed => Self::Closed,
            AcquireError::TooLarge { asked, capacity } => Self::TooLarge { asked, capacity },
        }
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoPermits => f.write_str("no permits are free for this request"),
            Self::Closed => AcquireError::Closed.fmt(f),
            Self::TooLarge { asked, capacity } => AcquireError::TooLarge { asked, capacity }.fmt(f),
        }
    }
}

impl Error for TryAcquireError {}

/// A semaphore cannot have so many permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    more: usize,
    capacity: usize,
}

impl TooMany {
    pub(super) const fn new(more: usize, capacity: usize) -> Self {
        Self { more, capacity }
    }

    /// Whether the same call can succeed later: only if permits are forgotten before.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} permits on top of {} are more than a semaphore can have ({})",
            self.more,
            self.capacity,
            super::Semaphore::MAX_PERMITS
        )
    }
}

impl Error for TooMany {}
