//! The runtime of one thread.

use super::Handle;
use crate::Metrics;
use crate::shutdown::ShutdownReport;
use mainspring_core::context::Entered;
use mainspring_core::spawn::Spawner;
use mainspring_core::task::{JoinHandle, TaskInfo};
use mainspring_core::time::Nanos;
use mainspring_executor::{Home, LocalExecutor, Step};
use mainspring_reactor::{Backend, Explanation, Reactor};
use mainspring_timer::TimerDriver;
use std::fmt;
use std::future::Future;
use std::io;
use std::time::Duration;

/// Tasks, timers and sockets on one thread.
///
/// For services that run one runtime per core, and for every program whose tasks need not move: no
/// future has to be `Send`, nothing is locked between tasks, and the thread that runs the tasks
/// waits for sockets and timers itself.
///
/// Tasks run inside [`block_on`](Self::block_on) (or [`tick`](Self::tick)) and wait otherwise.
/// Dropping the runtime drops every task that has not ended; [`shutdown`](Self::shutdown) first
/// asks them to end and says who did not.
///
/// # Guarantees
///
/// - No thread is started. Only [`spawn_blocking`](crate::spawn_blocking) and look-ups of names use
///   threads, those of the process's blocking pool.
/// - A panic in a task ends that task alone: its [`JoinHandle`] tells, or one line on standard
///   error when nobody joins.
/// - Tasks are polled first in, first out; after at most 61 polls, or about 200 µs of them, sockets
///   and timers are looked at.
/// - Wakers and handles may be used on any thread, also after the runtime is gone.
///
/// # Whose a socket is
///
/// What a socket waits for is served by the runtime that is running where it is polled, if that has
/// the backend of the one where the socket was made; with readiness, by the one where it first had
/// to wait. A sleep is served by the runtime where it was first polled. While this runtime is not
/// running, inside [`block_on`](Self::block_on), [`tick`](Self::tick) or
/// [`shutdown`](Self::shutdown), it serves nobody, and what waits in it waits until it does. What
/// is made where no runtime is running, on the thread that has built this one but is not in it, is
/// served by a background thread instead: make it under [`enter`](Self::enter), or inside.
///
/// # Trade-offs
///
/// Over the ring: two descriptors, some 200 KiB of queues, and receive buffers as they are needed,
/// from half a MiB to 18 MiB. Over readiness: three descriptors, and 12 KiB for the events of a
/// turn. Over both: 12.5 KiB for timers, and one allocation for a task.
///
/// Building and dropping one costs about a millisecond over the ring, most of it the kernel's: for
/// threads that live shortly, take [`Backend::Poll`].
///
/// ```
/// use mainspring::LocalRuntime;
/// use mainspring::net::{TcpListener, TcpStream};
///
/// let runtime = LocalRuntime::new()?;
/// runtime.block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
///     let address = listener.local_addr()?;
///     mainspring::spawn_local(async move {
///         let (mut stream, _peer) = listener.accept().await?;
///         stream.write_all(b"hello").await
///     }).detach();
///     let mut stream = TcpStream::connect(address).await?;
///     let mut greeting = [0; 5];
///     stream.read_exact(&mut greeting).await
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LocalRuntime {
    executor: LocalExecutor,
    explanation: Explanation,
    name: Box<str>,
}

impl LocalRuntime {
    /// A runtime of the calling thread over [`Backend::Auto`].
    ///
    /// # Errors
    ///
    /// What the operating system says: too many descriptors, above all.
    pub fn new() -> io::Result<Self> {
        Self::builder().build()
    }

    /// A runtime whose backend or name is to be chosen.
    pub fn builder() -> LocalBuilder {
        LocalBuilder {
            backend: Backend::Auto,
            name: "local".into(),
            grace: None,
        }
    }

    /// Runs `future`, and the tasks beside it, until `future` is ready.
    ///
    /// The future need be neither `Send` nor `'static`. Tasks that have not ended by then wait for
    /// the next call.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. What `future` panics with
    /// is passed on; the runtime stays usable.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.executor.block_on(future)
    }

    /// Makes this runtime's sockets and timers current on this thread while the guard lives, for
    /// what is made before [`block_on`](Self::block_on): a listener, say, whose address has to be
    /// known first.
    ///
    /// Without it such a socket is served by readiness for its whole life, and in a runtime over a
    /// ring by the background thread. It does not run the runtime: nobody is served before
    /// `block_on`, and `spawn` and its like still want to be called inside. A guard that is
    /// forgotten keeps the reactor current, and allocated, for the rest of the thread's life.
    ///
    /// ```
    /// use mainspring::LocalRuntime;
    /// use mainspring::net::{TcpListener, TcpStream};
    ///
    /// let runtime = LocalRuntime::new()?;
    /// let entered = runtime.enter();
    /// let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
    /// drop(entered);
    /// let address = listener.local_addr()?;
    /// runtime.block_on(async {
    ///     let connect = mainspring::spawn_local(TcpStream::connect(address));
    ///     let (_stream, _peer) = listener.accept().await?;
    ///     connect.await.expect("no panic").map(drop)
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> Entered {
        self.executor.enter()
    }

    /// Spawns a task. It runs when the runtime next does.
    ///
    /// As [`spawn_local`](Self::spawn_local), for code that is to work on every runtime. After the
    /// shutdown the task is cancelled at once.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.executor.spawn_local(future)
    }

    /// Spawns a task, `Send` or not. It runs when the runtime next does.
    ///
    /// Dropping the handle detaches the task. After the shutdown the task is cancelled at once.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.executor.spawn_local(future)
    }

    /// A handle that spawns here from any thread, and hides which kind of runtime it is.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::of_home(self.home())
    }

    /// A handle through which other threads spawn closures that make futures here, `Send` or not.
    #[must_use]
    pub fn home(&self) -> Home {
        self.executor.home()
    }

    /// A handle through which any code spawns `Send` futures and cleanups, from any thread.
    #[must_use]
    pub fn spawner(&self) -> Spawner {
        self.executor.spawner()
    }

    /// Which backend serves its sockets: never [`Backend::Auto`].
    /// [`explanation`](Self::explanation) says why.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.explanation.used()
    }

    /// Which backend serves its sockets, and why no other, as it was found when the runtime was
    /// built. [`Backend::explain`] speaks of a runtime that would be built now.
    ///
    /// ```
    /// let runtime = mainspring::LocalRuntime::new()?;
    /// println!("{}", runtime.explanation());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        self.explanation
    }

    /// What it was called when it was built: for logs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every task that has not ended, newest first: where it was spawned, what it waits for and
    /// since when. Polls nobody.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.executor.tasks()
    }

    /// What it has done, as that of one worker: polls and parks are counted, and tasks that are
    /// there and that are ready. What would cost it a look at the clock, how long it was busy above
    /// all, is not measured and reads zero.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.executor.metrics()
    }

    /// How many tasks have not ended, cleanups not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.executor.len()
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.executor.is_empty()
    }

    /// Looks at sockets and timers without waiting and runs one turn of tasks: what a foreign event
    /// loop calls.
    ///
    /// With [`Step::Busy`] there is more to do at once. With [`Step::Idle`] there is nothing to do
    /// before the moment that [`next_deadline`](Self::next_deadline) says, unless a socket becomes
    /// ready or a task is woken: the loop has to come by again in time to notice.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family.
    #[track_caller]
    pub fn tick(&self) -> Step {
        self.executor.tick()
    }

    /// A lower bound of when the next timer is due, if any is armed.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.executor.next_deadline()
    }

    /// Ends the runtime within about `limit`, and tells how it went.
    ///
    /// In order: nothing new may be spawned, cleanups excepted; the
    /// [shutdown signal](crate::shutdown::signal) fires; tasks are polled until they end or their
    /// [grace](LocalBuilder::grace), half of the time, has passed; the rest is dropped; cleanups
    /// are polled until they end or all of the time has passed, and what is left of them is dropped
    /// unrun; blocking jobs that have not begun are refused, and those that run are waited for as
    /// long as there is time, [abandonable](crate::task::Blocking::Abandonable) ones (name
    /// look-ups above all) not at all.
    ///
    /// A poll or a destructor that takes long makes the shutdown take longer: it is this thread.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family.
    #[track_caller]
    pub fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.executor.shutdown(limit)
    }
}

impl fmt::Debug for LocalRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRuntime")
            .field("name", &self.name)
            .field("backend", &self.backend())
            .field("tasks", &self.len())
            .finish_non_exhaustive()
    }
}

/// What a [`LocalRuntime`] is to be like. Made by [`LocalRuntime::builder`].
///
/// ```
/// use mainspring::{Backend, LocalRuntime};
///
/// let runtime = LocalRuntime::builder().backend(Backend::Poll).name("intake").build()?;
/// assert_eq!((runtime.backend(), runtime.name()), (Backend::Poll, "intake"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct LocalBuilder {
    backend: Backend,
    name: Box<str>,
    grace: Option<Duration>,
}

impl LocalBuilder {
    /// Which backend is to serve the sockets; [`Backend::Auto`] unless told otherwise.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// What the runtime is called in logs.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// How long tasks are polled in a [shutdown](LocalRuntime::shutdown) before they are dropped,
    /// at most as long as it may take in all. Unless told otherwise, half of that.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Builds the runtime on the calling thread, which it does not leave.
    ///
    /// # Errors
    ///
    /// What the operating system says: too many descriptors, above all; why a backend that was
    /// asked for by name is not to be had.
    pub fn build(self) -> io::Result<LocalRuntime> {
        let reactor = Reactor::with_backend(self.backend)?;
        let explanation = reactor.explanation();
        let mut executor = LocalExecutor::with_driver(Box::new(TimerDriver::new(reactor)));
        if let Some(grace) = self.grace {
            executor = executor.grace(grace);
        }
        Ok(LocalRuntime {
            executor,
            explanation,
            name: self.name,
        })
    }
}
