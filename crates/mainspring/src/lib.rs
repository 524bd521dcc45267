//! An async runtime that can be taken apart; this crate is the whole of it, put together.
//!
//! | item | what it is |
//! |---|---|
//! | [`Runtime`] | tasks, timers and sockets on several threads, which take work from each other |
//! | [`LocalRuntime`] | the same on one thread |
//! | [`Handle`] | either of them, from any thread |
//! | [`block_on`] | one future and what it spawns, on this thread, for once |
//! | [`spawn()`], [`spawn_local`], [`spawn_pinned`] | a task, a task here, a task on that worker |
//! | [`spawn_blocking`] | a job that blocks |
//! | [`task`] | join handles, yielding, spawners |
//! | [`spawn_local`], [`spawn()`], [`spawn_blocking`] | a task here, a task, a job that blocks |
//! | [`task`] | join handles, sets of tasks, names, yielding, spawners |
//! | [`task_local!`] | values that belong to a task |
//! | [`time`] | sleeps, timeouts, intervals, delay queues, paused time |
//! | [`net`] | TCP |
//! | [`sync`] | channels, locks, permits |
//! | [`cancel`] | tokens that stop a tree of work, and know when it has stopped |
//! | [`buf`] | buffers that go in and come back, or are lent |
//! | [`shutdown`] | how a runtime ends, and how tasks hear of it |
//! | [`Backend`] | what serves the sockets, and why that |
//! | [`compat`] | hyper on this runtime |
//!
//! No algorithm lives here: the runtime is put together from `mainspring-executor`,
//! `mainspring-timer` and `mainspring-reactor`, which are useful alone and meet in
//! `mainspring-core`.
//!
//! # Two runtimes, one interface
//!
//! A [`Runtime`] has a thread for each core, each with a reactor and timers of its own; tasks move
//! to whoever is free. A [`LocalRuntime`] is the calling thread and nothing else; its futures need
//! not be `Send`. Code that spawns with [`spawn()`] runs on both.
//!
//! Both wait for their sockets, their timers and wakes from other threads in one place: there is
//! no thread that does nothing but I/O. [`spawn_blocking`] and name look-ups use the process's
//! blocking pool.
//!
//! ```no_run
//! use mainspring::net::TcpListener;
//!
//! # #[cfg(feature = "macros")]
//! #[mainspring::main]
//! async fn main() -> std::io::Result<()> {
//!     let serve = mainspring::spawn(async {
//!         let listener = TcpListener::bind("127.0.0.1:7000".parse().unwrap())?;
//!         loop {
//!             let (mut stream, peer) = listener.accept().await?;
//!             mainspring::spawn(async move {
//!                 stream.write_all(format!("hello, {peer}\n").as_bytes()).await
//!             })
//!             .detach();
//!         }
//!     });
//!     serve.await.expect("no panic")
//! }
//! # #[cfg(not(feature = "macros"))]
//! # fn main() {}
//! ```

pub mod cancel;
pub mod compat;
pub mod net;
mod runtime;
pub mod shutdown;
mod spawn;
pub mod sync;
pub mod task;
pub mod time;

#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private;
#[cfg(feature = "macros")]
mod macros;

#[cfg(feature = "macros")]
pub use self::macros::{main, test};

pub use self::runtime::{Handle, LocalBuilder, LocalRuntime, Runtime, RuntimeBuilder, block_on};
pub use self::spawn::{spawn, spawn_pinned};
#[doc(inline)]
pub use mainspring_core::context::Entered;
#[doc(inline)]
pub use mainspring_core::task::yield_now;
#[doc(inline)]
pub use mainspring_core::{AssertCancelSafe, CancelSafe, assert_cancel_safe};
#[doc(inline)]
pub use mainspring_executor::{
    Home, Metrics, StallReport, Step, WorkerMetrics, spawn_blocking, spawn_blocking_as,
    spawn_local, task_local, try_spawn, try_spawn_local,
};
#[doc(inline)]
pub use mainspring_reactor::{
    Backend, Explanation, ReactorError, RingRefusal, UnknownBackend, buf,
};

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../README.md")]
struct Readme;
