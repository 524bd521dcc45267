//! Tasks: their handles, their ends, and ways to spawn them.
//!
//! [`spawn`](fn@crate::spawn), [`spawn_local`](crate::spawn_local) and
//! [`spawn_blocking`](crate::spawn_blocking) stand at the root of the crate. What they return is
//! here, and the handles through which code spawns that is not inside a runtime: a
//! [`Handle`](crate::Handle) for either runtime, a [`Home`](crate::Home) for one thread, a
//! [`Spawner`] for any executor.
//!
//! A [`JoinSet`] joins many tasks as they end; a [`TaskBuilder`] names them;
//! [`task_local!`](crate::task_local!) gives each its own values.
//!
//! ```
//! use mainspring::{spawn_local, task};
//!
//! let sum = mainspring::block_on(async {
//!     let patient = spawn_local(std::future::pending::<()>());
//!     patient.abort();
//!     assert!(patient.await.is_err_and(|error| error.is_cancelled()));
//!     let task = spawn_local(async {
//!         task::yield_now().await; // after everybody else who is ready
//!         1 + 1
//!     });
//!     task.await
//! });
//! assert_eq!(sum.ok(), Some(2));
//! ```

#[doc(inline)]
pub use mainspring_core::blocking::{
    Blocking, BlockingError, BlockingTask, JobInfo, JobState, OnCancelJob,
};
#[doc(inline)]
pub use mainspring_core::spawn::{LocalSpawner, Overran, Spawner, current, current_local};
#[doc(inline)]
pub use mainspring_core::task::{
    AbortHandle, AbortOnDrop, JoinError, JoinHandle, TaskId, TaskInfo, TaskName, TaskState,
    Unobserved, UnobservedFailure, YieldNow, current_id, set_unobserved_failure_hook, yield_now,
};
#[doc(inline)]
pub use mainspring_core::wait::{WaitKind, WaitReason};
#[doc(inline)]
pub use mainspring_executor::{JoinSet, TaskBuilder, join_set};
