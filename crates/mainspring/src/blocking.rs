//! The door to the blocking pool.

use mainspring_core::blocking::{self, Blocking, BlockingTask};

/// Runs `work`, which blocks, on a thread of the blocking pool, and resolves to what it returns.
///
/// For files, and for libraries without asynchronous calls. For long computations and for what may
/// hang for ever, [`spawn_blocking_as`] has lanes of their own. Not for work that never ends: start
/// a thread. Works outside a runtime, too.
///
/// # Cancel safety
///
/// *Loses value*: dropped while the job is queued, the job never runs; dropped while it runs, it
/// runs to its end and the result is discarded. `detach` lets it run in any case.
///
/// # Guarantees
///
/// The job is queued at once, before the first poll. A panic in it is the result of this future and
/// takes no thread down. The shutdown of the runtime that it was started in waits for it.
///
/// Two allocations.
///
/// ```
/// let sum = mainspring::block_on(async {
///     mainspring::spawn_blocking(|| (1..=10).sum::<u32>()).await
/// });
/// assert!(matches!(sum, Ok(55)));
/// ```
#[track_caller]
pub fn spawn_blocking<T, F>(work: F) -> BlockingTask<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    blocking::run(Blocking::Syscall, work)
}

/// As [`spawn_blocking`], in the lane of `class`: computations have as many threads as there are
/// processors, and no shutdown waits for what may be abandoned.
///
/// # Cancel safety
///
/// *Loses value*: as [`spawn_blocking`].
///
/// ```
/// use mainspring::task::Blocking;
///
/// let prime = mainspring::block_on(async {
///     mainspring::spawn_blocking_as(Blocking::Compute, || (2..97).all(|n| 97 % n != 0)).await
/// });
/// assert!(matches!(prime, Ok(true)));
/// ```
#[track_caller]
pub fn spawn_blocking_as<T, F>(class: Blocking, work: F) -> BlockingTask<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    blocking::run(class, work)
}
