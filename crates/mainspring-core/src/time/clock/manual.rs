//! The clock that stands still.

use super::Clock;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::time::{Nanos, duration_ns};
use std::fmt;
use std::time::Duration;

/// A clock that says what it was told, for tests and simulators.
///
/// Clones show the same time. It may be set back, which is how one tests code against clocks that
/// misbehave. Its accesses order nothing else between threads.
///
/// ```
/// use mainspring_core::time::{Clock, ManualClock, Nanos};
/// use std::time::Duration;
///
/// let clock = ManualClock::new(Nanos(100));
/// clock.advance(Duration::from_nanos(1));
/// clock.set(Nanos(40));
/// assert_eq!(clock.now(), Nanos(40));
/// ```
#[derive(Clone)]
pub struct ManualClock {
    now_ns: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that shows `now`. One allocation.
    #[must_use]
    pub fn new(now: Nanos) -> Self {
        Self {
            now_ns: Arc::new(AtomicU64::new(now.0)),
        }
    }

    /// Shows `now` from here on, earlier or later than before.
    pub fn set(&self, now: Nanos) {
        self.now_ns.swap(now.0, Relaxed);
    }

    /// Goes forward by `duration`, to [`Nanos::MAX`] at most, and returns the new time.
    pub fn advance(&self, duration: Duration) -> Nanos {
        let step = duration_ns(duration);
        let mut before = self.now_ns.load(Relaxed);
        loop {
            let after = before.saturating_add(step);
            match self
                .now_ns
                .compare_exchange(before, after, Relaxed, Relaxed)
            {
                Ok(_) => return Nanos(after),
                Err(found) => before = found,
            }
        }
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        Nanos(self.now_ns.load(Relaxed))
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.now()).finish()
    }
}
