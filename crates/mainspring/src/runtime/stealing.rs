//! The runtime of several threads.

use super::Handle;
use crate::shutdown::ShutdownReport;
use crate::{Metrics, RuntimeBuilder};
use mainspring_core::spawn::Spawner;
use mainspring_core::task::{JoinHandle, TaskInfo};
use mainspring_executor::Pool;
use mainspring_reactor::{Backend, Explanation};
use std::fmt;
use std::future::Future;
use std::io;
use std::time::Duration;

/// Tasks, timers and sockets on several threads, which take work from each other.
///
/// For services whose load does not divide itself evenly, and for every program whose futures are
/// `Send`. Where each connection can stay on the thread that accepted it, one
/// [`LocalRuntime`](crate::LocalRuntime) a core does with less; both have the same methods.
///
/// Every worker is a thread with a reactor and timers of its own, and waits for them itself: there
/// is no thread that does nothing but I/O. They run from [`build`](RuntimeBuilder::build) until
/// [`shutdown`](Self::shutdown), or until the runtime is dropped, which drops every task that has
/// not ended, and waits for polls that are under way, but not for
/// [ever](RuntimeBuilder::patience). Dropped inside a task or a `block_on`, it waits for nobody: a
/// thread of its own sees to the end.
///
/// # Guarantees
///
/// - A task runs on one thread at a time, and on any of them, unless it was
///   [pinned](Self::spawn_pinned) or spawned with [`spawn_local`](crate::spawn_local).
/// - No task waits in a queue while all workers sleep.
/// - After at most 61 polls, or about 200 µs of them, a worker looks at its sockets and timers.
/// - A panic in a task ends that task alone: its [`JoinHandle`] tells, or one line on standard
///   error if nobody joins.
///
/// - A worker that one task keeps for longer than a [threshold](RuntimeBuilder::stall_threshold)
///   serves nobody meanwhile, and others do in its place.
///
/// # When a task keeps its worker
///
/// A poll that computes for long, or blocks its thread, keeps its worker from all else that is
/// there. A watchdog, one thread a runtime, notices after one to one and a half thresholds (10 ms
/// each unless told otherwise). From then on, every half threshold, the worker's tasks go to the
/// others, its timers fire, and its sockets are served. When all workers are stuck there is one
/// spare worker, until one is back. So everybody else is served within about twice the threshold,
/// and the [hook](RuntimeBuilder::on_stall), or a line on standard error, says which task it was.
///
/// Tasks that are [pinned](Self::spawn_pinned) to the stuck worker or were spawned there with
/// [`spawn_local`](crate::spawn_local) wait, for nobody else may poll them; so does everybody when
/// the spare worker is stuck as well. It is a net and not a way to work: what blocks belongs on the
/// blocking pool ([`spawn_blocking`](crate::spawn_blocking)). A
/// [`LocalRuntime`](crate::LocalRuntime) has no watchdog: there is nobody else.
///
/// # Sockets and timers
///
/// What a socket does is served by the worker on whose thread its task is polled; with readiness,
/// by the one where it first had to wait. A sleep is served where it was first polled. Tasks may
/// take both anywhere: what another thread serves costs a hop when it is ready. The future of
/// [`block_on`](Self::block_on) is served by the calling thread, while it is in there.
///
/// A server that accepts in one task gives its first connections to one worker, from which others
/// have to take them; one acceptor on each worker (see [`spawn_pinned`](Self::spawn_pinned))
/// spreads them from the start.
///
/// # Trade-offs
///
/// What a [`LocalRuntime`](crate::LocalRuntime) has for its one thread, each worker has, and each
/// thread that calls [`block_on`](Self::block_on). Over the ring, a worker's operations cost up to
/// a tenth more, so that others can serve it while it is stuck.
///
/// ```
/// use mainspring::Runtime;
/// use mainspring::net::{TcpListener, TcpStream};
///
/// let runtime = Runtime::builder().workers(2).build()?;
/// runtime.block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
///     let address = listener.local_addr()?;
///     mainspring::spawn(async move {
///         let (mut stream, _peer) = listener.accept().await?;
///         stream.write_all(b"hello").await
///     }).detach();
///     let mut stream = TcpStream::connect(address).await?;
///     let mut greeting = [0; 5];
///     stream.read_exact(&mut greeting).await
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Runtime {
    pool: Pool,
    explanation: Explanation,
}

impl Runtime {
    /// A runtime with as many workers as the process may use cores, over [`Backend::Auto`].
    ///
    /// # Errors
    ///
    /// As [`RuntimeBuilder::build`].
    pub fn new() -> io::Result<Self> {
        Self::builder().build()
    }

    /// A runtime whose workers, backend or name are to be chosen.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::new()
    }

    pub(super) fn assemble(pool: Pool, explanation: Explanation) -> Self {
        Self { pool, explanation }
    }

    /// Runs `future` on the calling thread until it is ready, beside the workers: what it spawns
    /// runs on them.
    ///
    /// The future need be neither `Send` nor `'static`; several threads may be in here at once. The
    /// thread waits in a reactor of its own, made at its first call and kept for the next ones.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. With `MS0011` if the
    /// system refuses the thread its reactor; [`try_block_on`](Self::try_block_on) is the form that
    /// returns the error. What `future` panics with is passed on.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.pool.block_on(future)
    }

    /// As [`block_on`](Self::block_on), for whoever can do something about a reactor that is not to
    /// be had.
    ///
    /// # Errors
    ///
    /// What the operating system says: too many descriptors, above all. The future has not been
    /// polled then.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. What `future` panics with
    /// is passed on.
    #[track_caller]
    pub fn try_block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        self.pool.try_block_on(future)
    }

    /// Spawns a task.
    ///
    /// Dropping the handle detaches the task. After the shutdown the task is cancelled at once. One
    /// allocation.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.pool.spawn(future)
    }

    /// Spawns a task that stays on one worker, of which there are [`workers`](Self::workers),
    /// numbered from 0: `make` is called there, and its future, which need not be `Send`, is polled
    /// and dropped there only.
    ///
    /// A pinned task waits while its worker is busy with another's poll.
    ///
    /// # Panics
    ///
    /// With `MS0015` if there is no such worker.
    ///
    /// ```
    /// use mainspring::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let names = [0, 1].map(|worker| {
    ///     runtime.spawn_pinned(worker, || async {
    ///         std::thread::current().name().map(str::to_owned)
    ///     })
    /// });
    /// for (name, expected) in names.into_iter().zip(["mainspring-0", "mainspring-1"]) {
    ///     assert_eq!(runtime.block_on(name).ok().flatten().as_deref(), Some(expected));
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_pinned<M, F>(&self, worker: usize, make: M) -> JoinHandle<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        self.pool.spawn_pinned(worker, make)
    }

    /// A handle that spawns and looks, from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::of_pool(self.pool.handle())
    }

    /// A handle through which any code spawns `Send` futures and cleanups, from any thread.
    #[must_use]
    pub fn spawner(&self) -> Spawner {
        self.pool.handle().spawner()
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.pool.workers()
    }

    /// Which backend serves its workers' sockets: never [`Backend::Auto`].
    /// [`explanation`](Self::explanation) says why.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.explanation.used()
    }

    /// Which backend serves its workers' sockets, and why no other, as it was found when the
    /// runtime was built.
    ///
    /// Each worker asks for itself. If the system gave some of them a ring and refused it to
    /// others, whose sockets are then served by readiness, this is what was said to one that was
    /// refused.
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        self.explanation
    }

    /// What it was called when it was built: for logs. Its threads are called `NAME-0` and so on.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pool.name()
    }

    /// Every task that has not ended: where it was spawned, what it waits for and since when. Polls
    /// nobody.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.pool.tasks()
    }

    /// How many tasks have not ended, cleanups not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pool.len()
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }

    /// What the workers have done since they started, and what they are at.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.pool.metrics()
    }

    /// Ends the runtime within about `limit`, and tells how it went.
    ///
    /// In order: nothing new may be spawned, cleanups excepted; the
    /// [shutdown signal](crate::shutdown::signal) fires; tasks are polled until they end or their
    /// [grace](RuntimeBuilder::grace), half of the time, has passed; the rest is dropped; cleanups
    /// are polled until they end or all of the time has passed, and what is left of them is dropped
    /// unrun; blocking jobs that have not begun are refused, and those that run are waited for as
    /// long as there is time, [abandonable](crate::task::Blocking::Abandonable) ones (name
    /// look-ups above all) not at all; the workers' threads end, and with them their reactors.
    ///
    /// A poll or a destructor that does not return keeps this call until `limit`, and past it until
    /// nothing has happened for half a second ([patience]). Then its thread is left behind, with
    /// the tasks that are at home there, its reactor and what the kernel has of it, and the report
    /// names all of them; shared tasks that stood in line behind it are dropped all the same. What
    /// was left is leaked until the code in question comes back: then the thread drops what it has
    /// and ends.
    ///
    /// Of two threads that call this, the later one waits for the first, and brings its limit
    /// forward if its own is earlier.
    ///
    /// [patience]: RuntimeBuilder::patience
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family, and on a worker of this runtime,
    /// in one of its hooks say.
    #[track_caller]
    pub fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.pool.shutdown(limit)
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("name", &self.name())
            .field("workers", &self.workers())
            .field("backend", &self.backend())
            .field("tasks", &self.len())
            .finish_non_exhaustive()
    }
}
