//! An executor of one thread, for tasks that need not be `Send`.

pub(crate) mod hub;
mod running;
pub(crate) mod shared;

use self::hub::Hub;
use self::running::Running;
use crate::block_on::refuse_inside_a_poll;
use crate::home::Home;
use crate::pool::Metrics;
use crate::root::Root;
use crate::shutdown::{Moments, ShutdownReport};
use crate::worker::{Step, Worker};
use mainspring_core::context::{Entered, Slot};
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::poll;
use mainspring_core::shutdown::Controller;
use mainspring_core::spawn::{Lane, LocalSpawner, Spawner};
use mainspring_core::sync::thread_local;
use mainspring_core::task::{JoinHandle, TaskInfo, TaskRef};
use mainspring_core::time::{self, Deadline, Nanos};
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

thread_local! {
    /// The executor that is running on this thread, for the free functions.
    pub(crate) static CURRENT: Slot<Hub> = const { Slot::new() };
}

/// Runs tasks on the thread that made it: `!Send` futures, one queue, no locks between them.
///
/// Use one per core for services whose connections stay where they were accepted, one per thread
/// for anything that holds `Rc`s, and one beside a foreign event loop (see
/// [`tick`](Self::tick)). For tasks that should move to whichever core is idle, use a pool.
///
/// Tasks run inside [`block_on`](Self::block_on) or [`tick`](Self::tick) and wait otherwise, and so
/// does whatever the driver serves. Dropping the executor drops every task that has not ended, at
/// home.
///
/// # Guarantees
///
/// - Tasks are polled first in, first out; one that yields goes to the tail.
/// - After at most 61 polls, or about 200 µs of them, the driver is looked at.
/// - A panic in a task ends that task alone: its [`JoinHandle`] tells, or the unobserved-failure
///   hook when nobody joins.
/// - Wakers may be called and dropped on any thread, also after the executor is gone.
///
/// # Complexity and allocation
///
/// A spawn allocates the task, once. Waking, queueing and polling allocate nothing and are O(1); a
/// wake from another thread costs one compare-exchange, and one unpark if it is the first since the
/// executor looked.
///
/// # Examples
///
/// ```
/// use mainspring_executor::{LocalExecutor, spawn_local};
/// use std::rc::Rc;
///
/// let executor = LocalExecutor::new();
/// let shared = Rc::new(20);
/// let sum = executor.block_on(async {
///     let other = Rc::clone(&shared);
///     let task = spawn_local(async move { *other + 1 });
///     task.await.map(|n| n + *shared)
/// });
/// assert_eq!(sum.ok(), Some(41));
/// ```
pub struct LocalExecutor {
    /// Taken out while it runs.
    worker: RefCell<Option<Worker>>,
    hub: Arc<Hub>,
    spawner: Spawner,
    local_spawner: LocalSpawner,
    controller: Controller,
    grace: Option<Duration>,
    one_thread: PhantomData<*const ()>,
}

impl LocalExecutor {
    /// An executor that waits on its thread alone. Timers and sockets used in it are served by the
    /// family's fallback threads.
    #[must_use]
    pub fn new() -> Self {
        Self::with_driver(Box::new(ThreadDriver::new()))
    }

    /// An executor that waits in `driver`: a reactor, a timer driver around one, or your own.
    #[must_use]
    pub fn with_driver(driver: Box<dyn Driver>) -> Self {
        let hub = Hub::new(driver.handle());
        Self {
            worker: RefCell::new(Some(Worker::new(hub.shared.clone(), driver))),
            spawner: Spawner::of(hub.clone()),
            local_spawner: LocalSpawner::of(Rc::new(hub.clone())),
            hub: Arc::new(hub),
            controller: Controller::new(),
            grace: None,
            one_thread: PhantomData,
        }
    }

    /// How long tasks are polled in a [`shutdown`](Self::shutdown) before they are dropped, at most
    /// as long as it may take in all. Unless told otherwise, half of that.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Spawns a task on this executor. It runs when the executor next does.
    ///
    /// Dropping the handle detaches the task. After the executor has shut down, the task is
    /// cancelled at once.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // SAFETY: [hub.home] an executor stays on the thread that made it.
        unsafe { self.hub.spawn_local(future) }
    }

    /// A handle that other threads spawn through, closures of futures that need not be `Send`.
    #[must_use]
    pub fn home(&self) -> Home {
        Home::new((*self.hub).clone())
    }

    /// A handle that any code spawns `Send` futures and cleanups through, from any thread. It is
    /// what [`spawn::current`](mainspring_core::spawn::current) gives inside.
    #[must_use]
    pub fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Runs `future`, and the executor's tasks beside it, until `future` is ready.
    ///
    /// The future need be neither `Send` nor `'static`. Tasks that have not ended by then wait for
    /// the next call.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. What `future` panics with
    /// is passed on; the executor stays usable.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        refuse_inside_a_poll();
        let mut running = Running::begin(self);
        let root = Root::new(Arc::clone(self.hub.shared.driver()));
        let waker = root.waker();
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        let mut polled = poll::Root::new();
        let mut now = time::now();
        loop {
            if root.take() {
                poll::begin_turn(now);
                let result = polled.poll(|| future.as_mut().poll(&mut cx));
                if let Poll::Ready(output) = result {
                    running.leave();
                    return output;
                }
            }
            let worker = running.worker();
            let step = worker.step(now);
            if step == Step::Busy {
                worker.over(time::now());
            }
            let until = if root.is_woken() {
                Until::Now
            } else {
                step.until(Deadline::never())
            };
            now = worker.park(until).now;
        }
    }

    /// Looks at the driver without waiting and runs one turn of tasks: what a foreign event loop
    /// calls.
    ///
    /// With [`Step::Busy`] there is more to do at once. With [`Step::Idle`] wait until the moment
    /// that [`next_deadline`](Self::next_deadline) says, or until a task of yours is woken.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family.
    #[track_caller]
    pub fn tick(&self) -> Step {
        refuse_inside_a_poll();
        let mut running = Running::begin(self);
        let worker = running.worker();
        let turn = worker.park(Until::Now);
        worker.step(turn.now)
    }

    /// Makes the driver's services current on this thread while the guard lives: sockets that are
    /// made under it, and sleeps that are first polled under it, belong to this executor's driver.
    ///
    /// Nothing runs: the driver serves nobody until [`block_on`](Self::block_on),
    /// [`tick`](Self::tick) or [`shutdown`](Self::shutdown) parks on it, and the free functions
    /// that spawn find no executor. Inside those calls it is current anyway.
    ///
    /// A guard that is forgotten keeps the driver's services current for the rest of the thread's
    /// life, and some of its memory with them; see [`Entered`].
    pub fn enter(&self) -> Entered {
        self.hub.shared.driver().enter()
    }

    /// A lower bound of when the driver has something to do, if it knows of anything.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.hub.shared.driver().next()
    }

    /// How many tasks have not ended, cleanups not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hub.shared.alive(Lane::Tasks)
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every task that has not ended, newest first: where it was spawned, what it waits for and
    /// since when. Polls nobody.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.infos(Lane::Tasks)
    }

    /// What the executor has done, as that of one worker.
    ///
    /// It counts polls and parks, and says how many tasks there are and how many are ready. What
    /// would cost it a look at the clock, how long it was busy above all, is not measured and reads
    /// zero; so does what only a pool has.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.hub.metrics().unwrap_or_default()
    }

    /// Ends the executor within about `limit`, and tells how it went.
    ///
    /// In order: nothing new may be spawned, cleanups excepted; the
    /// [shutdown signal](mainspring_core::shutdown::signal) fires; tasks are polled until they end
    /// or their [grace](Self::grace), half of the time, has passed; the rest is dropped; cleanups
    /// are polled until they end or all of the time has passed, and what is left of them is dropped
    /// unrun; blocking jobs that have not begun are refused, and those that run are waited for as
    /// long as there is time, [abandonable](mainspring_core::blocking::Blocking::Abandonable) ones
    /// not at all.
    ///
    /// A poll or a destructor that takes long makes the shutdown take longer: it is this thread.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family.
    #[track_caller]
    pub fn shutdown(&self, limit: Duration) -> ShutdownReport {
        refuse_inside_a_poll();
        let began = time::now();
        let Moments { grace, deadline } = Moments::within(limit, self.grace, began);
        self.hub.overruns().keep();
        self.hub.shared.close(Lane::Tasks);
        self.controller.request(deadline);
        self.drive_lane(Lane::Tasks, grace);
        let dropped = self.end_lane(Lane::Tasks);
        self.drive_lane(Lane::Cleanup, deadline);
        self.hub.shared.close(Lane::Cleanup);
        // Those that stood before the door when it was closed.
        self.drive_lane(Lane::Cleanup, deadline);
        let unfinished_cleanups = self.end_lane(Lane::Cleanup);
        let refused_jobs = self.hub.blocking().close();
        self.wait_for_jobs(deadline);
        ShutdownReport {
            dropped,
            unfinished_cleanups,
            overran_cleanups: self.hub.overruns().take(),
            refused_jobs,
            abandoned_jobs: self.hub.blocking().jobs(),
            took: time::now().since(began),
            ..ShutdownReport::default()
        }
    }

    fn infos(&self, lane: Lane) -> Vec<TaskInfo> {
        // An executor stays at home.
        self.hub.infos(lane).unwrap_or_default()
    }

    /// Drops every task of a closed lane, at home, and says what they were.
    fn end_lane(&self, lane: Lane) -> Vec<TaskInfo> {
        let infos = self.infos(lane);
        self.hub.shared.tasks(lane).iter().for_each(TaskRef::abort);
        // No deadline: the last tasks may have been woken by threads that have not pushed them yet,
        // and nobody else may drop their futures.
        self.drive_lane(lane, Deadline::never());
        infos
    }

    /// Runs whatever is ready until a lane is empty or `deadline` has passed.
    fn drive_lane(&self, lane: Lane, deadline: Deadline) {
        let shared = &self.hub.shared;
        if shared.alive(lane) == 0 {
            return;
        }
        let mut running = Running::begin(self);
        let mut now = time::now();
        while !deadline.has_passed(now) {
            let step = running.worker().step(now);
            if shared.alive(lane) == 0 {
                running.leave();
                return;
            }
            now = running.worker().park(step.until(deadline)).now;
        }
    }

    fn wait_for_jobs(&self, deadline: Deadline) {
        let mut drained = pin!(self.hub.blocking().drained());
        let mut limit = pin!(time::sleep(deadline.remaining(time::now())));
        self.block_on(poll_fn(|cx| {
            if drained.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            limit.as_mut().poll(cx)
        }));
    }
}

impl Drop for LocalExecutor {
    fn drop(&mut self) {
        self.hub.shared.close(Lane::Tasks);
        self.controller.request(Deadline::from_nanos(time::now()));
        self.end_lane(Lane::Tasks);
        self.hub.shared.close(Lane::Cleanup);
        self.end_lane(Lane::Cleanup);
        self.hub.blocking().close();
    }
}

impl Default for LocalExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor")
            .field("tasks", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
