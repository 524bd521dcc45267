//! The thread that looks whether a worker is stuck in a poll, and serves in its place.
//!
//! # A round, every half threshold
//!
//! 1. Look at each pulse. A worker whose pulse has been the same inside a poll for the threshold is
//!    stuck (`watch`).
//! 2. For each that is stuck, again in every round: its driver is served
//!    ([`DriverHandle::rescue`]: what is prepared is submitted, what has completed is taken, timers
//!    that are due fire), and its slot and queue are emptied into the injector, for which a sleeper
//!    is woken. Who is woken stands in the injector, too: this thread is no worker.
//! 3. If all are stuck there is a spare worker; if one is back it is dismissed.
//! 4. What is new is reported. Last, for a hook is foreign code, and takes its time.
//!
//! While all workers sleep there are no rounds: see `idle`.
//!
//! # What the workers pay
//!
//! Two stores a poll into a line that nobody else writes. The watchdog writes no line that a worker
//! writes while one of them runs, but those of the worker that is stuck.
//!
//! # Invariants
//!
//! - **watchdog.harmless** — all that a round does for a worker is right also for one that is not
//!   stuck: slots and queues are taken from by exchanges, drivers are served under try-locks.
//! - **watchdog.sleeps** — it sleeps without an end only while every worker does, and no poll has
//!   begun for a whole period before.
//!
//! [`DriverHandle::rescue`]: mainspring_core::driver::DriverHandle::rescue

use super::crew::{self, Crew};
use super::hub::Hub;
use super::idle::OnDoze;
use super::pulse::Pulse;
use super::spare::{self, OnWant};
use super::watch::{Verdict, Watch};
use crate::queue::local::Local;
use crate::stall::{Lines, StallReport};
use mainspring_core::driver::Until;
use mainspring_core::park::{Parker, Woken};
use mainspring_core::payload::absorb;
use mainspring_core::sync::global::AtomicU64;
use mainspring_core::task::{Runnable, TaskInfo};
use mainspring_core::time::{self, Nanos};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How many waiters of one driver are woken in a round.
const RESCUE_MAX: usize = 256;

/// Called with each report, on the watchdog's thread.
pub(super) type StallHook = dyn Fn(&StallReport) + Send + Sync;

/// How many polls have been found stuck, for the metrics.
#[derive(Default)]
pub(crate) struct Stalls(AtomicU64);

impl Stalls {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What the thread has.
struct Watchdog {
    hub: Hub,
    parker: Parker,
    watch: Watch,
    /// What was noticed of each thread that is stuck.
    tasks: Vec<Option<TaskInfo>>,
    /// Empty between two rescues.
    basket: Local<Runnable>,
    crew: Arc<Crew>,
    hook: Option<Box<StallHook>>,
    lines: Lines,
}

/// Starts the watchdog of a pool. The parker's other end is in the pool's hands.
pub(super) fn start(
    hub: Hub,
    crew: &Arc<Crew>,
    parker: Parker,
    threshold: Duration,
    hook: Option<Box<StallHook>>,
) -> io::Result<()> {
    let name = format!("{}-watchdog", hub.name());
    let workers = hub.shared().workers();
    let (threads, theirs) = (workers + 1, Arc::clone(crew));
    let started = crew.start(crew::number_of_watchdog(workers), name, move || {
        let watchdog = Watchdog {
            watch: Watch::new(threshold, threads, time::now()),
            tasks: vec![None; threads],
            basket: Local::new(),
            crew: theirs,
            lines: Lines::default(),
            hub,
            parker,
            hook,
        };
        watchdog.run();
    })?;
    debug_assert!(started, "crew.goodbye: a second watchdog");
    Ok(())
}

impl Watchdog {
    fn run(mut self) {
        while self.wait() {
            let is_quiet = self.round();
            let shared = self.hub.shared();
            // CLAIM: [watchdog.sleeps]
            if is_quiet && !shared.spare.is_wanted() && shared.idle.try_doze() == OnDoze::Doze {
                self.parker.park();
                self.watch.begin_anew();
            }
        }
    }

    /// Waits for the next round. `false` if the pool stops.
    fn wait(&self) -> bool {
        let next = time::now().saturating_add(self.watch.period());
        loop {
            if self.hub.shared().is_stopping() {
                return false;
            }
            // A call that comes now is of a doze that has ended, or of the end.
            match self.parker.park_until(Until::At(next)) {
                Woken::TimedOut => return true,
                Woken::Notified => {}
            }
        }
    }

    /// One round. Whether all workers were at rest, and had been since the round before.
    fn round(&mut self) -> bool {
        let now = time::now();
        let workers = self.hub.shared().workers();
        self.watch.begin_round(now);
        let verdicts: Vec<Verdict> = (0..=workers)
            .map(|thread| self.watch.look(thread, self.pulse(thread).beats()))
            .collect();
        let is_quiet = self.watch.end_round();
        for (thread, verdict) in verdicts.iter().enumerate() {
            if let Verdict::Stuck(_) = verdict {
                // Before anybody is served who may end the poll, and with it the task.
                self.tasks[thread] = self.find(thread, now);
            }
        }
        let is_stuck =
            |verdict: &Verdict| matches!(verdict, Verdict::Stuck(_) | Verdict::StillStuck);
        for (thread, _) in verdicts.iter().enumerate().filter(|(_, of)| is_stuck(of)) {
            self.rescue(thread, now);
        }
        self.see_to_spare(verdicts[..workers].iter().all(is_stuck));
        for (thread, verdict) in verdicts.into_iter().enumerate() {
            self.report(thread, verdict, now);
        }
        is_quiet
    }

    fn pulse(&self, thread: usize) -> &Pulse {
        let shared = self.hub.shared();
        match shared.remotes.get(thread) {
            Some(remote) => &remote.pulse,
            None => &shared.spare.pulse,
        }
    }

    /// Serves in the place of a thread that is stuck.
    fn rescue(&self, thread: usize, now: Nanos) {
        let shared = self.hub.shared();
        // CLAIM: [watchdog.harmless] and a driver is foreign code, which may panic.
        match shared.remotes.get(thread) {
            Some(remote) => {
                absorb(|| _ = remote.driver.rescue(now, RESCUE_MAX));
                shared.rescue(thread, &self.basket);
            }
            None => absorb(|| shared.spare.rescue(now, RESCUE_MAX)),
        }
    }

    /// What is known of the task that a thread polls.
    fn find(&self, thread: usize, now: Nanos) -> Option<TaskInfo> {
        let task = self.pulse(thread).task();
        let found = self.hub.shared().registry.find(task);
        found.map(|task| task.info(now))
    }

    fn see_to_spare(&mut self, is_wanted: bool) {
        let shared = self.hub.shared();
        if !is_wanted {
            shared.spare.dismiss();
            return;
        }
        match shared.spare.want() {
            OnWant::Start => self.start_spare(),
            // It may have missed what was injected since.
            OnWant::There if shared.injected() > 0 => shared.spare.unpark(),
            OnWant::There => {}
        }
    }

    #[cold]
    fn start_spare(&mut self) {
        let hub = self.hub.clone();
        let name = format!("{}-spare", hub.name());
        let number = crew::number_of_spare(hub.shared().workers());
        match self.crew.start(number, name, move || spare::run(&hub)) {
            Ok(true) => {}
            // The one before has left its post and not said goodbye: in the next round it has.
            Ok(false) => self.hub.shared().spare.give_up(),
            Err(error) => {
                self.hub.shared().spare.give_up();
                eprintln!(
                    "mainspring: MS0019 all workers are stuck, and there is no thread to be had \
                     for a spare one: {error} (docs/errors.md)"
                );
            }
        }
    }

    fn report(&mut self, thread: usize, verdict: Verdict, now: Nanos) {
        let shared = self.hub.shared();
        let (duration, is_over) = match verdict {
            Verdict::Fine | Verdict::StillStuck => return,
            Verdict::Stuck(duration) => (duration, false),
            Verdict::Back(duration) => (duration, true),
        };
        if !is_over {
            shared.stalls.0.fetch_add(1, Relaxed);
        }
        let report = StallReport {
            worker: (thread < shared.workers()).then_some(thread),
            task: self.tasks[thread].clone(),
            duration,
            is_over,
        };
        absorb(|| match &self.hook {
            Some(hook) => hook(&report),
            None => {
                if let Some(line) = self.lines.line(&report, now) {
                    eprintln!("{line}");
                }
            }
        });
    }
}
