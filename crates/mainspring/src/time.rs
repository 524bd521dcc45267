//! Time: pauses, limits, ticks, and a clock that tests can stop.
//!
//! | item | what it is |
//! |---|---|
//! | [`sleep`], [`sleep_until`] | a pause |
//! | [`timeout`], [`timeout_at`] | a limit on how long a future may take |
//! | [`interval`], [`interval_at`] | ticks that do not drift |
//! | [`DelayQueue`] | values that come out when their time has come |
//! | [`Deadline`] | a limit that several steps share |
//! | [`clock`] | pause the clock of a test, and let it jump |
//!
//! Never early; on an idle runtime late by less than a tick of 65.5 µs and what waking the thread
//! takes, or, with [`Sleep::precise`], by the latter alone. Used where no runtime is running, a
//! sleep is served by one background thread. A sleep belongs to the thread of the runtime that it
//! was first polled on, and may be awaited, reset and dropped on any. While a one-thread runtime is
//! not running (inside `block_on`, `tick` or `shutdown`), nobody serves its sleeps, and a wait on
//! one of them from elsewhere does not end.
//!
//! ```
//! use mainspring::time::{Elapsed, sleep, timeout};
//! use std::time::Duration;
//!
//! let late = mainspring::block_on(async {
//!     timeout(Duration::from_millis(1), sleep(Duration::from_secs(60))).await
//! });
//! assert_eq!(late, Err(Elapsed));
//! ```

#[doc(inline)]
pub use mainspring_core::time::{Deadline, Nanos, now};
#[doc(inline)]
pub use mainspring_timer::{
    DelayQueue, Elapsed, Expired, Interval, Key, MissedTick, Sleep, Timeout, clock, interval,
    interval_at, sleep, sleep_until, timeout, timeout_at,
};
