//! How a pool is made.

use super::Pool;
use super::counters::Counters;
use super::hub::{Hub, Station};
use super::remote::{Remote, Slot};
use super::seat::Seats;
use super::shared::Shared;
use super::thread::{self, Hook, MakeDriver, Order, Plan, Report};
use crate::queue::local::Local;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver};
use mainspring_core::task::Runnable;
use mainspring_core::time::Domain;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The most workers that a pool may have: more than any machine has cores.
const WORKERS_MAX: usize = 4096;

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
    on_start: Option<Box<Hook>>,
    on_stop: Option<Box<Hook>>,
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
            on_start: None,
            on_stop: None,
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

    /// Starts the workers, and returns when all of them are ready.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for no workers or more than 4,096, and for a
    /// name with a zero byte in it; what the operating system says about threads; what the driver's
    /// maker says, a panic included. The threads that were started have ended then.
    pub fn build(self) -> io::Result<Pool> {
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
        let plan = Arc::new(Plan {
            driver: self.driver,
            domain: Domain::new(),
            on_start: self.on_start,
            on_stop: self.on_stop,
        });
        let (reports, inbox) = channel();
        let mut started = Vec::with_capacity(workers);
        let mut queues = Vec::with_capacity(workers);
        let begun = begin(
            &plan,
            workers,
            &self.name,
            &reports,
            &mut started,
            &mut queues,
        );
        // From here on the threads alone report: if one of them dies, waiting for it ends.
        drop(reports);
        let hub = begun.and_then(|()| introduce(&inbox, &started, queues, &plan, self.name));
        let threads = started.into_iter();
        match hub {
            Ok(hub) => Ok(Pool::assemble(
                hub,
                threads.map(|started| started.thread).collect(),
            )),
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

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Starts the threads.
fn begin(
    plan: &Arc<Plan>,
    workers: usize,
    name: &str,
    reports: &Sender<Report>,
    started: &mut Vec<Started>,
    queues: &mut Vec<crate::queue::local::Stealer<Runnable>>,
) -> io::Result<()> {
    for index in 0..workers {
        let queue = Local::new();
        queues.push(queue.stealer());
        let (orders, inbox) = channel();
        let (plan, reports) = (Arc::clone(plan), reports.clone());
        let thread = std::thread::Builder::new()
            .name(format!("{name}-{index}"))
            .spawn(move || thread::run(&plan, index, queue, &reports, &inbox))?;
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
) -> io::Result<Hub> {
    let drivers = gather(inbox, started.len(), |report| match report {
        Report::Driver(index, driver) => Some((index, driver)),
        _ => None,
    })?;
    let shared = Shared::new(remotes(drivers, queues));
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
        .map(|(driver, queue)| Remote {
            slot: Slot::new(),
            queue,
            driver,
            counters: Counters::new(),
        })
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
