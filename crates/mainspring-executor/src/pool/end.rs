//! How a pool ends.
//!
//! # Invariants
//!
//! - **pool-end.all** — the workers run until every task of both lanes has ended: those that were
//!   admitted before a lane was closed are listed, and are aborted when their time is over.
//! - **pool-end.home** — a pinned task is dropped by its worker, which is the only one to get its
//!   runnable.
//! - **pool-end.not-itself** — who drops a pool inside a poll, be it of that pool's worker or of
//!   somebody else's, waits for no thread: the thread it waits for might wait for it.

use super::{Pool, desk};
use crate::root::Root;
use crate::shutdown::ShutdownReport;
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::poll;
use mainspring_core::spawn::Lane;
use mainspring_core::task::{TaskInfo, TaskRef, TaskState};
use mainspring_core::time::{self, Deadline};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Context;
use std::time::Duration;

/// See [`Pool::shutdown`].
pub(super) fn shutdown(pool: &Pool, limit: Duration) -> ShutdownReport {
    // CLAIM: [registry.told] one waiter at a time.
    let _alone = pool.ending.lock();
    let hub = pool.handle.hub();
    let registry = &hub.shared().registry;
    let began = time::now();
    let deadline = Deadline::from_nanos(began.saturating_add(limit));
    let grace = Deadline::from_nanos(began.saturating_add(limit / 2));
    registry.close(Lane::Tasks);
    hub.controller().request(deadline);
    wait_for_lane(pool, Lane::Tasks, grace);
    let dropped = end_lane(pool, Lane::Tasks);
    wait_for_lane(pool, Lane::Cleanup, deadline);
    registry.close(Lane::Cleanup);
    // Those that stood before the door when it was closed.
    wait_for_lane(pool, Lane::Cleanup, deadline);
    let unfinished_cleanups = end_lane(pool, Lane::Cleanup);
    let refused_jobs = hub.blocking().close();
    wait_until(hub.blocking().drained(), deadline);
    let report = ShutdownReport {
        dropped,
        unfinished_cleanups,
        refused_jobs,
        abandoned_jobs: hub.blocking().jobs(),
        took: Duration::ZERO,
    };
    stop(pool);
    ShutdownReport {
        took: time::now().since(began),
        ..report
    }
}

/// The pool is dropped. Inside a poll nobody may wait for the tasks to end: the workers are told to
/// end them, and end by themselves afterwards.
pub(super) fn abandon(pool: &mut Pool) {
    let hub = pool.handle.hub();
    let registry = &hub.shared().registry;
    registry.close(Lane::Tasks);
    hub.controller().request(Deadline::from_nanos(time::now()));
    if poll::is_active() || desk::current_worker(hub.shared()).is_some() {
        registry.close(Lane::Cleanup);
        for lane in [Lane::Tasks, Lane::Cleanup] {
            registry.tasks(lane).iter().for_each(TaskRef::abort);
        }
        hub.blocking().close();
        // CLAIM: [pool-end.not-itself] the last worker to see the registry empty stops them all.
        hub.shared().stop_when_empty();
        return;
    }
    end_lane(pool, Lane::Tasks);
    registry.close(Lane::Cleanup);
    end_lane(pool, Lane::Cleanup);
    hub.blocking().close();
    stop(pool);
}

/// Drops every task of a closed lane, and says what they were.
fn end_lane(pool: &Pool, lane: Lane) -> Vec<TaskInfo> {
    let registry = &pool.handle.hub().shared().registry;
    let now = time::now();
    let left = registry.tasks(lane).into_iter().filter_map(|task| {
        let info = task.info(now);
        // CLAIM: [pool-end.home] it goes to its scheduler, and is not dropped here.
        task.abort();
        // One that has just ended by itself was not dropped.
        (info.state != TaskState::Complete).then_some(info)
    });
    let infos = left.collect();
    // CLAIM: [pool-end.all] no deadline: nobody else may drop their futures.
    wait_for_lane(pool, lane, Deadline::never());
    infos
}

/// Waits until a closed lane is empty or `deadline` has passed.
fn wait_for_lane(pool: &Pool, lane: Lane, deadline: Deadline) {
    let registry = &pool.handle.hub().shared().registry;
    wait_until(poll_fn(|cx| registry.poll_empty(lane, cx)), deadline);
}

/// Waits for `event` on this thread, until `deadline` at the latest. Needs nothing of the pool, and
/// no timer: a driver that is current here may be one that nobody drives meanwhile.
fn wait_until(event: impl Future<Output = ()>, deadline: Deadline) {
    let mut event = pin!(event);
    let mut driver = ThreadDriver::new();
    let root = Root::new(driver.handle());
    let waker = root.waker();
    let mut cx = Context::from_waker(&waker);
    let until = if deadline.is_never() {
        Until::Forever
    } else {
        Until::At(deadline.nanos())
    };
    loop {
        if root.take() && event.as_mut().poll(&mut cx).is_ready() {
            return;
        }
        if deadline.has_passed(time::now()) {
            return;
        }
        if !root.is_woken() {
            // A thread driver has no errors; a spurious return looks at the flag again.
            let _turn = driver.park(until);
        }
    }
}

/// Ends the workers' threads and waits for them.
fn stop(pool: &Pool) {
    pool.handle.hub().shared().stop();
    let threads = std::mem::take(&mut *pool.threads.lock());
    let here = std::thread::current().id();
    for thread in threads {
        // CLAIM: [pool-end.not-itself] the watchdog, whose hook ends the pool, ends by itself.
        if thread.thread().id() != here {
            // What a thread panicked with was reported.
            let _ = thread.join();
        }
    }
}
