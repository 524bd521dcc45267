//! How an executor ends whose tasks may borrow.
//!
//! The shutdown is a future like others that [`run`](Executor::run) runs, on the thread that asks
//! for it; whoever else is inside serves the tasks meanwhile, too.
//!
//! # Invariants
//!
//! - **executor-end.all** — when the shutdown returns every task of both lanes has ended. There is
//!   no deadline for that: a task may borrow what goes when its owner goes on, so nobody may leave
//!   one behind.

use super::Executor;
use crate::block_on::refuse_inside_a_poll;
use crate::shutdown::{Moments, ShutdownReport};
use mainspring_core::driver::{Driver, ThreadDriver};
use mainspring_core::spawn::Lane;
use mainspring_core::time::{self, Deadline};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

impl Executor<'_> {
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
    /// Tasks are polled and dropped by this thread and by those that are inside
    /// [`run`](Self::run). A poll or a destructor that does not return keeps this call, without
    /// limit: what it borrows must not end before. Of two threads that call this, the later one
    /// waits for the first.
    ///
    /// The thread waits on itself alone; [`shutdown_with`](Self::shutdown_with) takes a driver.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or a `block_on` of the family.
    ///
    /// ```
    /// use mainspring_executor::Executor;
    /// use std::{future::pending, time::Duration};
    ///
    /// let name = String::from("borrowed");
    /// let executor = Executor::new();
    /// executor.spawn(async { pending::<()>().await; drop(&name) }).detach();
    /// let report = executor.shutdown(Duration::ZERO);
    /// assert_eq!(report.dropped.len(), 1);
    /// ```
    #[track_caller]
    pub fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.shutdown_with(Box::new(ThreadDriver::new()), limit)
    }

    /// As [`shutdown`](Self::shutdown), waiting in `driver`: a reactor, a timer driver around one,
    /// or your own.
    ///
    /// # Panics
    ///
    /// As [`shutdown`](Self::shutdown).
    #[track_caller]
    pub fn shutdown_with(&self, driver: Box<dyn Driver>, limit: Duration) -> ShutdownReport {
        refuse_inside_a_poll();
        let began = time::now();
        let moments = Moments::within(limit, self.grace, began);
        self.shared.registry.close(Lane::Tasks);
        self.controller.request(moments.deadline);
        // CLAIM: [registry.told] one waiter at a time.
        let _alone = self.ending.lock();
        self.overruns.keep();
        let mut report = self.run_with(driver, self.end(moments));
        report.took = time::now().since(began);
        report
    }

    async fn end(&self, Moments { grace, deadline }: Moments) -> ShutdownReport {
        let registry = &self.shared.registry;
        until(grace, self.empty(Lane::Tasks)).await;
        let dropped = registry.abort(Lane::Tasks);
        // CLAIM: [executor-end.all] without a deadline.
        self.empty(Lane::Tasks).await;
        until(deadline, self.empty(Lane::Cleanup)).await;
        registry.close(Lane::Cleanup);
        // Those that stood before the door when it was closed.
        until(deadline, self.empty(Lane::Cleanup)).await;
        let unfinished_cleanups = registry.abort(Lane::Cleanup);
        // CLAIM: [executor-end.all] as above.
        self.empty(Lane::Cleanup).await;
        let refused_jobs = self.blocking.close();
        until(deadline, self.blocking.drained()).await;
        ShutdownReport {
            dropped,
            unfinished_cleanups,
            overran_cleanups: self.overruns.take(),
            refused_jobs,
            abandoned_jobs: self.blocking.jobs(),
            ..ShutdownReport::default()
        }
    }

    /// Waits until a closed lane is empty.
    fn empty(&self, lane: Lane) -> impl Future<Output = ()> {
        poll_fn(move |cx| self.shared.registry.poll_empty(lane, cx))
    }
}

/// Waits for `event`, until `deadline` at the latest.
async fn until(deadline: Deadline, event: impl Future<Output = ()>) {
    let mut event = pin!(event);
    let mut limit = pin!(time::sleep(deadline.remaining(time::now())));
    poll_fn(|cx| {
        if event.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        limit.as_mut().poll(cx)
    })
    .await;
}
