//! Runs cases, each under a watchdog.

use super::cases::{Case, channel_cases, subject_cases};
use super::{Channel, Check, Miss, Outcome, Report, Subject, Trail};
use crate::seed::seed;
use crate::waker::Scripted;
use std::any::{Any, type_name};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// So long may one case take. They take milliseconds, and this is for a machine that is busy with
/// other tests.
const LIMIT: Duration = Duration::from_secs(60);

/// Cases that are going to be run on one primitive.
#[derive(Clone, Debug)]
#[must_use = "a suite that is not run finds nothing"]
pub struct Suite {
    subject: &'static str,
    cases: Vec<Case>,
    limit: Duration,
    seed: u64,
}

impl Suite {
    /// Every case there is about waiting.
    pub fn of_subject<S: Subject>() -> Self {
        Self::new(type_name::<S>(), subject_cases::<S>())
    }

    /// Every case there is about values.
    pub fn of_channel<C: Channel>() -> Self {
        Self::new(type_name::<C>(), channel_cases::<C>())
    }

    fn new(subject: &'static str, cases: Vec<Case>) -> Self {
        Self {
            subject,
            cases,
            limit: LIMIT,
            seed: seed(),
        }
    }

    /// Only the case of that name.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    pub fn only(mut self, name: &str) -> Self {
        self.cases.retain(|case| case.name == name);
        assert!(!self.cases.is_empty(), "no case has the name `{name}`");
        self
    }

    /// All but the cases of these names: what a primitive is known to fail.
    ///
    /// # Panics
    ///
    /// If there is none of one of the names.
    #[track_caller]
    pub fn except(mut self, names: &[&str]) -> Self {
        for name in names {
            let before = self.cases.len();
            self.cases.retain(|case| case.name != *name);
            assert!(self.cases.len() < before, "no case has the name `{name}`");
        }
        self
    }

    /// How long a case may take before it counts as hung: a minute, if nothing else is said.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The seed of the random cases: that of `MAINSPRING_SEED`, else a fresh one, if nothing else
    /// is said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The names of the cases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.cases.iter().map(|case| case.name)
    }

    /// The cases.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Runs them, one after the other.
    pub fn run(self) -> Report {
        let run = |case: &Case| (case.name, run(case, self.seed, self.limit));
        Report {
            subject: self.subject,
            seed: self.seed,
            outcomes: self.cases.iter().map(run).collect(),
        }
    }
}

fn run(case: &Case, seed: u64, limit: Duration) -> Outcome {
    let trail = Trail::new(seed, case.luck);
    trail.at("it begins");
    let (sender, receiver) = mpsc::channel();
    let theirs = trail.clone();
    let body = case.run;
    let thread = thread::Builder::new().name(case.name.to_owned());
    let started = thread.spawn(move || {
        let ended = catch_unwind(AssertUnwindSafe(|| body(&theirs)));
        // Nobody listens any more if it took too long.
        let _ = sender.send(ended);
    });
    let thread = match started {
        Ok(thread) => thread,
        Err(error) => return Outcome::Failed(format!("no thread to run it on: {error}")),
    };
    match receiver.recv_timeout(limit) {
        Ok(ended) => {
            // What it sent was the last thing it does.
            let _ = thread.join();
            outcome(ended, &trail)
        }
        Err(RecvTimeoutError::Timeout) => Outcome::Hung(trail.step()),
        Err(RecvTimeoutError::Disconnected) => Outcome::Failed(format!(
            "its thread ended without a word where {}",
            trail.step()
        )),
    }
}

fn outcome(ended: thread::Result<Check>, trail: &Trail) -> Outcome {
    match ended {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(Miss::DoesNotApply(why))) => Outcome::Skipped(why),
        Ok(Err(Miss::Fails(why))) => Outcome::Failed(format!("{why}; where {}", trail.step())),
        Err(payload) => {
            let what = words(&*payload);
            Outcome::Failed(format!("a panic where {}: {what}", trail.step()))
        }
    }
}

fn words(payload: &(dyn Any + Send)) -> &str {
    if let Some(words) = payload.downcast_ref::<&str>() {
        words
    } else if let Some(words) = payload.downcast_ref::<String>() {
        words
    } else if Scripted::is(payload) {
        "the scripted panic got out where none was expected"
    } else {
        "without words"
    }
}
