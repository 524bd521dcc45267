//! Spawning with more than a future.

use crate::spawn::outside;
use mainspring_core::spawn::{self, LocalSpawner, Spawner};
use mainspring_core::task::{JoinHandle, Options, TaskName};
use std::future::Future;

/// Spawns tasks with a name, on whatever executor is current, or on a given one.
///
/// The name is in what the task is shown with: its [`TaskInfo`], its [`JoinError`], the report of
/// a panic that nobody reads. A named task is 24 bytes larger; one without a name pays nothing, so
/// there is no need of a builder where the place of the spawn says enough.
///
/// [`TaskInfo`]: mainspring_core::task::TaskInfo
/// [`JoinError`]: mainspring_core::task::JoinError
///
/// ```
/// use mainspring_executor::{LocalExecutor, TaskBuilder};
/// use std::future::pending;
///
/// let executor = LocalExecutor::new();
/// executor.block_on(async {
///     let patient = TaskBuilder::new().name("patient").spawn_local(pending::<()>());
///     patient.abort();
///     let error = patient.await.unwrap_err();
///     assert!(error.to_string().contains("\"patient\""));
/// });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder spawns nothing by itself"]
pub struct TaskBuilder {
    options: Options,
}

impl TaskBuilder {
    /// A builder of tasks without a name.
    pub const fn new() -> Self {
        Self {
            options: Options::new(),
        }
    }

    /// Names the task. A literal costs nothing, a `String` is copied once.
    pub fn name(self, name: impl Into<TaskName>) -> Self {
        Self {
            options: self.options.name(name),
        }
    }

    /// Spawns a task on the executor that runs this thread. Dropping the handle detaches it.
    ///
    /// # Panics
    ///
    /// With `MS0001` where none is current; see [`try_spawn`](Self::try_spawn).
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.try_spawn(future) {
            Ok(handle) => handle,
            Err(_) => outside("spawn"),
        }
    }

    /// Spawns a task on the executor that runs this thread, if one does.
    ///
    /// # Errors
    ///
    /// The future, where none is current.
    #[track_caller]
    pub fn try_spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>, F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match spawn::look() {
            Some(spawner) => Ok(self.spawn_on(&spawner, future)),
            None => Err(future),
        }
    }

    /// Spawns a task on the executor of `spawner`, from any thread.
    #[track_caller]
    pub fn spawn_on<F>(self, spawner: &Spawner, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawner.spawn_with(future, self.options)
    }

    /// Spawns a task that stays on this thread, on the executor that runs it.
    ///
    /// # Panics
    ///
    /// With `MS0001` where no executor with local tasks is running; see
    /// [`try_spawn_local`](Self::try_spawn_local).
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match self.try_spawn_local(future) {
            Ok(handle) => handle,
            Err(_) => outside("spawn_local"),
        }
    }

    /// Spawns a task that stays on this thread, if an executor with local tasks is running here.
    ///
    /// # Errors
    ///
    /// The future, where none is.
    #[track_caller]
    pub fn try_spawn_local<F>(self, future: F) -> Result<JoinHandle<F::Output>, F>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match spawn::current_local() {
            Some(spawner) => Ok(self.spawn_local_on(&spawner, future)),
            None => Err(future),
        }
    }

    /// Spawns a task that stays on this thread, on the executor of `spawner`.
    #[track_caller]
    pub fn spawn_local_on<F>(self, spawner: &LocalSpawner, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawner.spawn_local_with(future, self.options)
    }
}

#[cfg(all(test, not(mainspring_loom)))]
mod tests;
