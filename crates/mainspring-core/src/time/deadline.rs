//! One type of deadline, which travels through scopes, limiters and channels.

use super::{Nanos, clock};
use std::fmt;
use std::time::{Duration, Instant};

/// A moment until which something may take, or never.
///
/// Arithmetic saturates: a deadline too far away to be expressed is [`never`](Self::never), one in
/// the distant past has simply passed.
///
/// ```
/// use mainspring_core::time::{Deadline, now};
/// use std::time::Duration;
///
/// let request = Deadline::after(Duration::from_secs(2));
/// let attempt = Deadline::after(Duration::from_millis(300)).earliest(request);
/// assert!(attempt < request);
/// assert!(attempt.remaining(now()) <= Duration::from_millis(300));
/// assert!(Deadline::after(Duration::MAX).is_never());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(Nanos);

impl Deadline {
    /// The deadline that never comes.
    #[must_use]
    pub const fn never() -> Self {
        Self(Nanos::MAX)
    }

    /// `duration` from now on, by the current clock.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        Self(clock::now().saturating_add(duration))
    }

    /// The given instant.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self(Nanos::from_instant(instant))
    }

    /// The given moment on the process-wide scale.
    #[must_use]
    pub const fn from_nanos(moment: Nanos) -> Self {
        Self(moment)
    }

    /// The earlier of the two.
    #[must_use]
    pub fn earliest(self, other: Self) -> Self {
        self.min(other)
    }

    /// The time left at `now`: zero once it has passed, [`Duration::MAX`] if it never comes.
    #[must_use]
    pub const fn remaining(self, now: Nanos) -> Duration {
        if self.is_never() {
            Duration::MAX
        } else {
            self.0.since(now)
        }
    }

    /// Whether it has come at `now`.
    #[must_use]
    pub const fn has_passed(self, now: Nanos) -> bool {
        !self.is_never() && self.0.0 <= now.0
    }

    /// Whether it never comes.
    #[must_use]
    pub const fn is_never(self) -> bool {
        self.0.0 == u64::MAX
    }

    /// The moment on the process-wide scale; [`Nanos::MAX`] if it never comes.
    #[must_use]
    pub const fn nanos(self) -> Nanos {
        self.0
    }

    /// The moment as an instant; `None` if it never comes or the platform cannot express it.
    #[must_use]
    pub fn instant(self) -> Option<Instant> {
        (!self.is_never()).then(|| self.0.to_instant())?
    }
}

impl Default for Deadline {
    fn default() -> Self {
        Self::never()
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Self {
        Self::at(instant)
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            f.write_str("Deadline(never)")
        } else {
            f.debug_tuple("Deadline").field(&self.0).finish()
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
