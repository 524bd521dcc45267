//! Threads for work that blocks: system calls without an asynchronous form, and long computations.
//!
//! [`run`] hands a closure to a pool that the whole process shares and gives back a future of its
//! result. The pool has one lane per [class](Blocking), so that a queue of computations does not
//! delay a file, and a name look-up that hangs delays neither.
//!
//! ```
//! use mainspring_core::blocking::{self, Blocking};
//!
//! # use std::{pin::pin, sync::Arc, task::{Context, Poll, Waker}};
//! # use mainspring_core::park::Parker;
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     let parker = Parker::new();
//! #     let waker = Waker::from(Arc::new(parker.unparker()));
//! #     let mut future = pin!(future);
//! #     loop {
//! #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
//! #             Poll::Ready(output) => return output,
//! #             Poll::Pending => parker.park(),
//! #         }
//! #     }
//! # }
//! let sum = block_on(async {
//!     blocking::run(Blocking::Compute, || (1..=10_u64).sum::<u64>()).await
//! });
//! assert_eq!(sum.ok(), Some(55));
//! ```
//!
//! # Who waits for what at the end
//!
//! A runtime enters a [`BlockingGroup`] of its own; what its tasks run counts there, and its
//! shutdown waits for its own group only. [`Blocking::Abandonable`] jobs are never waited for.
//! What is left at the deadline can be [named](BlockingGroup::jobs).

mod class;
mod group;
mod job;
mod queue;

#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
mod process;
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
use self::process::{lane, ungrouped};

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
mod none;
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
use self::none::{lane, ungrouped};

pub use self::class::Blocking;
pub use self::group::{BlockingGroup, Drained, JobInfo, JobState, enter, entered};
pub use self::job::Job;
pub use self::queue::LaneStats;

use self::queue::Lane;
use crate::handshake::completion::Completion;
use crate::payload::message;
use crate::wait::{self, WaitKind};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs `work` on the pool and resolves to what it returns.
///
/// Use it for calls that may block for longer than some microseconds, with the class that says
/// why. Do not use it for work that never ends (start a thread), nor for a few microseconds of
/// arithmetic (the hand-over costs ten).
///
/// The job is queued now, not at the first poll. It counts in the [group](BlockingGroup) that was
/// [entered](enter) on this thread.
///
/// # Cancel safety
///
/// *Loses value*: dropped while the job is queued, the job is taken out and never runs; dropped
/// while it runs, it runs to its end and the result is discarded.
/// [`detach`](BlockingTask::detach) lets it run in any case.
///
/// # Guarantees
///
/// A job that was accepted is run, cancelled by its owner, or failed with an error: never
/// forgotten. A job is started at once while its lane has an idle thread or may start one, else in
/// the order of submission. A panic in it is the result of this future and takes no thread down.
///
/// Allocates twice. A system that refuses to start a thread is no error while the lane has one
/// left.
#[track_caller]
pub fn run<T, F>(class: Blocking, work: F) -> BlockingTask<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    group::current().run_at(class, work, Location::caller())
}

/// What one lane of the pool has at this moment.
#[must_use]
pub fn stats(class: Blocking) -> LaneStats {
    lane(class).stats()
}

/// Sets how many threads a lane may have. Those above it retire when they are next idle; jobs that
/// the old limit held up are started. A limit of zero counts as one.
///
/// For containers whose processor share the system does not tell, and for programs that know how
/// many calls block at once.
pub fn set_thread_limit(class: Blocking, threads_max: usize) {
    lane(class).set_thread_limit(threads_max);
}

/// The result of a job on the pool, to come. See [`run`].
///
/// # Cancel safety
///
/// *Loses value*: dropped while the job is queued, the job never runs; dropped while it runs, the
/// result is discarded.
#[must_use = "dropping it cancels the job if it is still queued"]
pub struct BlockingTask<T> {
    result: Completion<Result<T, BlockingError>>,
    /// Where the job is queued, and as which number; `None` if it is detached, or elsewhere.
    queued: Option<(&'static Lane, u64)>,
}

impl<T> BlockingTask<T> {
    /// Lets the job run, and forgets the result.
    pub fn detach(mut self) {
        self.queued = None;
    }

    /// Takes the job out if it is still queued: it never runs, its closure is dropped here, and the
    /// result is [`BlockingError::Cancelled`]. Otherwise nothing happens.
    pub fn cancel(&mut self) -> OnCancelJob {
        match self.queued.take() {
            Some((lane, number)) => match lane.take_out(number) {
                Some(job) => {
                    drop(job);
                    OnCancelJob::Cancelled
                }
                None => OnCancelJob::TooLate,
            },
            None => OnCancelJob::TooLate,
        }
    }
}

/// What [`BlockingTask::cancel`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCancelJob {
    /// The job was queued, and will not run.
    Cancelled,
    /// It is running, or has ended.
    TooLate,
}

impl<T> Future for BlockingTask<T> {
    type Output = Result<T, BlockingError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match Pin::new(&mut this.result).poll(cx) {
            Poll::Ready(result) => {
                this.queued = None;
                Poll::Ready(result.unwrap_or(Err(BlockingError::Cancelled)))
            }
            Poll::Pending => {
                wait::note(
                    WaitKind::Blocking,
                    this.queued.map_or(0, |(_, number)| number),
                );
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for BlockingTask<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<T> fmt::Debug for BlockingTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingTask")
            .field("number", &self.queued.map(|(_, number)| number))
            .finish_non_exhaustive()
    }
}

/// Why a job has no result.
#[non_exhaustive]
pub enum BlockingError {
    /// It panicked.
    Panicked {
        /// What it panicked with, for [`std::panic::resume_unwind`].
        payload: Box<dyn Any + Send>,
        /// Where it was submitted.
        submitted_at: &'static Location<'static>,
    },
    /// It was taken out of the queue, or its result was taken already.
    Cancelled,
    /// Its group was closed before it started.
    Closed,
    /// The system refuses to start a thread, and the lane has none that could run it.
    NoThread(io::Error),
}

impl BlockingError {
    /// Whether the same job may succeed if it is tried again later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::NoThread(_))
    }
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked {
                payload,
                submitted_at,
            } => {
                write!(f, "the job (submitted at {submitted_at}) panicked")?;
                match message(&**payload) {
                    Some(message) => write!(f, ": {message}"),
                    None => Ok(()),
                }
            }
            Self::Cancelled => f.write_str("the job was cancelled before it started"),
            Self::Closed => f.write_str("the group of the job is closed"),
            Self::NoThread(error) => write!(
                f,
                "MS0007: no thread to run the job: {error} (docs/errors.md)"
            ),
        }
    }
}

impl fmt::Debug for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockingError({self})")
    }
}

impl Error for BlockingError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoThread(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
