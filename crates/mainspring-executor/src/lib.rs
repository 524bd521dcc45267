//! Executors: what polls tasks, on any [`Driver`](mainspring_core::driver::Driver).
//!
//! | type | for |
//! |---|---|
//! | [`block_on()`] | one future on the current thread |
//! | [`Pool`] | tasks on several threads that take work from each other, over a driver each |
//! | [`Executor`] | tasks that borrow, on threads that you bring |
//! | [`LocalExecutor`] | tasks of one thread, `Send` or not, over any driver |
//! | [`Home`] | spawning on a [`LocalExecutor`] from other threads |
//! | [`JoinSet`] | tasks whose results are taken as they end, under any executor |
//! | [`TaskBuilder`] | tasks with names |
//! | [`task_local!`] | values that belong to a task |
//!
//! The crate knows what a driver is and not what is in one: alone it parks the thread, and timers
//! and sockets fall back to the family's background threads; with the reactor's and the timer's
//! driver inside, one thread does it all.
//!
//! ```
//! use mainspring_core::time::sleep;
//! use mainspring_executor::{LocalExecutor, spawn_local};
//! use std::time::Duration;
//!
//! let executor = LocalExecutor::new();
//! let sum = executor.block_on(async {
//!     let tasks: Vec<_> = (0..3u64)
//!         .map(|n| spawn_local(async move {
//!             sleep(Duration::from_millis(n)).await;
//!             n
//!         }))
//!         .collect();
//!     let mut sum = 0;
//!     for task in tasks {
//!         sum += task.await.unwrap_or(0);
//!     }
//!     sum
//! });
//! assert_eq!(sum, 3);
//! ```

mod block_on;
mod bound;
mod drive;
mod executor;
mod home;
pub mod join_set;
mod local;
mod outer_turn;
mod pace;
mod pool;
mod queue;
mod root;
mod shutdown;
mod spawn;
mod stall;
mod task_builder;
pub mod task_local;
mod worker;

pub use block_on::block_on;
pub use executor::Executor;
pub use home::Home;
pub use join_set::JoinSet;
pub use local::LocalExecutor;
pub use pool::{Metrics, Pool, PoolBuilder, PoolHandle, WorkerMetrics};
pub use shutdown::{ShutdownReport, ThreadInfo};
pub use spawn::{
    spawn, spawn_blocking, spawn_blocking_as, spawn_local, spawn_pinned, try_spawn, try_spawn_local,
};
pub use stall::StallReport;
pub use task_builder::TaskBuilder;
pub use worker::Step;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
