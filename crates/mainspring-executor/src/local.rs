//! An executor of one thread, for tasks that need not be `Send`.

pub(crate) mod shared;

use self::shared::{Admission, Shared, SharedRef};
use crate::block_on::refuse_inside_a_poll;
use crate::home::Home;
use crate::root::Root;
use crate::worker::{Step, Worker};
use mainspring_core::context::{Entered, Slot};
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::poll::{self, Polling};
use mainspring_core::task::{self, JoinHandle, Resident, SchedulerRef, TaskInfo, TaskRef};
use mainspring_core::time::{self, Nanos};
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a free function needs of the executor that is running on this thread.
pub(crate) struct Current {
    pub(crate) shared: SharedRef,
    pub(crate) scheduler: SchedulerRef,
}

thread_local! {
    pub(crate) static CURRENT: Slot<Current> = const { Slot::new() };
}

/// Runs tasks on the thread that made it: `!Send` futures, one queue, no locks between them.
///
/// Use one per core for services whose connections stay where they were accepted, one per thread
/// for anything that holds `Rc`s, and one beside a foreign event loop (see
/// [`tick`](Self::tick)). For tasks that should move to whichever core is idle, use a pool.
///
/// Tasks run inside [`block_on`](Self::block_on) or [`tick`](Self::tick) and wait otherwise.
/// Dropping the executor drops every task that has not ended, at home.
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
    current: Arc<Current>,
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
        let shared = Shared::new(driver.handle());
        let scheduler = SchedulerRef::local(shared.clone());
        let worker = Worker::new(shared.clone(), driver);
        let current = Arc::new(Current { shared, scheduler });
        Self {
            worker: RefCell::new(Some(worker)),
            current,
            one_thread: PhantomData,
        }
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
        self.current.spawn(future)
    }

    /// A handle that other threads spawn through.
    #[must_use]
    pub fn home(&self) -> Home {
        Home::new(self.current.shared.clone(), self.current.scheduler.clone())
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
        let root = Root::new(Arc::clone(self.current.shared.driver()));
        let waker = root.waker();
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        let mut now = time::now();
        loop {
            if root.take() {
                poll::begin_turn(now);
                let polling = Polling::root();
                let result = future.as_mut().poll(&mut cx);
                drop(polling);
                if let Poll::Ready(output) = result {
                    return output;
                }
            }
            let worker = running.worker();
            let step = worker.step(now);
            let until = match step {
                Step::Idle if !root.is_woken() => Until::Forever,
                Step::Idle | Step::Busy => Until::Now,
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

    /// A lower bound of when the driver has something to do, if it knows of anything.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.current.shared.driver().next()
    }

    /// How many tasks have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.current.shared.alive()
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
        let now = time::coarse();
        let mut tasks = Vec::with_capacity(self.len());
        self.current
            .shared
            .for_each_task(|task| tasks.push(task.info(now)));
        tasks
    }

    /// Ends every task, at home, and refuses new ones from now on.
    fn end_all(&self) {
        let shared = &self.current.shared;
        shared.close();
        // Aborting only schedules, so the registry may be looked at meanwhile; and nothing joins it
        // any more.
        shared.for_each_task(TaskRef::abort);
        let mut running = Running::begin(self);
        let mut now = time::now();
        while shared.alive() > 0 {
            let until = match running.worker().step(now) {
                Step::Busy => Until::Now,
                // The last tasks were woken by threads that have not pushed them yet.
                Step::Idle if shared.alive() > 0 => Until::Forever,
                Step::Idle => break,
            };
            now = running.worker().park(until).now;
        }
    }
}

impl Drop for LocalExecutor {
    fn drop(&mut self) {
        self.end_all();
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

impl Current {
    /// Makes a task of this executor, whose home the calling thread is.
    #[track_caller]
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let (runnable, handle) = task::create_local(future, self.scheduler.clone());
        match self.shared.admit(runnable) {
            Admission::Admitted => {}
            // Cancels the task, here at home.
            Admission::Refused(runnable) => drop(runnable),
        }
        handle
    }
}

/// The executor runs on this thread until this is dropped.
struct Running<'a> {
    executor: &'a LocalExecutor,
    worker: Option<Worker>,
    outer_turn: Nanos,
    _entered: Entered,
    _resident: Resident,
}

impl<'a> Running<'a> {
    #[track_caller]
    fn begin(executor: &'a LocalExecutor) -> Self {
        let worker = executor.worker.take();
        assert!(
            worker.is_some(),
            "MS0002: this executor is running already, further up on this thread's stack \
             (docs/errors.md)"
        );
        let current = &executor.current;
        let entered = current.shared.driver().enter();
        Self {
            executor,
            worker,
            outer_turn: poll::turn_now(),
            _entered: entered.and(Entered::new(&CURRENT, Arc::clone(current))),
            _resident: current.scheduler.enter(),
        }
    }

    fn worker(&mut self) -> &mut Worker {
        self.worker
            .as_mut()
            .expect("the worker is here until `Running` is dropped")
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.executor.worker.replace(self.worker.take());
        poll::begin_turn(self.outer_turn);
    }
}

#[cfg(test)]
mod tests;
