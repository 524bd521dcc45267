//! Runs tests one process each, in parallel, each with a time limit.
//!
//! A process of its own gives a test its own globals, descriptors and thread counts, lets it abort
//! without taking others along, and makes a hang the fault of one name. A [`Pass`] says under
//! which conditions the same tests run once more.

use crate::context::{Context, Outcome};
use crate::run::{Command, Ending, Output};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

mod binary;

use self::binary::Listed;
pub(crate) use self::binary::{Binary, build};

/// How long one test may take.
const TEST_LIMIT: Duration = Duration::from_secs(60);

/// Overrides [`TEST_LIMIT`], in seconds, for slow machines and for debuggers.
const LIMIT_VARIABLE: &str = "MAINSPRING_TEST_LIMIT_S";

/// A passed test that took longer than this is named.
const SLOW: Duration = Duration::from_secs(10);

/// Makes the words that stand before a test's own command, or says why it cannot.
pub(crate) type Launcher = fn(&Context) -> Result<Vec<OsString>, String>;

/// Conditions under which the tests run.
pub(crate) struct Pass {
    /// The word in front of a test's name in the report.
    pub(crate) name: &'static str,
    /// Variables that each test sees.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// What has to start each test, if anything has to.
    pub(crate) launcher: Option<Launcher>,
    /// The packages that it is about; empty means all.
    pub(crate) packages: &'static [&'static str],
}

/// One test of one binary.
#[derive(Debug, Clone)]
struct Job<'a> {
    binary: &'a Binary,
    name: String,
}

impl Job<'_> {
    fn label(&self, pass: &Pass) -> String {
        format!("{} {}::{}", pass.name, self.binary.label(), self.name)
    }

    fn command(&self, ctx: &Context, pass: &Pass, launcher: &[OsString]) -> Command {
        let words = [&self.binary.executable.as_os_str().to_owned()];
        let mut words = launcher.iter().chain(words);
        // The launcher may be empty, the executable is always there.
        let program = words.next().cloned().unwrap_or_default();
        let mut command = (ctx.command(program).args(words))
            .args(["--exact", &self.name, "--nocapture"])
            // Not one, even on one core: libtest would run the test on its main thread, where
            // the stack is larger and thread-locals are never destroyed.
            .arg("--test-threads=2");
        command = self.binary.as_under_cargo(command);
        for (name, value) in pass.env {
            command = command.env(name, value);
        }
        command
    }
}

/// Runs every test of the binaries that the pass is about.
pub(crate) fn run(ctx: &Context, pass: &Pass, binaries: &[Binary]) -> Outcome {
    let mut outcome = Outcome::new();
    let launcher = match pass.launcher.map(|make| make(ctx)).transpose() {
        Ok(launcher) => launcher.unwrap_or_default(),
        Err(why) => {
            outcome.fail(format!("pass {}", pass.name), why);
            return outcome;
        }
    };
    let limit = match limit() {
        Ok(limit) => limit,
        Err(why) => {
            outcome.fail(LIMIT_VARIABLE, why);
            return outcome;
        }
    };
    let jobs = list(ctx, pass, binaries, &mut outcome);
    println!(
        "pass {}: {} tests, {} at a time",
        pass.name,
        jobs.len(),
        ctx.jobs
    );
    let queue = Mutex::new(jobs);
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..ctx.jobs.max(1) {
            let (queue, launcher, done) = (&queue, &launcher, done.clone());
            scope.spawn(move || {
                while let Some(job) = next(queue) {
                    let command = job.command(ctx, pass, launcher).limit(limit).quiet();
                    let output = command.capture_merged();
                    if done.send((job, command, output)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for (job, command, output) in results {
            record(&mut outcome, &job.label(pass), &command, &output);
        }
    });
    outcome
}

fn next<'a>(queue: &Mutex<VecDeque<Job<'a>>>) -> Option<Job<'a>> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

/// The tests to run. Ignored ones are skipped by name; those of the loom stage are left to it.
fn list<'a>(
    ctx: &Context,
    pass: &Pass,
    binaries: &'a [Binary],
    outcome: &mut Outcome,
) -> VecDeque<Job<'a>> {
    let mut jobs = VecDeque::new();
    let concerned = |binary: &&Binary| {
        pass.packages.is_empty() || pass.packages.contains(&binary.package.as_str())
    };
    for binary in binaries.iter().filter(concerned) {
        let listed = match binary.list(ctx) {
            Ok(listed) => listed,
            Err(why) => {
                outcome.fail(format!("{} {}", pass.name, binary.label()), why);
                continue;
            }
        };
        for Listed { name, is_ignored } in listed {
            let job = Job { binary, name };
            if is_for_the_loom_stage(&job.name) {
                continue;
            }
            if is_ignored {
                outcome.skip(job.label(pass), "marked #[ignore]");
            } else {
                jobs.push_back(job);
            }
        }
    }
    jobs
}

/// Models run in the loom stage; what stands in `mod printed` there must fail.
fn is_for_the_loom_stage(name: &str) -> bool {
    let path = format!("::{name}");
    path.contains("::loom::") || path.contains("::printed::")
}

fn record(outcome: &mut Outcome, label: &str, command: &Command, output: &Output) {
    match judge(output) {
        Ok(()) => {
            if output.elapsed > SLOW {
                println!("slow: {label} took {:.1} s", output.elapsed.as_secs_f64());
            }
            outcome.pass(1);
        }
        Err(why) => {
            let written = &output.stdout;
            outcome.fail(label, format!("{why}: {}\n{written}", command.line()));
        }
    }
}

/// A test has passed when its process exited with 0 *and* libtest says that one test passed: a
/// test that calls `exit(0)`, and a name that matches nothing, have not.
fn judge(output: &Output) -> Result<(), String> {
    match &output.ending {
        Ending::Success => {}
        Ending::TimedOut(limit) => {
            return Err(format!(
                "was stopped after its limit of {limit:?} ({LIMIT_VARIABLE} changes it)"
            ));
        }
        other => return Err(other.to_string()),
    }
    let mut lines = output.stdout.lines().rev();
    if lines.any(|line| line.starts_with("test result: ok. 1 passed; 0 failed")) {
        return Ok(());
    }
    Err("exited with 0 before the test had ended".to_owned())
}

fn limit() -> Result<Duration, String> {
    let Ok(text) = std::env::var(LIMIT_VARIABLE) else {
        return Ok(TEST_LIMIT);
    };
    match text.parse() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("{text:?} is no number of seconds above zero")),
    }
}

#[cfg(test)]
mod tests;
