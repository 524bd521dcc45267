//! The work-stealing pool.
//!
//! # The walk of one wake
//!
//! ```text
//!   driver of worker A ─▶ waker ─▶ task word: idle → scheduled ─▶ Schedule::schedule
//!       on A's thread:     A's slot (the first of the turn) or A's queue; nobody is told
//!       elsewhere:         the injector, a fence, a look at the idle word, perhaps an unpark
//!   A: slot ─▶ poll; or A: queue ─▶ poll; or B, who searches: half of A's queue ─▶ B's queue
//! ```
//!
//! | file | has |
//! |---|---|
//! | `shared` | what the workers share, and where a task goes |
//! | `desk` | a worker's end of its queue, found through a thread-local |
//! | `remote` | a worker as the others see it |
//! | `idle` | who sleeps and who searches, and why no wake-up is lost |
//! | `worker` | the steppable worker: which task is next, a turn, falling asleep |
//! | `lane` | the tasks that stay with one worker |
//! | `registry` | all tasks, in shards |
//! | `thread`, `builder` | starting and running the threads |
//! | `watchdog`, `watch`, `pulse` | who is stuck, and who serves then |
//! | `spare` | the worker that is there while all are stuck |
//! | `handle` | what is done with a pool from anywhere |
//! | `seat` | blocking on a future from outside |
//! | `end`, `limits` | the shutdown, and until when it may last |
//! | `crew`, `sweep` | the threads as it sees them, and the one that drops what they cannot |

mod builder;
mod counters;
mod crew;
mod desk;
mod end;
mod handle;
mod hub;
mod idle;
mod lane;
mod limits;
mod pulse;
mod registry;
mod remote;
mod seat;
mod shared;
mod spare;
mod sweep;
mod thread;
mod watch;
mod watchdog;
mod worker;

pub use self::builder::PoolBuilder;
pub use self::counters::{Metrics, WorkerMetrics};
pub use self::handle::PoolHandle;
pub(crate) use self::registry::{OnAdmit, Registry};

use self::crew::Crew;
use self::hub::Hub;
use crate::block_on::refuse_inside_a_poll;
use crate::shutdown::ShutdownReport;
use mainspring_core::task::{JoinHandle, TaskInfo};
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Runs tasks on several threads, each of which takes work from the others when it has none.
///
/// For services whose load does not divide itself evenly, and for every program whose futures are
/// `Send`. Where each connection can stay on the core that accepted it, one
/// [`LocalExecutor`](crate::LocalExecutor) a core does with less.
///
/// The threads run from [`build`](PoolBuilder::build) until [`shutdown`](Self::shutdown) or the
/// drop of the pool; handles do not keep them.
///
/// # Guarantees
///
/// - A task runs on one thread at a time, and on any of them, unless it was
///   [pinned](Self::spawn_pinned).
/// - No task waits in a queue while all workers sleep.
/// - A worker polls the task that was woken last first, three times in a row at most; then in the
///   order in which tasks became ready. One that yields goes to the end.
/// - After at most 61 polls, or about 200 µs of them, a worker looks at its driver.
/// - A panic in a task ends that task alone: its [`JoinHandle`] tells, or the unobserved-failure
///   hook when nobody joins. A panic takes no worker down.
///
/// - A worker that one task keeps for longer than the [stall threshold] serves nobody meanwhile,
///   and others do in its place.
///
/// # When a task keeps its worker
///
/// A poll that computes for long, or blocks its thread, keeps its worker from all else that is
/// there. A watchdog, one thread a pool, notices after one to one and a half thresholds, and from
/// then on, every half threshold: the worker's tasks go to the others, its timers fire, what its
/// sockets have received is delivered, and what was prepared for them is submitted. When all
/// workers are stuck there is one spare worker, until one is back. So everybody else is served
/// within about twice the threshold, and the [hook](PoolBuilder::on_stall), or a line on standard
/// error, says which task it was.
///
/// Not served by others: tasks that are pinned to the stuck worker, and its local ones, which
/// nobody else may poll; anybody, when the spare worker is stuck as well; a worker that is stuck in
/// a waker that its driver calls. It is a net and not a way to work: what blocks belongs on the
/// blocking pool ([`spawn_blocking`](crate::spawn_blocking)).
///
/// # Trade-offs
///
/// One task that is ready wakes no second worker: the worker that made it ready comes to it next.
/// So a task that spawns or wakes another and then blocks its thread until that one has run waits
/// for the watchdog.
///
/// # Complexity and allocation
///
/// A spawn allocates the task, once, and takes one of several short locks. Waking, queueing and
/// polling are O(1) and allocate nothing, but for a queue that grows. The watchdog costs a worker
/// two plain stores a poll; it sleeps while all workers do.
///
/// [stall threshold]: PoolBuilder::stall_threshold
///
/// ```
/// use mainspring_executor::Pool;
///
/// let pool = Pool::builder().workers(2).build()?;
/// let sum = pool.block_on(async {
///     let square = |n: u64| mainspring_executor::spawn(async move { n * n });
///     let tasks: Vec<_> = (1..=10).map(square).collect();
///     let mut sum = 0;
///     for task in tasks {
///         sum += task.await.unwrap_or(0);
///     }
///     sum
/// });
/// assert_eq!(sum, 385);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Pool {
    handle: PoolHandle,
    crew: Arc<Crew>,
}

impl Pool {
    /// A pool with as many workers as the process may use cores, which wait on their threads alone.
    ///
    /// # Errors
    ///
    /// As [`PoolBuilder::build`].
    pub fn new() -> io::Result<Self> {
        Self::builder().build()
    }

    /// A pool whose workers, drivers or name are to be chosen.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    fn assemble(hub: Hub, crew: Arc<Crew>) -> Self {
        Self {
            handle: PoolHandle::new(hub),
            crew,
        }
    }

    /// A handle that spawns and looks, from any thread.
    #[must_use]
    pub fn handle(&self) -> PoolHandle {
        self.handle.clone()
    }

    /// Runs `future` on the calling thread until it is ready. See [`PoolHandle::block_on`].
    ///
    /// # Panics
    ///
    /// As [`PoolHandle::block_on`].
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// As [`block_on`](Self::block_on), for whoever can do something about a driver that is not to
    /// be had.
    ///
    /// # Errors
    ///
    /// What the driver's maker says; the future has not been polled then.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. What `future` panics with
    /// is passed on.
    #[track_caller]
    pub fn try_block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        self.handle.try_block_on(future)
    }

    /// Spawns a task. See [`PoolHandle::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Spawns a task that stays on one worker. See [`PoolHandle::spawn_pinned`].
    ///
    /// # Panics
    ///
    /// With `MS0015` if there is no such worker.
    #[track_caller]
    pub fn spawn_pinned<M, F>(&self, worker: usize, make: M) -> JoinHandle<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn_pinned(worker, make)
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.handle.workers()
    }

    /// What it was called when it was built.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.name()
    }

    /// How many tasks have not ended, cleanups not counted. Takes each of the registry's locks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.handle.len()
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.handle.is_empty()
    }

    /// What the workers have done since they started.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.handle.metrics()
    }

    /// Every task that has not ended: where it was spawned, what it waits for and since when. Polls
    /// nobody.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.handle.tasks()
    }

    /// Ends the pool within about `limit`, and tells how it went.
    ///
    /// In order: nothing new may be spawned, cleanups excepted; the
    /// [shutdown signal](mainspring_core::shutdown::signal) fires; tasks are polled until they end
    /// or their [grace](PoolBuilder::grace), half of the time, has passed; the rest is dropped;
    /// cleanups are polled until they end or all of the time has passed, and what is left of them
    /// is dropped unrun; blocking jobs that have not begun are refused, and those that run are
    /// waited for as long as there is time, [abandonable] ones not at all; the workers' threads
    /// end, and with them their drivers.
    ///
    /// A poll or a destructor that does not return keeps this call until `limit`, and past it until
    /// nothing has happened for half a second ([patience]). Then its thread is left behind, with
    /// the tasks that are at home there and what its driver has under way, and the report names all
    /// of them; shared tasks that stood in line behind it are dropped by a spare thread. What was
    /// left is leaked until the code in question comes back: then the thread drops what it has and
    /// ends.
    ///
    /// Of two threads that call this, the later one waits for the first, and brings its limit
    /// forward if its own is earlier.
    ///
    /// [patience]: PoolBuilder::patience
    /// [abandonable]: mainspring_core::blocking::Blocking::Abandonable
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family, and on a worker of this pool, in
    /// one of its hooks say.
    #[track_caller]
    pub fn shutdown(&self, limit: Duration) -> ShutdownReport {
        refuse_inside_a_poll();
        assert!(
            self.handle.current_worker().is_none(),
            "MS0002: `shutdown` on a worker of its own pool would wait for itself \
             (docs/errors.md)"
        );
        end::shutdown(self, limit)
    }
}

impl Drop for Pool {
    /// Drops every task that has not ended, each on a worker, and waits for the workers' threads.
    /// A poll or a destructor that does not return is waited for as long as
    /// [`PoolBuilder::patience`] says; then its thread is left behind and
    /// [named](PoolBuilder::on_left_behind).
    ///
    /// Inside a task, of this pool or of any other executor of the family, it waits for nobody: a
    /// thread of its own sees to the end.
    fn drop(&mut self) {
        end::abandon(self);
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("name", &self.name())
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
