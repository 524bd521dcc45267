//! How a runtime ends, and how its tasks hear of it.
//!
//! [`Runtime::shutdown`](crate::Runtime::shutdown), like
//! [`LocalRuntime::shutdown`](crate::LocalRuntime::shutdown), asks every task to end, gives them
//! time, drops the rest, and returns a [`ShutdownReport`] of who that was. A task that wants to end
//! well waits for [`signal`] beside its work.
//!
//! A [`Controller`] of a program's own is the same signal for another purpose, such as "stop
//! accepting": any thread may request it, any task wait for it.
//!
//! ```
//! use mainspring::{LocalRuntime, shutdown};
//! use std::time::Duration;
//!
//! let runtime = LocalRuntime::new()?;
//! let farewell = runtime.spawn_local(async {
//!     shutdown::signal().requested().await;
//!     "bye"
//! });
//! let report = runtime.shutdown(Duration::from_secs(1));
//! assert!(report.is_clean(), "{report}");
//! assert_eq!(runtime.block_on(farewell).ok(), Some("bye"));
//! # Ok::<(), std::io::Error>(())
//! ```

#[doc(inline)]
pub use mainspring_core::shutdown::{Controller, Requested, Signal, signal};
#[doc(inline)]
pub use mainspring_executor::{ShutdownReport, ThreadInfo};
