//! One lane of the pool: its queue, its idle threads, and the decision between waking, starting and
//! waiting.
//!
//! Queue, idle threads and the number of threads are under one lock, and every decision about them
//! is one critical section: who submits a job decides there who will look at it, and a thread
//! decides there between a job, a seat among the idle, and going home. (Pools have lost jobs
//! between a queue and a count of idle threads that were two things.)
//!
//! ```text
//!   submit: queue the job, then   idle thread? ──▶ take it off its seat, wake it
//!                                 below the limit? ──▶ count a thread, start it
//!                                 else ──▶ one that is busy comes by
//!   thread: job? ──▶ run it, again
//!           else take a seat, sleep ──▶ taken off it: again
//!                                  ╰──▶ kept for too long, queue still empty: retire
//! ```
//!
//! The one who sat down last is woken first, so that after a burst the others time out, however
//! steadily jobs trickle in.
//!
//! # Invariants
//!
//! - **blocking.served** — while a job is queued, at least one thread has no seat; and a thread
//!   without a seat looks at the queue before it takes one or retires.
//! - **blocking.counted** — `threads` counts the threads that were started or are being started,
//!   and `running` the jobs that were taken and have not ended; both are zero when all is over,
//!   after refused starts too.
//!
//! Closures, results and wakers are called and dropped with the lock free.
//!
//! # Rejected
//!
//! A condition variable for the idle: it wakes whom it likes, in practice in turn, so that a
//! trickle of jobs keeps every thread of a burst alive. Handing the job to the woken thread: it
//! would wait for that thread while another comes by. A sharded queue: the decision would be many.

use super::job::Job;
use super::{Blocking, BlockingError};
use crate::driver::Until;
use crate::park::{Parker, Unparker, Woken};
use crate::sync::{Mutex, MutexGuard, thread};
use crate::time;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

/// How long an idle thread stays.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// One queue and its threads.
pub(super) struct Lane {
    class: Blocking,
    state: Mutex<State>,
    keep_alive: Duration,
    start: fn(&'static Lane) -> io::Result<()>,
}

struct State {
    queue: BTreeMap<u64, Queued>,
    /// The idle threads, by the number of the seat: the last one sat down last.
    seats: BTreeMap<u64, Unparker>,
    /// The next job's, or the next seat's, number.
    next: u64,
    threads: usize,
    threads_max: usize,
    running: usize,
}

struct Queued {
    group: u64,
    job: Job,
}

/// What one lane of the pool has at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneStats {
    /// Threads that were started and have not retired.
    pub threads: usize,
    /// Those of them that have nothing to do.
    pub idle: usize,
    /// Jobs that run.
    pub running: usize,
    /// Jobs that wait for a thread.
    pub queued: usize,
}

/// Who will look at the job that was just queued.
#[must_use = "until this is done, nobody may look at the job"]
enum OnSubmit {
    /// This idle thread, once woken.
    Wake(Unparker),
    /// A thread that has been counted and is to be started.
    Start,
    /// One that is busy, or has been woken or started for another job.
    Wait,
}

/// What a thread without a job does.
#[must_use = "a thread that retires is not counted any more"]
enum Next {
    Run(Job),
    Retire,
}

impl State {
    /// The next unused number.
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Queues a job and decides who looks at it.
    fn submit(&mut self, queued: Queued) -> (u64, OnSubmit) {
        let number = self.number();
        self.queue.insert(number, queued);
        let owes = if let Some((_, unparker)) = self.seats.pop_last() {
            OnSubmit::Wake(unparker)
        } else if self.threads < self.threads_max {
            self.threads += 1;
            OnSubmit::Start
        } else {
            OnSubmit::Wait
        };
        debug_assert!(
            self.threads > self.seats.len(),
            "blocking.served: queued, and every thread sits"
        );
        (number, owes)
    }

    /// A job, and nothing else changes.
    fn take(&mut self) -> Option<Job> {
        let (_, queued) = self.queue.pop_first()?;
        self.running += 1;
        Some(queued.job)
    }

    fn retire(&mut self) {
        debug_assert!(self.threads > 0, "blocking.counted: retired twice");
        self.threads -= 1;
        debug_assert!(
            self.queue.is_empty() || self.threads > self.seats.len(),
            "blocking.served: retired from a queue"
        );
    }
}

impl Lane {
    pub(super) fn new(class: Blocking) -> Self {
        Self::with(class, class.thread_limit(), KEEP_ALIVE, start)
    }

    pub(super) fn with(
        class: Blocking,
        threads_max: usize,
        keep_alive: Duration,
        start: fn(&'static Lane) -> io::Result<()>,
    ) -> Self {
        Self {
            class,
            state: Mutex::new(State {
                queue: BTreeMap::new(),
                seats: BTreeMap::new(),
                next: 1,
                threads: 0,
                threads_max,
                running: 0,
            }),
            keep_alive,
            start,
        }
    }

    /// Queues a job and sees to it that a thread looks at it. Returns its number.
    pub(super) fn submit(&'static self, group: u64, job: Job) -> u64 {
        let (number, owes) = self.state.lock().submit(Queued { group, job });
        match owes {
            OnSubmit::Wake(unparker) => unparker.unpark(),
            OnSubmit::Start => {
                if let Err(error) = (self.start)(self) {
                    self.not_started(&error);
                }
            }
            OnSubmit::Wait => {}
        }
        number
    }

    /// A thread that was counted does not come. The job that it was meant for stays queued for the
    /// others; if there is no other, nobody will ever look at the queue, and all that are in it
    /// fail.
    fn not_started(&self, error: &io::Error) {
        let mut state = self.state.lock();
        state.threads -= 1;
        let stranded = if state.threads == 0 {
            std::mem::take(&mut state.queue)
        } else {
            BTreeMap::new()
        };
        debug_assert!(
            state.queue.is_empty() || state.threads > 0,
            "blocking.served: queued, and no thread"
        );
        drop(state);
        for queued in stranded.into_values() {
            queued.job.fail(BlockingError::NoThread(same(error)));
        }
    }

    /// Takes a job out that no thread has taken yet.
    pub(super) fn take_out(&self, number: u64) -> Option<Job> {
        let queued = self.state.lock().queue.remove(&number);
        queued.map(|queued| queued.job)
    }

    /// Takes out all of a group's jobs that no thread has taken yet.
    pub(super) fn take_out_group(&self, group: u64) -> Vec<Job> {
        let mut state = self.state.lock();
        let queue = std::mem::take(&mut state.queue);
        let (theirs, rest) = queue
            .into_iter()
            .partition(|(_, queued)| queued.group == group);
        state.queue = rest;
        drop(state);
        let theirs: BTreeMap<u64, Queued> = theirs;
        theirs.into_values().map(|queued| queued.job).collect()
    }

    /// Starts threads for the jobs that waited only because of the old limit.
    pub(super) fn set_thread_limit(&'static self, threads_max: usize) {
        let mut state = self.state.lock();
        state.threads_max = threads_max.max(1);
        let room = state.threads_max.saturating_sub(state.threads);
        let more = room.min(state.queue.len());
        state.threads += more;
        drop(state);
        for _ in 0..more {
            if let Err(error) = (self.start)(self) {
                self.not_started(&error);
            }
        }
    }

    pub(super) fn stats(&self) -> LaneStats {
        let state = self.state.lock();
        LaneStats {
            threads: state.threads,
            idle: state.seats.len(),
            running: state.running,
            queued: state.queue.len(),
        }
    }

    /// A thread's whole life.
    pub(super) fn serve(&self) {
        let parker = Parker::new();
        while let Next::Run(mut job) = self.next(&parker) {
            job.work();
            self.ended();
            job.finish();
        }
    }

    /// Before the result is handed over, so that whoever has it does not find it running.
    fn ended(&self) {
        let mut state = self.state.lock();
        debug_assert!(state.running > 0, "blocking.counted: ended twice");
        state.running -= 1;
    }

    fn next(&self, parker: &Parker) -> Next {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.take() {
                return Next::Run(job);
            }
            if state.threads > state.threads_max {
                state.retire();
                return Next::Retire;
            }
            let seat = state.number();
            state.seats.insert(seat, parker.unparker());
            drop(state);
            state = match self.sit(parker, seat) {
                Some(state) => state,
                None => return Next::Retire,
            };
        }
    }

    /// Sleeps on a seat until the thread is taken off it, and comes back with the lock; `None` if
    /// it retired instead.
    fn sit(&self, parker: &Parker, seat: u64) -> Option<MutexGuard<'_, State>> {
        let until = if self.keep_alive.is_zero() {
            Until::Now
        } else {
            Until::At(time::now().saturating_add(self.keep_alive))
        };
        loop {
            let woken = parker.park_until(until);
            let mut state = self.state.lock();
            // Somebody who took the thread off its seat counts on it, whatever woke it: the wake-up
            // may still be on its way, and is then found by the next park.
            if !state.seats.contains_key(&seat) {
                return Some(state);
            }
            if woken == Woken::TimedOut {
                state.seats.remove(&seat);
                if !state.queue.is_empty() {
                    return Some(state);
                }
                state.retire();
                return None;
            }
        }
    }
}

fn start(lane: &'static Lane) -> io::Result<()> {
    thread::Builder::new()
        .name(lane.class.thread_name().to_owned())
        .spawn(move || lane.serve())
        .map(drop)
}

/// An error cannot be cloned; its code can.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("class", &self.class)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
