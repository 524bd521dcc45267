//! Time: nanoseconds since one origin inside, [`std::time::Instant`] at the edge.
//!
//! [`now`] reads the current clock, [`coarse`] the clock of the worker's turn, [`sleep()`] waits. A
//! [`Sleep`] registers with the current [`Timers`]: a worker's wheel, or, where no worker of ours
//! runs, one fallback thread of the process.
//!
//! ```
//! use mainspring_core::time::{Deadline, Nanos, now, sleep};
//! use std::time::{Duration, Instant};
//!
//! let deadline = Deadline::after(Duration::from_millis(5));
//! assert!(deadline.remaining(now()) <= Duration::from_millis(5));
//!
//! // The edge: instants convert to and from the process-wide scale, saturating.
//! let start = Instant::now();
//! assert_eq!(Nanos::from_instant(start).to_instant(), Some(start));
//! let _nap = sleep(Duration::from_millis(1)); // costs nothing until it is polled
//! ```

mod clock;
mod deadline;
mod domain;
mod entry;
mod fallback;
mod nanos;
mod sleep;

pub use self::clock::{
    Clock, FastClock, ManualClock, SystemClock, TurnClock, anchor, coarse, enter_clock, now,
};
pub use self::deadline::Deadline;
pub use self::domain::Domain;
pub use self::entry::{
    EntryRef, OnDeregister, OnFire, OnRegister, OnReset, OnRewake, Phase, TimerClass, TimerEntry,
    Timers, TimersRef, current_timers, enter_timers,
};
pub use self::nanos::Nanos;
pub(crate) use self::nanos::duration_ns;
pub use self::sleep::{Sleep, sleep, sleep_until};
