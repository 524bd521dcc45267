//! How a pool is made.

use super::Pool;
use super::crew::{Crew, Goodbye, Manner, OnLeft};
use super::hub::{Hub, Station};
use super::remote::Remote;
use super::seat::Seats;
use super::shared::Shared;
use super::thread::{self, Hook, MakeDriver, Order, Plan, Report};
use super::watchdog::{self, StallHook};
use crate::queue::local::Local;
use crate::shutdown::ShutdownReport;
use crate::stall::StallReport;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver};
use mainspring_core::park::{Parker, Unparker};
use mainspring_core::poll::BUDGET_UNITS;
use mainspring_core::task::Runnable;
use mainspring_core::time::Domain;
use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most workers that a pool may have: more than any machine has cores.
const WORKERS_MAX: usize = 4096;

/// How long a poll may take unless told otherwise.
const STALL_THRESHOLD: Duration = Duration::from_millis(10);

/// The shortest threshold: half of it is what a thread can be woken after with some precision.
const STALL_THRESHOLD_MIN: Duration = Duration::from_millis(1);

/// What a [`Pool`] is to be like. Made by [`Pool::builder`].
///
/// ```
/// use mainspring_executor::Pool;
///
/// let pool = Pool::builder().workers(2).name("crunch").build()?;
/// assert_eq!((pool.workers(), pool.name()), (2, "crunch"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct PoolBuilder {
    workers: Option<usize>,
    name: Box<str>,
    driver: Box<MakeDriver>,
    budget_units: u32,
    stall_threshold: Option<Duration>,
    on_stall: Option<Box<StallHook>>,
    on_start: Option<Box<Hook>>,
    on_stop: Option<Box<Hook>>,
    grace: Option<Duration>,
    patience: Option<Duration>,
    on_left: Option<Box<OnLeft>>,
}

/// A thread that has been started and waits for orders.
struct Started {
    thread: JoinHandle<()>,
    orders: Sender<Order>,
}

impl PoolBuilder {
    pub(super) fn new() -> Self {
        Self {
            workers: None,
            name: "pool".into(),
            driver: Box::new(|_| Ok(Box::new(ThreadDriver::new()))),
            budget_units: BUDGET_UNITS,
            stall_threshold: Some(STALL_THRESHOLD),
            on_stall: None,
            on_start: None,
            on_stop: None,
            grace: None,
            patience: None,
            on_left: None,
        }
    }

    /// How many workers there are, a thread each. Unless told otherwise, as many as the process
    /// may use cores at once.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// What the workers wait in. `make` is called on each worker's own thread, with its number, and
    /// on each thread that calls [`Pool::block_on`], once, with a number above the workers'.
    ///
    /// Unless told otherwise they wait on their thread alone, and timers and sockets are served by
    /// the family's fallback threads.
    pub fn driver<F>(mut self, make: F) -> Self
    where
        F: Fn(usize) -> io::Result<Box<dyn Driver>> + Send + Sync + 'static,
    {
        self.driver = Box::new(make);
        self
    }

    /// What the pool is called in logs and in the names of its threads, `NAME-0` and so on.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// How many operations of the family one poll may complete before it is asked to let others
    /// run; [`BUDGET_UNITS`], which is 128, unless told otherwise.
    ///
    /// It bounds how long a task whose sockets and channels never run dry keeps the others waiting.
    /// Fewer units shorten that, and cost more polls for the same work. What a poll does beside
    /// such operations is not counted; see
    /// [`budget::consume`](mainspring_core::budget::consume).
    pub fn budget(mut self, units: u32) -> Self {
        self.budget_units = units;
        self
    }

    /// How long a poll may take before its worker counts as stuck; 10 ms unless told otherwise.
    /// With `None` nobody looks, and no thread is started for it.
    ///
    /// While a worker is stuck, others serve its tasks, its timers and its sockets, see
    /// [`Pool`](Pool#when-a-task-keeps-its-worker). A shorter threshold serves them sooner, costs a
    /// round of looks each half of it while the pool is not idle, and takes a thread that the
    /// system has stopped for a moment for one that is stuck; which does no harm, but is reported.
    pub fn stall_threshold(mut self, threshold: impl Into<Option<Duration>>) -> Self {
        self.stall_threshold = threshold.into();
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
    /// use mainspring_executor::Pool;
    /// use std::{sync::mpsc, thread, time::Duration};
    ///
    /// let (reports, inbox) = mpsc::channel();
    /// let pool = Pool::builder()
    ///     .workers(1)
    ///     .stall_threshold(Duration::from_millis(2))
    ///     .on_stall(move |report| drop(reports.send(report.clone())))
    ///     .build()?;
    /// // Blocks its worker, until the report of that has come.
    /// let task = pool.spawn(async move { inbox.recv() });
    /// let id = task.id();
    /// let report = pool.block_on(task).expect("no panic").expect("a report");
    /// assert_eq!(report.task.map(|task| task.id), Some(id));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_stall<F: Fn(&StallReport) + Send + Sync + 'static>(mut self, hook: F) -> Self {
        self.on_stall = Some(Box::new(hook));
        self
    }

    /// Calls `hook` on each worker's thread before it runs anything, with the worker's number:
    /// to pin the thread to a core, say. A panic in it is reported and contained.
    pub fn on_thread_start<F: Fn(usize) + Send + Sync + 'static>(mut self, hook: F) -> Self {
        self.on_start = Some(Box::new(hook));
        self
    }

    /// Calls `hook` on each worker's thread when it has run its last task. A panic in it is
    /// reported and contained.
    pub fn on_thread_stop<F: Fn(usize) + Send + Sync + 'static>(mut self, hook: F) -> Self {
        self.on_stop = Some(Box::new(hook));
        self
    }

    /// How long tasks are polled in a [shutdown](Pool::shutdown) before they are dropped, at most
    /// as long as it may take in all. Unless told otherwise, half of that; the other half is for
    /// destructors, cleanups and blocking jobs.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// How long nothing has to happen before a poll or a destructor that does not return is given
    /// up, and its thread left behind. Unless told otherwise, 5 seconds when the pool is dropped,
    /// and half a second in a [shutdown](Pool::shutdown), whose limit has to have passed, too.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Calls `hook` if the pool is dropped and has to leave something behind, with the report of
    /// what that is. Unless told otherwise, that is said on standard error (MS0020). A panic in it
    /// is reported and contained.
    ///
    /// After a [shutdown](Pool::shutdown), whose report says as much, it is called only for what is
    /// still there when the pool is dropped.
    pub fn on_left_behind<F>(mut self, hook: F) -> Self
    where
        F: Fn(&ShutdownReport) + Send + Sync + 'static,
    {
        self.on_left = Some(Box::new(hook));
        self
    }

    /// How many workers, and what budget, if all that was said can be.
    fn check(&self) -> io::Result<(usize, NonZeroU32)> {
        let workers = match self.workers {
            Some(workers) => workers,
            None => std::thread::available_parallelism()?.get(),
        };
        if !(1..=WORKERS_MAX).contains(&workers) {
            return Err(invalid(format!(
                "a pool has 1 to {WORKERS_MAX} workers, and {workers} were asked for"
            )));
        }
        if self.name.contains('\0') {
            return Err(invalid("no thread's name has a zero byte in it".to_owned()));
        }
        let Some(budget) = NonZeroU32::new(self.budget_units) else {
            let why = "a poll with a budget of nothing never comes to an end";
            return Err(invalid(why.to_owned()));
        };
        if self
            .stall_threshold
            .is_some_and(|threshold| threshold < STALL_THRESHOLD_MIN)
        {
            let why = format!("a stall threshold is {STALL_THRESHOLD_MIN:?} at least");
            return Err(invalid(why));
        }
        Ok((workers, budget))
    }

    /// Starts the workers, and returns when all of them are ready.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for no workers or more than 4,096, for a
    /// budget of nothing, a stall threshold below a millisecond, and a name with a zero byte in it;
    /// what the operating system says about threads; what the driver's maker says, a panic
    /// included. The threads that were started have ended then.
    pub fn build(self) -> io::Result<Pool> {
        let (workers, budget) = self.check()?;
        let plan = Arc::new(Plan {
            driver: self.driver,
            budget,
            domain: Domain::new(),
            on_start: self.on_start,
            on_stop: self.on_stop,
        });
        let manner = Manner {
            grace: self.grace,
            patience: self.patience,
            on_left: self.on_left,
        };
        let (reports, inbox) = channel();
        let goodbyes = channel();
        let mut started = Vec::with_capacity(workers);
        let mut queues = Vec::with_capacity(workers);
        let begun = begin(
            &plan,
            workers,
            &self.name,
            (&reports, &goodbyes.0),
            &mut started,
            &mut queues,
        );
        // From here on the threads alone report: if one of them dies, waiting for it ends.
        drop(reports);
        let parker = Parker::new();
        let watchdog = self.stall_threshold.map(|_| parker.unparker());
        let hub =
            begun.and_then(|()| introduce(&inbox, &started, queues, &plan, self.name, watchdog));
        let crew = Arc::new(Crew::new(goodbyes, manner));
        let watched = hub.and_then(|hub| {
            watch(&hub, &crew, self.stall_threshold, parker, self.on_stall)?;
            Ok(hub)
        });
        let threads = started.into_iter();
        match watched {
            Ok(hub) => {
                crew.enlist(threads.map(|started| started.thread));
                Ok(Pool::assemble(hub, crew))
            }
            Err(error) => {
                for Started { thread, orders } in threads {
                    drop(orders);
                    // It has ended by itself, or does now; what it panicked with was reported.
                    let _ = thread.join();
                }
                Err(error)
            }
        }
    }
}

/// Starts the watchdog, if there is to be one. If it cannot be, the pool stops.
fn watch(
    hub: &Hub,
    crew: &Arc<Crew>,
    threshold: Option<Duration>,
    parker: Parker,
    hook: Option<Box<StallHook>>,
) -> io::Result<()> {
    let Some(threshold) = threshold else {
        return Ok(());
    };
    let started = watchdog::start(hub.clone(), crew, parker, threshold, hook);
    started.inspect_err(|_| hub.shared().stop())
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Starts the threads.
fn begin(
    plan: &Arc<Plan>,
    workers: usize,
    name: &str,
    (reports, goodbyes): (&Sender<Report>, &Sender<usize>),
    started: &mut Vec<Started>,
    queues: &mut Vec<crate::queue::local::Stealer<Runnable>>,
) -> io::Result<()> {
    for index in 0..workers {
        let queue = Local::new();
        queues.push(queue.stealer());
        let (orders, inbox) = channel();
        let (plan, reports) = (Arc::clone(plan), reports.clone());
        let goodbye = Goodbye::new(index, goodbyes.clone());
        let thread = std::thread::Builder::new()
            .name(format!("{name}-{index}"))
            .spawn(move || {
                let _goodbye = goodbye;
                thread::run(&plan, index, queue, &reports, &inbox);
            })?;
        started.push(Started { thread, orders });
    }
    Ok(())
}

/// Makes the threads known to each other and sets them to work.
fn introduce(
    inbox: &Receiver<Report>,
    started: &[Started],
    queues: Vec<crate::queue::local::Stealer<Runnable>>,
    plan: &Arc<Plan>,
    name: Box<str>,
    watchdog: Option<Unparker>,
) -> io::Result<Hub> {
    let drivers = gather(inbox, started.len(), |report| match report {
        Report::Driver(index, driver) => Some((index, driver)),
        _ => None,
    })?;
    let shared = Shared::new(remotes(drivers, queues), watchdog);
    for thread in started {
        // One that has died is found missing below.
        let _ = thread.orders.send(Order::Meet(shared.clone()));
    }
    let stations: Vec<Station> = gather(inbox, started.len(), |report| match report {
        Report::Lane(index, station) => Some((index, station)),
        _ => None,
    })?;
    let seats = Seats::new(Arc::clone(plan), started.len());
    let hub = Hub::new(shared, stations, seats, name);
    for thread in started {
        let _ = thread.orders.send(Order::Work(hub.clone()));
    }
    Ok(hub)
}

fn remotes(
    drivers: Vec<Arc<dyn DriverHandle>>,
    queues: Vec<crate::queue::local::Stealer<Runnable>>,
) -> Vec<Remote> {
    let pairs = drivers.into_iter().zip(queues);
    pairs
        .map(|(driver, queue)| Remote::new(queue, driver))
        .collect()
}

/// Collects one report of each thread, in the order of their numbers.
fn gather<T>(
    inbox: &Receiver<Report>,
    many: usize,
    of: impl Fn(Report) -> Option<(usize, T)>,
) -> io::Result<Vec<T>> {
    let mut gathered: Vec<Option<T>> = (0..many).map(|_| None).collect();
    for _ in 0..many {
        match inbox.recv() {
            Ok(Report::Failed(error)) => return Err(error),
            Ok(report) => {
                if let Some((index, value)) = of(report) {
                    gathered[index] = Some(value);
                }
            }
            Err(_) => break,
        }
    }
    let gathered: Option<Vec<T>> = gathered.into_iter().collect();
    gathered.ok_or_else(|| io::Error::other("a worker's thread panicked while it started"))
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("workers", &self.workers)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
