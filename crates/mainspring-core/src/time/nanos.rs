//! A moment, as nanoseconds since the process-wide origin.

use std::fmt;
use std::time::Duration;

/// A moment: nanoseconds since one origin, which is the same for the whole process.
///
/// 64 bits of nanoseconds last 584 years. All arithmetic saturates: a deadline that cannot be
/// represented is [`Nanos::MAX`], which never comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The moment that never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// The moment `duration` later, or [`Nanos::MAX`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration_ns(duration)))
    }

    /// The moment `duration` earlier, or [`Nanos::ZERO`].
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration_ns(duration)))
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A duration in nanoseconds, saturating: 584 years and more are one number.
#[inline]
#[must_use]
pub(crate) const fn duration_ns(duration: Duration) -> u64 {
    let ns = duration.as_nanos();
    if ns > u64::MAX as u128 {
        u64::MAX
    } else {
        ns as u64
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}
