//! One job: the closure before, its result after.

use super::group::{Ticket, Unsettled};
use super::{Blocking, BlockingError, JobInfo};
use crate::handshake::completion::{Completer, Completion, completion};
use crate::payload::absorb;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A job that somebody else is to run: what a group with a
/// [runner](super::BlockingGroup::with_runner) hands over.
///
/// Dropped, it is cancelled: its future resolves to
/// [`Cancelled`](BlockingError::Cancelled).
#[must_use = "dropping the job cancels it"]
pub struct Job(Box<dyn Work>);

impl Job {
    /// Runs it here. A panic in it goes to whoever waits for its result.
    pub fn run(mut self) {
        self.work();
        self.finish();
    }

    /// The class it was submitted for.
    #[must_use]
    pub fn class(&self) -> Blocking {
        self.0.class()
    }

    /// What its group knows of it.
    pub(super) fn info(&self) -> Option<JobInfo> {
        self.0.info()
    }

    /// The first half of `run`: calls the closure.
    pub(super) fn work(&mut self) {
        self.0.work();
    }

    /// The second half: hands over the result. Wakers, and drops of closures and of results that
    /// nobody waits for, must not unwind into the pool's code. The job counts nowhere any more when
    /// its waiter learns.
    pub(super) fn finish(self) {
        absorb(|| self.0.finish());
    }

    /// Hands over an error instead of running it.
    pub(super) fn fail(self, error: BlockingError) {
        absorb(|| self.0.fail(error));
    }
}

trait Work: Send {
    fn class(&self) -> Blocking;
    fn info(&self) -> Option<JobInfo>;
    fn work(&mut self);
    fn finish(self: Box<Self>);
    fn fail(self: Box<Self>, error: BlockingError);
}

struct Typed<F, T> {
    state: State<F, T>,
    // In this order, also where the job is dropped: out of the count, told, settled.
    ticket: Ticket,
    completer: Completer<Result<T, BlockingError>>,
    unsettled: Unsettled,
}

enum State<F, T> {
    Queued(F),
    Done(Result<T, BlockingError>),
    /// While the closure runs.
    Running,
}

impl<F, T> Work for Typed<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    fn class(&self) -> Blocking {
        self.ticket.class()
    }

    fn info(&self) -> Option<JobInfo> {
        self.ticket.info()
    }

    fn work(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Running) {
            State::Queued(closure) => {
                self.ticket.start();
                let result = catch_unwind(AssertUnwindSafe(closure));
                let submitted_at = self.ticket.submitted_at();
                State::Done(result.map_err(|payload| BlockingError::Panicked {
                    payload,
                    submitted_at,
                }))
            }
            done => done,
        };
    }

    fn finish(self: Box<Self>) {
        let result = match self.state {
            State::Done(result) => result,
            State::Queued(_) | State::Running => Err(BlockingError::Cancelled),
        };
        give(self.ticket, self.completer, self.unsettled, result);
    }

    fn fail(self: Box<Self>, error: BlockingError) {
        drop(self.state);
        give(self.ticket, self.completer, self.unsettled, Err(error));
    }
}

/// First out of the count, then to the waiter, who may look at the count; settled when it is told,
/// on unwind too.
fn give<T>(
    ticket: Ticket,
    completer: Completer<Result<T, BlockingError>>,
    unsettled: Unsettled,
    result: Result<T, BlockingError>,
) {
    drop(ticket);
    // Nobody waits any more: the result is dropped here, on the pool's thread.
    drop(completer.complete(result));
    // CLAIM: [group.settled] after the waker of whoever waits was called.
    drop(unsettled);
}

/// A job, and what its owner waits on.
pub(super) fn new<F, T>(
    closure: F,
    (ticket, unsettled): (Ticket, Unsettled),
) -> (Job, Completion<Result<T, BlockingError>>)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (completer, result) = completion();
    let typed = Typed {
        state: State::Queued(closure),
        ticket,
        completer,
        unsettled,
    };
    (Job(Box::new(typed)), result)
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("class", &self.class()).finish()
    }
}
