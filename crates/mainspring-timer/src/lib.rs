//! Time for tasks: exact when asked, cheap when not.
//!
//! | item | what it is |
//! |---|---|
//! | [`Wheel`] | a timing wheel over 64-bit nanoseconds, as plain data: O(1) insert and cancel |
//!
//! The wheel knows no clock, no lock and no waker: it takes the time as an argument, so it serves
//! an event loop, a simulator or a cache as well as this crate's own driver.
//!
//! # Granularity
//!
//! The wheel counts in ticks of 65 536 ns ([`TICK_NS`]). A deadline is rounded up to a tick: an
//! entry never fires early, and at most one tick late.

pub mod clock;
mod delay_queue;
mod driver;
mod entries;
mod geometry;
mod interval;
mod level;
mod shard;
mod store;
mod timeout;
mod turn;
mod wheel;

pub use self::delay_queue::{DelayQueue, Expired, Key};
pub use self::driver::TimerDriver;
pub use self::geometry::TICK_NS;
pub use self::interval::{Interval, MissedTick, interval, interval_at};
pub use self::store::{Place, Slab, Store};
pub use self::timeout::{Elapsed, Timeout, timeout, timeout_at};
pub use self::wheel::{Progress, Wheel};
pub use mainspring_core::Heap;
pub use mainspring_core::time::{Sleep, sleep, sleep_until};
