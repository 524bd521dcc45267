use crate::blocking::queue::Lane;
use crate::blocking::{Blocking, BlockingError, BlockingGroup, BlockingTask, job};
use crate::park::Parker;
use crate::tests::kept::keep;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Polls on this thread until it is ready.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = poll(future.as_mut(), &waker) {
            return output;
        }
        parker.park();
    }
}

pub(super) fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// A lane whose threads do not stay when they are idle.
pub(super) fn lane(
    threads_max: usize,
    start: fn(&'static Lane) -> io::Result<()>,
) -> &'static Lane {
    let lane = Lane::with(Blocking::Syscall, threads_max, Duration::ZERO, start);
    keep(lane)
}

/// Submits to `lane` what [`crate::blocking::run`] would submit to the process's.
pub(super) fn submit<T: Send + 'static>(
    lane: &'static Lane,
    group: &BlockingGroup,
    work: impl FnOnce() -> T + Send + 'static,
) -> BlockingTask<T> {
    let ticket = group.ticket(Blocking::Syscall, Location::caller());
    let (job, result) = job::new(work, ticket.expect("the group is open"));
    let number = lane.submit(0, job);
    BlockingTask {
        result,
        queued: Some((lane, number)),
    }
}

pub(super) fn value<T>(result: Result<T, BlockingError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
