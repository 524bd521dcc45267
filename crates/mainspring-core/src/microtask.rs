//! Jobs that run as soon as what is running now has ended, before anything else.
//!
//! An event loop has a queue for them, which it drains after every callback. Where no event loop
//! runs, a spawner stands in: its microtasks run one after the other, in order, as a task.
//!
//! ```
//! use mainspring_core::microtask;
//!
//! // Whoever is called back later captures its home now, and may be settled on any thread.
//! match microtask::current() {
//!     Some(home) => home.queue(|| println!("after this")),
//!     None => println!("neither an event loop nor a spawner is current here"),
//! }
//! ```

use crate::context::{Entered, Slot};
use crate::spawn::{self, Spawner};
use crate::sync::thread_local;
use std::fmt;
use std::sync::Arc;

/// A job, allocated by whoever will queue it, so that queueing it cannot fail.
pub type Job = Box<dyn FnOnce() + Send>;

/// The queue of an event loop. Called from any thread: from others than the loop's own it wakes the
/// loop.
pub trait MicrotaskQueue: Send + Sync + 'static {
    /// Runs `job` on the loop, after what is running now and what was queued before.
    fn queue(&self, job: Job);

    /// Runs `job` on the loop when the queue of microtasks is empty.
    fn at_checkpoint(&self, job: Job);
}

/// Where microtasks that are queued here run. Clones are the same place.
///
/// # Guarantees
///
/// In both forms jobs run one at a time, in the order in which they were queued, and never inside
/// [`queue`](Self::queue). On a spawner they may run on any of its threads, other tasks run beside
/// and between them, a job that panics is reported as a task that did, and when the executor has
/// shut down they are dropped unrun.
#[derive(Clone)]
pub struct Microtasks {
    home: Home,
}

#[derive(Clone)]
enum Home {
    Loop(Arc<dyn MicrotaskQueue>),
    Spawner(Spawner),
}

impl Microtasks {
    /// Those of an event loop.
    #[must_use]
    pub fn of(queue: Arc<dyn MicrotaskQueue>) -> Self {
        Self {
            home: Home::Loop(queue),
        }
    }

    /// Those of a spawner.
    #[must_use]
    pub fn on(spawner: &Spawner) -> Self {
        Self {
            home: Home::Spawner(spawner.clone()),
        }
    }

    /// Runs `job` soon. One allocation, unless `job` is a [`Job`].
    pub fn queue(&self, job: impl FnOnce() + Send + 'static) {
        self.queue_boxed(Box::new(job));
    }

    /// Runs `job` soon, without allocating for it.
    pub fn queue_boxed(&self, job: Job) {
        match &self.home {
            Home::Loop(queue) => queue.queue(job),
            Home::Spawner(spawner) => spawner.serial().queue(spawner, job),
        }
    }

    /// Runs `job` when no microtask is queued any more, those included that are queued meanwhile.
    pub fn at_checkpoint(&self, job: impl FnOnce() + Send + 'static) {
        let job = Box::new(job);
        match &self.home {
            Home::Loop(queue) => queue.at_checkpoint(job),
            Home::Spawner(spawner) => spawner.serial().at_checkpoint(spawner, job),
        }
    }
}

thread_local! {
    static MICROTASKS: Slot<dyn MicrotaskQueue> = const { Slot::new() };
}

/// Those of the event loop that runs this thread, else those of its spawner; `None` where there is
/// neither.
#[must_use]
pub fn current() -> Option<Microtasks> {
    match MICROTASKS.with(Slot::cloned) {
        Some(queue) => Some(Microtasks::of(queue)),
        None => spawn::current().as_ref().map(Microtasks::on),
    }
}

/// Makes `queue` this thread's, for an event loop's life.
pub fn enter(queue: Arc<dyn MicrotaskQueue>) -> Entered {
    Entered::new(&MICROTASKS, queue)
}

impl fmt::Debug for Microtasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_loop = matches!(self.home, Home::Loop(_));
        f.debug_struct("Microtasks")
            .field("is_event_loop", &is_loop)
            .finish_non_exhaustive()
    }
}
