//! Stopping work, in two phases, with nothing lost.
//!
//! | item | what it is |
//! |---|---|
//! | [`CancelToken`] | tells a tree of work to stop, why, and knows when it has |
//! | [`Reason`] | what cancelled it, with a message and the place in the code |
//! | [`Hold`] | keeps a token from being done until it is released |
//! | [`Registration`] | a callback that is called by whoever cancels |
//! | [`TaskTracker`] | waits for tasks whose results nobody wants |
//! | [`select2`] | the first of two futures that lose nothing when they are dropped |
//! | [`join2`], [`try_join2`] | both of two futures, in one task |
//!
//! # Under any executor, and without one
//!
//! Nothing here needs a runtime. A token is cancelled from any task, thread or callback, and waited
//! for in tasks of this family's executors, of tokio's, of smol's. Deadlines use the timers that
//! are current, else the one fallback thread of `mainspring-core`.
//!
//! # Telling, and waiting for the end
//!
//! ```
//! use mainspring_cancel::{CancelToken, Reason};
//! use std::thread;
//!
//! let work = CancelToken::new();
//! let worker = {
//!     let hold = work.hold().expect("nobody has cancelled it");
//!     thread::spawn(move || {
//!         while !hold.token().is_cancelled() {
//!             // … a piece of work …
//!             thread::yield_now();
//!         }
//!         // … put things in order; dropping the hold says that it is done
//!     })
//! };
//! work.cancel(Reason::custom("no longer needed"));
//! # worker.join().unwrap();
//! # use std::{future::Future, pin::pin, task::{Context, Waker}};
//! # let mut drained = pin!(work.drained());
//! # assert!(drained.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
//! ```
//!
//! A task would then say `work.drained().await`, or
//! [`drained_within`](CancelToken::drained_within), which names what is still held.

mod join;
mod reason;
mod select;
mod token;
mod tracker;

pub use self::join::{Join2, TryJoin2, join2, try_join2};
pub use self::reason::{Reason, What};
pub use self::select::{Either, Select2, select2};
pub use self::token::guard::DropGuard;
pub use self::token::hold::{Drained, Hold};
pub use self::token::register::{OnCancel, Registration, Unregistered, WaitForIt};
pub use self::token::report::{CancelReport, ContainedPanic, NotDrained};
pub use self::token::until::{Cancelled, RunUntilCancelled};
pub use self::token::wait::{WaitCancelled, WaitCancelledOwned, WaitDrained};
pub use self::token::{CancelToken, Phase};
pub use self::tracker::{TaskTracker, TrackedFuture, TrackerToken, WaitTasks};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
