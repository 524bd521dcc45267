//! Time for tasks: precise when asked, cheap when not.
//!
//! | item | what it is |
//! |---|---|
//! | [`sleep`], [`sleep_until`] | a pause; core's, with `precise`, `slack` and `reset` |
//! | [`timeout()`], [`timeout_at`] | a limit on how long a future may take |
//! | [`interval()`], [`interval_at`] | ticks that do not drift |
//! | [`DelayQueue`] | values that come out when their time has come |
//! | [`TimerDriver`] | gives any [`Driver`](mainspring_core::driver::Driver) timers |
//! | [`clock`] | virtual time for tests |
//! | [`Wheel`] | the timing wheel as plain data: O(1) insert and cancel |
//! | [`Heap`] | core's indexed heap, which the precise timers use |
//!
//! # Alone or together
//!
//! The futures work on any executor. On a thread that drives a [`TimerDriver`] their timers lie in
//! that driver's wheel; elsewhere, core's one fallback thread serves them, as exactly as the
//! operating system does.
//!
//! # Two structures
//!
//! | | wheel | heap |
//! |---|---|---|
//! | for | the many, most of which are cancelled | the few that have to be precise |
//! | chosen by | default | [`Sleep::precise`] |
//! | late by less than | 65.5 µs ([`TICK_NS`]), a wake-up and a turn | a wake-up and a turn |
//! | arm and cancel | O(1) | O(log n) |
//! | ties | in no promised order | in the order of insertion |
//!
//! Neither is ever early. A sleep with [`Sleep::slack`] fires, within it, at a moment that others
//! are likely to share.
//!
//! The wheel knows no clock, no lock and no waker: it takes the time as an argument, so it serves
//! an event loop, a simulator or a cache as well as this crate's own driver.

pub mod clock;
mod delay_queue;
mod driver;
mod entries;
mod geometry;
mod interval;
mod judge;
mod level;
mod place;
mod shard;
mod store;
mod timeout;
mod turn;
mod wheel;

pub use self::delay_queue::{DelayQueue, Expired, Key, NextExpired};
pub use self::driver::TimerDriver;
pub use self::geometry::TICK_NS;
pub use self::interval::{Interval, MissedTick, NextTick, interval, interval_at};
pub use self::store::{Place, Slab, Store};
pub use self::timeout::{Elapsed, Timeout, timeout, timeout_at};
pub use self::wheel::{Progress, Wheel};
pub use mainspring_core::Heap;
pub use mainspring_core::time::{Sleep, sleep, sleep_until};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
