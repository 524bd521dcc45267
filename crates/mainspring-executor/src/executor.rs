//! An executor whose tasks may borrow.
//!
//! # How the borrows stay sound
//!
//! Nothing may rest on a destructor: a value can be forgotten. So a task is polled, and its future
//! dropped, in three places only: inside [`Executor::run`], which borrows the executor; in the
//! executor's drop; and where a spawn is refused, by the spawner itself. The first two need the
//! executor, and while it can be used, what its tasks borrow is alive: its lifetime says so, and is
//! invariant. An executor that is forgotten keeps its tasks for ever, and polls none of them.
//!
//! # Invariants
//!
//! - **executor.inside** — tasks are polled and dropped by threads that are inside a method of the
//!   executor.
//! - **executor.kept** — the queue is part of what the tasks' schedulers keep, and a queued task
//!   keeps its scheduler: so no last waker, on whatever thread and however late, drops a queued
//!   runnable with its future.

mod end;
mod shared;

use self::shared::{Launcher, Scheduler, Shared, SharedRef};
use crate::block_on::refuse_inside_a_poll;
use crate::drive::Drive;
use crate::outer_turn::OuterTurn;
use crate::pace::Pace;
use crate::root::Root;
use crate::shutdown::Overruns;
use mainspring_core::blocking::BlockingGroup;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver, Until};
use mainspring_core::shutdown::Controller;
use mainspring_core::spawn::{self, Lane, Spawner};
use mainspring_core::sync;
use mainspring_core::sync::Mutex;
use mainspring_core::task::{self, JoinHandle, SchedulerRef, TaskInfo, TaskRef};
use mainspring_core::time::{self, Deadline};
use mainspring_core::{blocking, poll, shutdown};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Runs tasks that may borrow from outside, on the threads that call [`run`](Self::run).
///
/// For work that is parallel for a while and then over, on data that the caller owns; and for
/// whoever wants to bring the threads. Tasks that need not borrow are faster on a
/// [`Pool`](crate::Pool): here all threads share one queue.
///
/// Tasks run while some thread is inside `run`, and wait otherwise. Dropping the executor drops
/// those that have not ended.
///
/// # Guarantees
///
/// - Tasks are polled first in, first out; one that yields goes to the end.
/// - A panic in a task ends that task alone.
/// - No task waits while all threads inside `run` sleep.
///
/// # Complexity and allocation
///
/// A spawn allocates the task, once, and takes a short lock. Queueing is O(1).
///
/// ```
/// use mainspring_executor::Executor;
///
/// let words = vec![String::from("borrowed"), String::from("not moved")];
/// let executor = Executor::new();
/// let tasks: Vec<_> = words.iter().map(|word| executor.spawn(async { word.len() })).collect();
/// let total = executor.run_on(2, async {
///     let mut total = 0;
///     for task in tasks {
///         total += task.await.unwrap_or(0);
///     }
///     total
/// });
/// assert_eq!(total, 17);
/// ```
///
/// What a task borrows has to live longer than the executor:
///
/// ```compile_fail
/// use mainspring_executor::Executor;
///
/// let executor = Executor::new();
/// let word = String::from("gone too early");
/// executor.spawn(async { word.len() }).detach();
/// drop(word);
/// executor.run(async {});
/// ```
pub struct Executor<'a> {
    shared: SharedRef,
    tasks: SchedulerRef,
    spawner: Spawner,
    controller: Controller,
    blocking: BlockingGroup,
    overruns: Arc<Overruns>,
    grace: Option<Duration>,
    /// Held by who ends it: the registry tells one waiter.
    ending: Mutex<()>,
    /// Invariant: a longer-lived executor must not pass for one that takes shorter-lived futures.
    lifetime: PhantomData<Cell<&'a ()>>,
}

// SAFETY: [executor.inside] the tasks are `Send`, and the rest is shared by its own means; the
// marker holds nothing.
unsafe impl Send for Executor<'_> {}
// SAFETY: [executor.inside] as above.
unsafe impl Sync for Executor<'_> {}

impl<'a> Executor<'a> {
    /// An executor without tasks.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared::new();
        let scheduler = |lane| {
            SchedulerRef::from(sync::Arc::new(Scheduler {
                shared: shared.clone(),
                lane,
            }))
        };
        let overruns = Arc::new(Overruns::default());
        let launcher = Launcher {
            overruns: Arc::clone(&overruns),
            shared: shared.clone(),
            tasks: scheduler(Lane::Tasks),
            cleanups: scheduler(Lane::Cleanup),
        };
        Self {
            tasks: launcher.tasks.clone(),
            spawner: Spawner::of(launcher),
            shared,
            controller: Controller::new(),
            blocking: BlockingGroup::new(),
            overruns,
            grace: None,
            ending: Mutex::new(()),
            lifetime: PhantomData,
        }
    }

    /// How long tasks are polled in a [`shutdown`](Self::shutdown) before they are dropped, at most
    /// as long as it may take in all. Unless told otherwise, half of that.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Spawns a task, which may borrow what outlives the executor. It runs while some thread is
    /// inside [`run`](Self::run).
    ///
    /// Dropping the handle detaches the task. One allocation.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'a,
        F::Output: Send + 'a,
    {
        // SAFETY: [executor.inside] [executor.kept] it is polled and dropped by who is inside a
        // method of the executor, during whose life `'a` lasts; afterwards it is leaked. The output
        // is dropped there, too, or with the handle, whose type has its lifetime.
        let (runnable, handle) = unsafe { task::create_unchecked(future, self.tasks.clone()) };
        self.shared.launch(Lane::Tasks, runnable);
        handle
    }

    /// Runs `future`, and tasks beside it, on this thread until `future` is ready.
    ///
    /// Several threads may be inside at the same time: the tasks are served by all of them. Tasks
    /// that have not ended when the last one leaves wait for the next call.
    ///
    /// The thread waits on itself alone; [`run_with`](Self::run_with) takes a driver.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family. What `future` panics with is
    /// passed on.
    #[track_caller]
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        self.run_with(Box::new(ThreadDriver::new()), future)
    }

    /// As [`run`](Self::run), on this thread and on `threads - 1` others, which are started for it
    /// and have ended when this returns.
    ///
    /// A task whose poll does not return keeps this call, without limit: what it borrows must not
    /// end before.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run). If the system has no thread left, fewer run.
    #[track_caller]
    pub fn run_on<F: Future>(&self, threads: usize, future: F) -> F::Output {
        refuse_inside_a_poll();
        std::thread::scope(|scope| {
            let stops: Vec<_> = (1..threads)
                .filter_map(|_| {
                    let (stop, stopped) = mainspring_core::completion();
                    let run = move || {
                        // An error says that the other side has gone: stop, too.
                        let _ = self.run(stopped);
                    };
                    let thread = std::thread::Builder::new().spawn_scoped(scope, run);
                    thread.is_ok().then_some(stop)
                })
                .collect();
            let stops = Stops(stops);
            let output = self.run(future);
            drop(stops);
            output
        })
    }

    /// As [`run`](Self::run), waiting in `driver`: a reactor, a timer driver around one, or your
    /// own.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn run_with<F: Future>(&self, driver: Box<dyn Driver>, future: F) -> F::Output {
        refuse_inside_a_poll();
        let handle = driver.handle();
        let root = Root::new(Arc::clone(&handle));
        let waker = root.waker();
        let mut cx = Context::from_waker(&waker);
        let _turn = OuterTurn::keep();
        let _entered = handle.enter().and(self.enter());
        let _resident = self.tasks.enter();
        // On unwind, too: nobody else may have been woken for what is queued.
        let _leaving = HandOn(&self.shared);
        let mut runner = Runner {
            shared: &self.shared,
            drive: Drive::new(driver),
            pace: Pace::new(),
        };
        let mut future = pin!(future);
        let mut polled = poll::Root::new();
        let mut now = time::now();
        loop {
            poll::begin_turn(now);
            if root.take() {
                if let Poll::Ready(output) = polled.poll(|| future.as_mut().poll(&mut cx)) {
                    // What was dropped last, a socket say, is seen off.
                    let _turn = runner.drive.park(Until::Now);
                    return output;
                }
            }
            runner.turn(now);
            now = runner.wait(&handle, || root.is_woken());
        }
    }

    /// How many tasks have not ended, cleanups not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.registry.len(Lane::Tasks)
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every task that has not ended: where it was spawned, what it waits for and since when. Polls
    /// nobody.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.shared.registry.infos(Lane::Tasks)
    }

    /// What is current wherever its tasks are polled or dropped.
    fn enter(&self) -> Entered {
        spawn::enter(&self.spawner)
            .and(shutdown::enter(&self.controller.signal()))
            .and(blocking::enter(&self.blocking))
    }

    /// Drops every task of a closed lane, on this thread.
    fn end_lane(&self, lane: Lane) {
        let registry = &self.shared.registry;
        registry.tasks(lane).iter().for_each(TaskRef::abort);
        let mut driver = ThreadDriver::new();
        let root = Root::new(driver.handle());
        let waker = root.waker();
        let mut cx = Context::from_waker(&waker);
        loop {
            // An aborted task may be woken by a thread that has not pushed it yet.
            let _due = root.take();
            let is_empty = registry.poll_empty(lane, &mut cx).is_ready();
            while let Some(runnable) = self.shared.queue.pop() {
                let _ran = runnable.run();
            }
            if is_empty {
                return;
            }
            let sleeper = self.shared.fall_asleep(&driver.handle());
            if self.shared.queue.is_empty() && !root.is_woken() {
                // A thread driver has no errors; a spurious return looks again.
                let _turn = driver.park(Until::Forever);
            }
            self.shared.wake_up(sleeper);
        }
    }
}

/// One thread inside `run`.
struct Runner<'e> {
    shared: &'e Shared,
    drive: Drive,
    pace: Pace,
}

impl Runner<'_> {
    /// Polls tasks for a turn.
    fn turn(&mut self, now: time::Nanos) {
        let polls_max = self.pace.begin(now);
        let mut polls = 0;
        while polls < polls_max {
            let Some(runnable) = self.shared.queue.pop() else {
                break;
            };
            if polls == 0 {
                // Whoever was woken for several tasks takes one at a time.
                self.shared.hand_on();
            }
            let _ran = runnable.run();
            polls += 1;
            if self.drive.peek() {
                break;
            }
        }
        self.pace.end(now, polls, !self.shared.queue.is_empty());
    }

    /// Waits for something to do, and says what time it is then.
    fn wait(
        &mut self,
        driver: &Arc<dyn DriverHandle>,
        is_root_woken: impl Fn() -> bool,
    ) -> time::Nanos {
        let is_work_left = !self.shared.queue.is_empty();
        if is_work_left {
            // What follows is the driver's time.
            self.pace.over(time::now());
        }
        if is_work_left || is_root_woken() {
            return self.drive.park(Until::Now).now;
        }
        let sleeper = self.shared.fall_asleep(driver);
        let until = if self.shared.queue.is_empty() && !is_root_woken() {
            Until::Forever
        } else {
            Until::Now
        };
        let turn = self.drive.park(until);
        self.shared.wake_up(sleeper);
        turn.now
    }
}

/// Tells the other threads of a `run_on` to stop, on unwind too.
struct Stops(Vec<mainspring_core::Completer<()>>);

impl Drop for Stops {
    fn drop(&mut self) {
        for stop in self.0.drain(..) {
            // One that does not listen any more has stopped.
            let _ = stop.complete(());
        }
    }
}

/// Somebody leaves.
struct HandOn<'e>(&'e Shared);

impl Drop for HandOn<'_> {
    fn drop(&mut self) {
        self.0.hand_on();
    }
}

impl Drop for Executor<'_> {
    /// Drops every task that has not ended, on this thread. No other thread is inside.
    fn drop(&mut self) {
        self.shared.registry.close(Lane::Tasks);
        self.controller.request(Deadline::from_nanos(time::now()));
        // Destructors find what they would find in a poll.
        let _entered = self.enter();
        self.end_lane(Lane::Tasks);
        self.shared.registry.close(Lane::Cleanup);
        self.end_lane(Lane::Cleanup);
        self.blocking.close();
    }
}

impl Default for Executor<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("tasks", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
