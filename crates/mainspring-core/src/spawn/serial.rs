//! Jobs that run one after the other, in the order in which they were queued, as a task.
//!
//! # Invariants
//!
//! - **serial.drained** — while a job is queued, exactly one task drains the queue: who queues
//!   into an undrained one spawns it, and it ends only on an empty queue, in one critical section;
//!   a job's panic spawns its successor, and its cancellation drops what is queued.
//! - **serial.late** — a job for the checkpoint runs when nothing else is queued.

use super::Spawner;
use crate::sync::Mutex;
use crate::task;
use std::collections::VecDeque;

/// A job, allocated by whoever will queue it.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// After so many jobs, others run first.
const JOBS_A_TURN: usize = 61;

/// The queue of one spawner.
pub(crate) struct Serial {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    at_checkpoint: VecDeque<Job>,
    is_drained: bool,
}

/// What somebody who queued a job owes.
#[must_use = "a job that nobody drains never runs"]
enum Owes {
    Nothing,
    Drain,
}

impl State {
    fn start(&mut self) -> Owes {
        if std::mem::replace(&mut self.is_drained, true) {
            Owes::Nothing
        } else {
            Owes::Drain
        }
    }

    fn take(&mut self) -> Option<Job> {
        debug_assert!(self.is_drained, "serial.drained: two drain");
        let job = self.jobs.pop_front();
        let job = job.or_else(|| self.at_checkpoint.pop_front());
        debug_assert!(
            job.is_some() || self.jobs.is_empty(),
            "serial.late: the checkpoint came first"
        );
        self.is_drained = job.is_some();
        job
    }
}

impl Serial {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
        }
    }

    /// Queues a job, to run on `spawner`, which this is the queue of.
    pub(crate) fn queue(&self, spawner: &Spawner, job: Job) {
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        let owes = state.start();
        drop(state);
        pay(owes, spawner);
    }

    /// Queues a job for when nothing else is queued.
    pub(crate) fn at_checkpoint(&self, spawner: &Spawner, job: Job) {
        let mut state = self.state.lock();
        state.at_checkpoint.push_back(job);
        let owes = state.start();
        drop(state);
        pay(owes, spawner);
    }

    fn take(&self) -> Option<Job> {
        self.state.lock().take()
    }
}

fn pay(owes: Owes, spawner: &Spawner) {
    if let Owes::Drain = owes {
        spawn_drain(spawner.clone());
    }
}

fn spawn_drain(spawner: Spawner) {
    // Made before the first poll: an executor that has shut down drops the future unpolled.
    let end = End {
        spawner: spawner.clone(),
        is_in_job: false,
        is_over: false,
    };
    spawner.spawn(drain(end)).detach();
}

async fn drain(mut end: End) {
    loop {
        for _ in 0..JOBS_A_TURN {
            let Some(job) = end.spawner.serial().take() else {
                end.is_over = true;
                return;
            };
            end.is_in_job = true;
            job();
            end.is_in_job = false;
        }
        task::yield_now().await;
    }
}

/// Ends a drain that did not come to its end by itself.
struct End {
    spawner: Spawner,
    is_in_job: bool,
    is_over: bool,
}

impl Drop for End {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.is_in_job {
            // The job has panicked: that is the result of this task, and reported as such. The rest
            // is the next one's.
            return spawn_drain(self.spawner.clone());
        }
        // The executor has cancelled the drain: it runs nothing any more. What is queued may hold
        // the spawner, which holds the queue.
        let state = std::mem::take(&mut *self.spawner.serial().state.lock());
        drop(state);
    }
}
