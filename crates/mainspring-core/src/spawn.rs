//! Spawning on whatever executor is current, from code that does not know which.
//!
//! [`current`] gives the [`Spawner`] of the executor that runs this thread. Executors of the family
//! enter theirs on their workers; any other becomes one in a few lines, see below. Where none is
//! current the answer is `None`, and the caller says what it needs.
//!
//! ```
//! use mainspring_core::spawn;
//!
//! # fn refresh() -> Result<(), &'static str> {
//! let spawner = spawn::current().ok_or("enter a spawner, or pass one")?;
//! let task = spawner.spawn(async { 6 * 7 });
//! task.detach();
//! # Ok(()) }
//! # assert!(refresh().is_err());
//! ```
//!
//! # tokio and smol as spawners
//!
//! An executor that runs boxed futures needs one method. Under tokio:
//!
//! ```text
//! struct Tokio(tokio::runtime::Handle);
//!
//! impl Spawn for Tokio {
//!     fn spawn(&self, future: Boxed) {
//!         self.0.spawn(future);
//!     }
//! }
//!
//! let spawner = Spawner::new(Tokio(tokio::runtime::Handle::current()));
//! ```
//!
//! Under smol:
//!
//! ```text
//! struct Smol;
//!
//! impl Spawn for Smol {
//!     fn spawn(&self, future: Boxed) {
//!         smol::spawn(future).detach();
//!     }
//! }
//!
//! let spawner = Spawner::new(Smol);
//! ```
//!
//! And without any library, each future on a thread of its own:
//!
//! ```
//! use mainspring_core::park::Parker;
//! use mainspring_core::spawn::{self, Boxed, Spawn, Spawner};
//! use std::{sync::{Arc, mpsc}, task::{Context, Waker}};
//!
//! struct Threads;
//!
//! impl Spawn for Threads {
//!     fn spawn(&self, mut future: Boxed) {
//!         std::thread::spawn(move || {
//!             let parker = Parker::new();
//!             let waker = Waker::from(Arc::new(parker.unparker()));
//!             while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
//!                 parker.park();
//!             }
//!         });
//!     }
//! }
//!
//! let _entered = spawn::enter(&Spawner::new(Threads));
//! let (sender, receiver) = mpsc::channel();
//! let task = spawn::current().map(|spawner| spawner.spawn(async move { sender.send(42) }));
//! assert_eq!(receiver.recv(), Ok(42));
//! # drop(task);
//! ```
//!
//! What is spawned there is a task of ours all the same, with a handle, an id and a contained
//! panic; it costs three allocations instead of one.
//!
//! # Invariants
//!
//! - **spawn.cleanup-pinned** — the future and the sleep inside `Limited` are pinned structurally.

mod foreign;
mod serial;

pub(crate) use self::serial::Serial;

use self::foreign::Bridge;
use crate::context::{Entered, Look, Slot};
use crate::sync::{Arc, thread_local};
use crate::task::{self, JoinHandle, Options, Runnable, SchedulerRef};
use crate::time::{Sleep, sleep};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A future that an executor from outside the family runs to its end.
pub type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An executor from outside the family: all it has to do to be a [`Spawner`].
pub trait Spawn: Send + Sync + 'static {
    /// Runs `future` soon, on any thread, until it is ready. Dropping it instead cancels the task
    /// that it carries: that is how an executor refuses which has shut down.
    fn spawn(&self, future: Boxed);
}

/// In which queue of an executor a task begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// With all others.
    Tasks,
    /// With the cleanups: polled like tasks and counted apart, open until the end of the shutdown.
    Cleanup,
}

/// An executor of the family: it runs [tasks](crate::task), so that nothing is boxed.
///
/// [`Spawner::of`] takes one that any thread may spawn on, [`LocalSpawner::of`] one of a single
/// thread.
pub trait Launch: 'static {
    /// The scheduler for a task in `lane`; of a [`LocalSpawner`]'s executor, a
    /// [local](SchedulerRef::local) one.
    fn scheduler(&self, lane: Lane) -> SchedulerRef;

    /// Lists the task that was just made with that scheduler, and schedules its runnable. An
    /// executor that refuses (it has shut down, the lane is closed) drops the runnable, which
    /// cancels the task.
    fn launch(&self, runnable: Runnable, lane: Lane);

    /// A cleanup's limit passed and the cleanup was dropped: count and name it. Unless told
    /// otherwise, a line goes to standard error.
    fn overran(&self, overran: Overran) {
        eprintln!("{overran}");
    }
}

/// Spawns tasks on one executor, from any thread.
///
/// Clones spawn on the same executor. A spawner keeps what it spawns on alive, not its threads:
/// what is spawned after they ended is cancelled.
#[derive(Clone)]
pub struct Spawner {
    shared: Arc<Shared>,
}

struct Shared {
    executor: Executor,
    /// The microtasks of those who have no event loop but this.
    serial: Serial,
}

enum Executor {
    Ours(Box<dyn Launch + Send + Sync>),
    Foreign(Box<dyn Spawn>),
}

impl Spawner {
    /// A spawner for an executor from outside the family. See the [module](self).
    #[must_use]
    pub fn new(spawn: impl Spawn) -> Self {
        Self::with(Executor::Foreign(Box::new(spawn)))
    }

    /// A spawner for an executor of the family.
    #[must_use]
    pub fn of(executor: impl Launch + Send + Sync) -> Self {
        Self::with(Executor::Ours(Box::new(executor)))
    }

    fn with(executor: Executor) -> Self {
        Self {
            shared: Arc::new(Shared {
                executor,
                serial: Serial::new(),
            }),
        }
    }

    /// Spawns a task. Dropping the handle lets it run on.
    ///
    /// One allocation on the executors of the family, three on others.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_in(Lane::Tasks, future)
    }

    /// As [`spawn`](Self::spawn), with options: a name, say.
    ///
    /// ```
    /// # use mainspring_core::{spawn::Spawner, task::Options};
    /// # fn example(spawner: &Spawner) {
    /// let task = spawner.spawn_with(async { 6 * 7 }, Options::new().name("answer"));
    /// assert_eq!(task.name(), Some("answer"));
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_with<F>(&self, future: F, options: Options) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match &self.shared.executor {
            Executor::Ours(executor) => {
                let scheduler = executor.scheduler(Lane::Tasks);
                let (runnable, join) = task::create_with(future, scheduler, options);
                executor.launch(runnable, Lane::Tasks);
                join
            }
            Executor::Foreign(executor) => {
                let bridge = Bridge::new();
                let scheduler = Bridge::scheduler(&bridge);
                let (runnable, join) = task::create_with(future, scheduler, options);
                executor.spawn(Box::pin(foreign::carry(bridge, runnable)));
                join
            }
        }
    }

    /// Spawns a cleanup: a future that the shutdown still waits for, until `limit`, counted from
    /// now, has passed. Then it is dropped, and its executor names it.
    ///
    /// An executor from outside the family has no lane for cleanups: there it is a task like
    /// others.
    #[track_caller]
    pub fn spawn_cleanup<F>(
        &self,
        future: F,
        limit: Duration,
    ) -> JoinHandle<Result<F::Output, Overran>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let limited = Limited {
            future: Some(future),
            sleep: sleep(limit),
            overran: Overran {
                limit,
                spawned_at: Location::caller(),
            },
            spawner: self.clone(),
        };
        self.spawn_in(Lane::Cleanup, limited)
    }

    #[track_caller]
    fn spawn_in<F>(&self, lane: Lane, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match &self.shared.executor {
            Executor::Ours(executor) => {
                let (runnable, join) = task::create(future, executor.scheduler(lane));
                executor.launch(runnable, lane);
                join
            }
            Executor::Foreign(executor) => {
                let bridge = Bridge::new();
                let (runnable, join) = task::create(future, Bridge::scheduler(&bridge));
                executor.spawn(Box::pin(foreign::carry(bridge, runnable)));
                join
            }
        }
    }

    pub(crate) fn serial(&self) -> &Serial {
        &self.shared.serial
    }

    fn overran(&self, overran: Overran) {
        match &self.shared.executor {
            Executor::Ours(executor) => executor.overran(overran),
            Executor::Foreign(_) => eprintln!("{overran}"),
        }
    }
}

/// A cleanup did not end within its limit, and was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overran {
    /// The limit.
    pub limit: Duration,
    /// Where the cleanup was spawned.
    pub spawned_at: &'static Location<'static>,
}

impl Overran {
    /// Never: the cleanup is gone.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        false
    }
}

impl fmt::Display for Overran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, spawned_at } = self;
        write!(
            f,
            "the cleanup spawned at {spawned_at} was dropped after its limit of {limit:?}"
        )
    }
}

impl Error for Overran {}

/// A cleanup under its limit.
struct Limited<F> {
    future: Option<F>,
    sleep: Sleep,
    overran: Overran,
    spawner: Spawner,
}

impl<F: Future> Future for Limited<F> {
    type Output = Result<F::Output, Overran>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [spawn.cleanup-pinned] the two fields that need it are pinned again below, there
        // is no `Drop`, and the wrapper is not `Unpin`.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [spawn.cleanup-pinned] as above.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        // SAFETY: [spawn.cleanup-pinned] as above.
        let sleep = unsafe { Pin::new_unchecked(&mut this.sleep) };
        if let Some(future) = future.as_mut().as_pin_mut() {
            if let Poll::Ready(output) = future.poll(cx) {
                return Poll::Ready(Ok(output));
            }
        }
        if sleep.poll_elapsed(cx).is_pending() {
            return Poll::Pending;
        }
        future.set(None);
        this.spawner.overran(this.overran);
        Poll::Ready(Err(this.overran))
    }
}

thread_local! {
    static SPAWNER: Slot<Spawner> = const { Slot::new() };
    static LOCAL: Slot<LocalSpawner> = const { Slot::new() };
}

/// The spawner of the executor that runs this thread; `None` where none was entered.
#[must_use]
pub fn current() -> Option<Spawner> {
    SPAWNER.with(|slot| slot.with(|spawner| spawner.cloned()))
}

/// Spawns a task on the executor that runs this thread, if one does.
///
/// As [`current`] and [`Spawner::spawn`], without counting a reference to the spawner.
///
/// # Errors
///
/// The future, where no spawner was entered.
///
/// ```
/// use mainspring_core::spawn;
///
/// let future = std::future::ready(7);
/// assert!(spawn::try_spawn(future).is_err()); // nobody runs here
/// ```
#[inline]
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match look() {
        Some(spawner) => Ok(spawner.spawn(future)),
        None => Err(future),
    }
}

/// The spawner of the executor that runs this thread, for one call: no reference is counted, and it
/// does not leave the thread.
#[inline]
#[must_use]
pub fn look() -> Option<Look<Spawner>> {
    Slot::look(&SPAWNER)
}

/// Makes `spawner` this thread's, for a worker's life.
pub fn enter(spawner: &Spawner) -> Entered {
    Entered::new(&SPAWNER, std::sync::Arc::new(spawner.clone()))
}

/// Spawns tasks that need not be `Send` on the executor of this thread.
#[derive(Clone)]
pub struct LocalSpawner {
    executor: Rc<dyn Launch>,
}

impl LocalSpawner {
    /// A spawner for an executor of the family on the thread that is its home.
    #[must_use]
    pub fn of(executor: Rc<dyn Launch>) -> Self {
        Self { executor }
    }

    /// Spawns a task that stays on this thread. Dropping the handle lets it run on.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let scheduler = self.executor.scheduler(Lane::Tasks);
        let (runnable, join) = task::create_local(future, scheduler);
        self.executor.launch(runnable, Lane::Tasks);
        join
    }

    /// As [`spawn_local`](Self::spawn_local), with options: a name, say.
    #[track_caller]
    pub fn spawn_local_with<F>(&self, future: F, options: Options) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let scheduler = self.executor.scheduler(Lane::Tasks);
        let (runnable, join) = task::create_local_with(future, scheduler, options);
        self.executor.launch(runnable, Lane::Tasks);
        join
    }
}

/// The local spawner of the executor that runs this thread; `None` where none was entered.
#[must_use]
pub fn current_local() -> Option<LocalSpawner> {
    LOCAL.with(|slot| slot.with(|spawner| spawner.cloned()))
}

/// Makes `spawner` this thread's, for a worker's life.
pub fn enter_local(spawner: &LocalSpawner) -> Entered {
    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "a slot holds an Arc whether its value may leave the thread or not"
    )]
    let spawner = std::sync::Arc::new(spawner.clone());
    Entered::new(&LOCAL, spawner)
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ours = matches!(self.shared.executor, Executor::Ours(_));
        f.debug_struct("Spawner")
            .field("boxes", &!is_ours)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for LocalSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSpawner").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
