//! How a pool ends.
//!
//! ```text
//!   close the tasks' lane ─▶ signal ─▶ poll until the grace is over ─▶ abort what is left
//!     ─▶ cleanups until the deadline ─▶ close their lane, abort what is left
//!     ─▶ wait for who is under way; a poll or destructor that does not return is given up
//!     ─▶ blocking jobs ─▶ the threads end, and each takes its driver along
//! ```
//!
//! A drop of the pool is the same with both moments in the past, and more patience.
//!
//! # Invariants
//!
//! - **pool-end.all** — when the threads are told to end, every task of both lanes has ended, but
//!   for those that the report names as stuck or stranded: those that were admitted before a lane
//!   was closed are listed, and are aborted when their time is over.
//! - **pool-end.home** — a pinned task is dropped by its worker, which is the only one to get its
//!   runnable.
//! - **pool-end.not-itself** — who drops a pool inside a poll, be it of that pool's worker or of
//!   somebody else's, waits for no thread: the thread it waits for might wait for it.
//! - **pool-end.returns** — no wait here rests on a user's code: each has a limit, or is for the
//!   end of a thread that has nothing left to run but the destructors of its thread-locals.

use super::crew::{self, Crew, Gone};
use super::hub::Hub;
use super::limits::Waited;
use super::{Pool, desk, sweep};
use crate::shutdown::{Moments, ShutdownReport, ThreadInfo};
use mainspring_core::poll;
use mainspring_core::spawn::Lane;
use mainspring_core::task::{TaskId, TaskInfo, TaskRef, TaskState};
use mainspring_core::time::{self, Deadline, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// For so long nothing has to happen, once everything was aborted, before a shutdown takes who has
/// not ended for one who does not come back: enough for a thread that others keep from its core.
const IN_A_SHUTDOWN: Duration = Duration::from_millis(500);

/// The same in a drop, which nobody has given a limit.
const IN_A_DROP: Duration = Duration::from_secs(5);

/// How often it looks meanwhile, to begin with.
const TICK: Duration = Duration::from_millis(25);

const LANES: [Lane; 2] = [Lane::Tasks, Lane::Cleanup];

/// See [`Pool::shutdown`].
pub(super) fn shutdown(pool: &Pool, limit: Duration) -> ShutdownReport {
    let (hub, crew) = (pool.handle.hub(), &*pool.crew);
    let began = time::now();
    announce(hub, crew, Moments::within(limit, crew.manner.grace, began));
    // CLAIM: [registry.told] one waiter at a time.
    let mut told = crew.alone.lock();
    hub.overruns().keep();
    let patience = crew.manner.patience.unwrap_or(IN_A_SHUTDOWN);
    let (report, gone) = End::new(hub, crew, patience).run();
    *told = report.is_leaking();
    drop(told);
    gone.join();
    ShutdownReport {
        took: time::now().since(began),
        ..report
    }
}

/// The pool is dropped. Inside a poll nobody may wait for the tasks to end, so that is left to a
/// thread of its own.
pub(super) fn abandon(pool: &mut Pool) {
    let (hub, crew) = (pool.handle.hub(), &pool.crew);
    announce(
        hub,
        crew,
        Moments::within(Duration::ZERO, None, time::now()),
    );
    if !poll::is_active() && desk::current_worker(hub.shared()).is_none() {
        bury(hub, crew);
        return;
    }
    // CLAIM: [pool-end.not-itself]
    let (theirs, crew) = (hub.clone(), Arc::clone(crew));
    let thread = std::thread::Builder::new()
        .name(format!("{}-end", hub.name()))
        .spawn(move || bury(&theirs, &crew));
    if thread.is_err() {
        end_by_themselves(hub);
    }
}

/// Nothing new is taken, and everybody is told.
fn announce(hub: &Hub, crew: &Crew, moments: Moments) {
    hub.shared().registry.close(Lane::Tasks);
    crew.limits.hasten(moments);
    hub.controller().request(moments.deadline);
}

/// Ends a pool that has been dropped, and says what had to be left behind.
fn bury(hub: &Hub, crew: &Crew) {
    let began = time::now();
    let told = crew.alone.lock();
    // Who was told of those who do not come back has waited for them.
    let patience = if *told {
        Duration::ZERO
    } else {
        crew.manner.patience.unwrap_or(IN_A_DROP)
    };
    let (mut report, gone) = End::new(hub, crew, patience).run();
    let is_news = report.is_leaking() && !*told;
    drop(told);
    gone.join();
    if !is_news {
        return;
    }
    report.took = time::now().since(began);
    match &crew.manner.on_left {
        Some(hook) => mainspring_core::payload::absorb(|| hook(&report)),
        None => eprintln!(
            "mainspring: MS0020 the pool {} was dropped, and could not end what it had begun \
             (docs/errors.md): {report}",
            hub.name()
        ),
    }
}

/// Takes those off a list who were left behind after all. Of the stranded it has what they waited
/// for, before they were aborted.
fn strike(infos: &mut Vec<TaskInfo>, stuck: &[TaskInfo], stranded: &mut [TaskInfo]) {
    let stuck: BTreeSet<u64> = stuck.iter().map(|info| info.id.as_u64()).collect();
    let stranded = stranded.iter_mut();
    let mut stranded: BTreeMap<u64, &mut TaskInfo> =
        stranded.map(|info| (info.id.as_u64(), info)).collect();
    infos.retain_mut(|info| {
        let id = info.id.as_u64();
        if let Some(same) = stranded.get_mut(&id) {
            std::mem::swap(*same, info);
            return false;
        }
        !stuck.contains(&id)
    });
}

/// The system has no thread left: the workers drop the tasks, and the last to see that none is left
/// ends them all.
#[cold]
fn end_by_themselves(hub: &Hub) {
    let registry = &hub.shared().registry;
    registry.close(Lane::Cleanup);
    for lane in LANES {
        registry.tasks(lane).iter().for_each(TaskRef::abort);
    }
    hub.blocking().close();
    hub.shared().stop_when_empty();
}

/// The end of one pool, under way.
struct End<'e> {
    hub: &'e Hub,
    crew: &'e Crew,
    /// For so long nothing has to happen before somebody is given up.
    patience: Duration,
    /// What was there when something last happened, and when that was.
    seen: (usize, Vec<TaskId>),
    since: Nanos,
}

impl<'e> End<'e> {
    fn new(hub: &'e Hub, crew: &'e Crew, patience: Duration) -> Self {
        Self {
            hub,
            crew,
            patience,
            seen: (0, Vec::new()),
            since: time::now(),
        }
    }

    /// Everything after the announcement.
    fn run(mut self) -> (ShutdownReport, Gone) {
        let (hub, crew) = (self.hub, self.crew);
        let registry = &hub.shared().registry;
        let _ = self.wait(&[Lane::Tasks], |moments| moments.grace);
        // CLAIM: [pool-end.home] each goes to its scheduler, and is not dropped here.
        let mut dropped = registry.abort(Lane::Tasks);
        self.see_off(&[Lane::Tasks], false);
        let _ = self.wait(&[Lane::Cleanup], |moments| moments.deadline);
        registry.close(Lane::Cleanup);
        // Those that stood before the door when it was closed.
        let _ = self.wait(&[Lane::Cleanup], |moments| moments.deadline);
        let mut unfinished_cleanups = registry.abort(Lane::Cleanup);
        // CLAIM: [pool-end.all] and who is left then is named.
        self.see_off(&LANES, true);
        let (stuck, mut stranded) = self.left();
        for infos in [&mut dropped, &mut unfinished_cleanups] {
            strike(infos, &stuck, &mut stranded);
        }
        let refused_jobs = hub.blocking().close();
        let drained = hub.blocking().drained();
        let _ = crew.limits.wait(drained, |moments| moments.deadline);
        let (gone, left_threads) = self.dismiss(stuck.len());
        let report = ShutdownReport {
            dropped,
            unfinished_cleanups,
            overran_cleanups: hub.overruns().take(),
            left_threads,
            stuck,
            stranded,
            refused_jobs,
            abandoned_jobs: hub.blocking().jobs(),
            took: Duration::ZERO,
        };
        (report, gone)
    }

    /// Waits until closed lanes are empty.
    fn wait(&self, lanes: &[Lane], until: impl Fn(Moments) -> Deadline) -> Waited {
        let registry = &self.hub.shared().registry;
        let are_empty = |cx: &mut Context<'_>| {
            let mut lanes = lanes.iter();
            if lanes.all(|lane| registry.poll_empty(*lane, cx).is_ready()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        };
        self.crew.limits.wait(poll_fn(are_empty), until)
    }

    /// Waits until what was aborted has been dropped: until the deadline, and if it `insists` then
    /// for as long as it gets anywhere.
    fn see_off(&mut self, lanes: &[Lane], insists: bool) {
        self.note(lanes);
        loop {
            let began = time::now();
            // The longer nothing happens, the more rarely it looks.
            let length = TICK.max(began.since(self.since) / 8);
            let tick = Deadline::from_nanos(began.saturating_add(length));
            let waited = self.wait(lanes, |moments| {
                if insists {
                    tick
                } else {
                    tick.earliest(moments.deadline)
                }
            });
            if waited == Waited::Happened {
                return;
            }
            let now = time::now();
            // Where this thread was late, so were the others: that time counts for nobody.
            let late = now.since(began).saturating_sub(length);
            self.since = self.since.saturating_add(late);
            self.note(lanes);
            if now.since(self.since) >= 2 * TICK {
                let hub = self.hub.clone();
                let name = format!("{}-sweep", hub.name());
                let number = crew::number_of_sweep(hub.shared().workers());
                // Where the system has no thread for it, it is done without.
                let _ = self.crew.start(number, name, move || sweep::serve(&hub));
            }
            let is_over = self.crew.limits.look().deadline.has_passed(now);
            // CLAIM: [pool-end.returns]
            if is_over && (!insists || now.since(self.since) >= self.patience) {
                return;
            }
        }
    }

    /// Looks whether something has happened: a task ended, or another one runs.
    fn note(&mut self, lanes: &[Lane]) {
        let registry = &self.hub.shared().registry;
        let now = time::now();
        let len = lanes.iter().map(|lane| registry.len(*lane)).sum();
        let mut running = Vec::new();
        // With fewer than before there is no need to look at each.
        if len == self.seen.0 {
            for lane in lanes {
                let infos = registry.infos(*lane).into_iter();
                let runs = infos.filter(|info| info.state == TaskState::Running);
                running.extend(runs.map(|info| info.id));
            }
        }
        let seen = (len, running);
        if seen != self.seen {
            self.seen = seen;
            self.since = now;
        }
    }

    /// Who could not be ended: those that run, and those that nobody could come to.
    fn left(&self) -> (Vec<TaskInfo>, Vec<TaskInfo>) {
        let registry = &self.hub.shared().registry;
        let infos = LANES.into_iter().flat_map(|lane| registry.infos(lane));
        let left = infos.filter(|info| info.state != TaskState::Complete);
        left.partition(|info| info.state == TaskState::Running)
    }

    /// Ends the threads, of which so many are known not to come back.
    fn dismiss(&self, stuck: usize) -> (Gone, Vec<ThreadInfo>) {
        let shared = self.hub.shared();
        shared.stop();
        let limit = Instant::now() + self.patience;
        let (gone, left) = self.crew.dismiss(stuck, limit);
        let info = |(number, name)| ThreadInfo {
            name,
            worker: (number < shared.workers()).then_some(number),
            in_flight: (shared.remotes.get(number)).and_then(|remote| remote.driver.in_flight()),
        };
        (gone, left.into_iter().map(info).collect())
    }
}
