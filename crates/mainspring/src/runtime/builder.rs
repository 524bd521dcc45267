//! How a runtime of several threads is made.

use super::Runtime;
use crate::shutdown::ShutdownReport;
use mainspring_core::driver::Driver;
use mainspring_core::sync::Mutex;
use mainspring_executor::{Pool, PoolBuilder, StallReport};
use mainspring_reactor::{Backend, Explanation, Reactor};
use mainspring_timer::TimerDriver;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What a [`Runtime`] is to be like. Made by [`Runtime::builder`].
///
/// ```
/// use mainspring::{Backend, Runtime};
///
/// let runtime = Runtime::builder().workers(2).backend(Backend::Poll).name("intake").build()?;
/// assert_eq!((runtime.workers(), runtime.backend()), (2, Backend::Poll));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct RuntimeBuilder {
    workers: Option<usize>,
    backend: Backend,
    pool: PoolBuilder,
}

impl RuntimeBuilder {
    pub(super) fn new() -> Self {
        Self {
            workers: None,
            backend: Backend::Auto,
            pool: Pool::builder().name("mainspring"),
        }
    }

    /// How many workers there are, a thread each. Unless told otherwise, as many as the process
    /// may use cores at once.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Which backend is to serve the sockets; [`Backend::Auto`] unless told otherwise.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// What the runtime is called in logs and in the names of its threads, `NAME-0` and so on.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.pool = self.pool.name(name);
        self
    }

    /// How many reads, sends and the like one poll may complete before it is asked to let others
    /// run; 128 unless told otherwise.
    ///
    /// It bounds how long a task whose sockets and channels never run dry keeps the others waiting.
    /// Fewer shorten that, and cost more polls for the same work.
    pub fn budget(mut self, units: u32) -> Self {
        self.pool = self.pool.budget(units);
        self
    }

    /// How long a poll may take before its worker counts as stuck, and others serve its tasks,
    /// timers and sockets; 10 ms unless told otherwise, a millisecond at least. With `None` nobody
    /// looks.
    ///
    /// See [`Runtime`](Runtime#when-a-task-keeps-its-worker).
    pub fn stall_threshold(mut self, threshold: impl Into<Option<Duration>>) -> Self {
        self.pool = self.pool.stall_threshold(threshold);
        self
    }

    /// Calls `hook` when a task has kept its worker for longer than the
    /// [threshold](Self::stall_threshold), and again when that is over.
    ///
    /// Without a hook a line goes to standard error each time (MS0019), for one stall a second. The
    /// hook is called on the watchdog's thread, which serves nobody meanwhile: it hands the report
    /// on and returns. A panic in it is reported and contained.
    ///
    /// ```
    /// use mainspring::Runtime;
    ///
    /// let runtime = Runtime::builder()
    ///     .workers(2)
    ///     .on_stall(|report| eprintln!("stall: {report}"))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_stall<F: Fn(&StallReport) + Send + Sync + 'static>(mut self, hook: F) -> Self {
        self.pool = self.pool.on_stall(hook);
        self
    }

    /// Calls `hook` on each worker's thread before it runs anything, with the worker's number:
    /// to pin the thread to a core, say. A panic in it is reported and contained.
    pub fn on_thread_start<F: Fn(usize) + Send + Sync + 'static>(mut self, hook: F) -> Self {
        self.pool = self.pool.on_thread_start(hook);
        self
    }

    /// Calls `hook` on each worker's thread when it has run its last task. A panic in it is
    /// reported and contained.
    pub fn on_thread_stop<F: Fn(usize) + Send + Sync + 'static>(mut self, hook: F) -> Self {
        self.pool = self.pool.on_thread_stop(hook);
        self
    }

    /// How long tasks are polled in a [shutdown](Runtime::shutdown) before they are dropped, at
    /// most as long as it may take in all. Unless told otherwise, half of that; the other half is
    /// for destructors, cleanups and blocking jobs.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.pool = self.pool.grace(grace);
        self
    }

    /// How long nothing has to happen before a poll or a destructor that does not return is given
    /// up, and its thread left behind. Unless told otherwise, 5 seconds when the runtime is
    /// dropped, and half a second in a [shutdown](Runtime::shutdown), whose limit has to have
    /// passed, too.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.pool = self.pool.patience(patience);
        self
    }

    /// Calls `hook` if the runtime is dropped and has to leave something behind, with the report of
    /// what that is. Unless told otherwise, that is said on standard error (MS0020). A panic in it
    /// is reported and contained.
    ///
    /// ```
    /// use mainspring::Runtime;
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (say, said) = mpsc::channel();
    /// let runtime = Runtime::builder()
    ///     .workers(1)
    ///     .patience(Duration::from_millis(100))
    ///     .on_left_behind(move |report| drop(say.send(report.to_string())))
    ///     .build()?;
    /// let (begun, begins) = mpsc::channel();
    /// runtime.spawn(async move {
    ///     drop(begun.send(()));
    ///     loop {
    ///         std::thread::park(); // a poll that never returns
    ///     }
    /// }).detach();
    /// begins.recv().expect("it runs");
    /// drop(runtime);
    /// assert!(said.recv().is_ok_and(|report| report.contains("which does not return")));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_left_behind<F>(mut self, hook: F) -> Self
    where
        F: Fn(&ShutdownReport) + Send + Sync + 'static,
    {
        self.pool = self.pool.on_left_behind(hook);
        self
    }

    /// Starts the workers, and returns when all of them are ready.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for no workers or more than 4,096, for a
    /// budget of nothing, and for a stall threshold below a millisecond; what the operating system
    /// says: too many descriptors, above all; why a backend that was asked for by name is not to be
    /// had. The threads that were started have ended then.
    pub fn build(self) -> io::Result<Runtime> {
        let workers = match self.workers {
            Some(workers) => workers,
            None => std::thread::available_parallelism()?.get(),
        };
        let backend = self.backend;
        let found = Arc::new(Mutex::new(None));
        let heard = Arc::clone(&found);
        let pool = self.pool.workers(workers).driver(move |number| {
            // Those above the workers' numbers serve one thread inside `block_on`, or the spare
            // worker: nobody serves in their place.
            let reactor = if number < workers {
                let reactor = Reactor::shared(backend)?;
                note(&mut heard.lock(), reactor.explanation());
                reactor
            } else {
                Reactor::with_backend(backend)?
            };
            Ok(Box::new(TimerDriver::new(reactor)) as Box<dyn Driver>)
        });
        let pool = pool.build()?;
        let found = *found.lock();
        Ok(Runtime::assemble(
            pool,
            found.expect("a pool has a worker, and each has a reactor"),
        ))
    }
}

/// Keeps what one worker found, or the refusal of another.
fn note(found: &mut Option<Explanation>, explanation: Explanation) {
    if found.is_none_or(|found| found.refusal().is_none()) {
        *found = Some(explanation);
    }
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("workers", &self.workers)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
