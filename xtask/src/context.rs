//! What every stage is given ([`Context`]) and what it hands back ([`Outcome`]).

use crate::run::Command;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a command may run that does not set a limit of its own.
const COMMAND_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How this run was asked for, and where the workspace is.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The root of the workspace; commands run there unless they say otherwise.
    pub(crate) root: PathBuf,
    /// Where cargo builds: `target/`, unless the environment says otherwise.
    pub(crate) target: PathBuf,
    /// `CI=true` is set: missing tools are fetched, unexpected skips are failures.
    pub(crate) ci: bool,
    /// `--install` was given: missing tools are fetched.
    pub(crate) install: bool,
    /// `--strict` was given, or implied by `CI=true`: an unexpected skip is a failure.
    pub(crate) strict: bool,
    /// `--quick` was given: the short form of whatever has one.
    pub(crate) quick: bool,
    /// The packages named with `-p`; empty means all of them.
    pub(crate) packages: Vec<String>,
    /// How many commands a stage may run at the same time.
    pub(crate) jobs: usize,
}

impl Context {
    /// A context with no option given, for the workspace at `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            target: root.join("target"),
            root,
            ci: false,
            install: false,
            strict: false,
            quick: false,
            packages: Vec::new(),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// A command at the root of the workspace. It is printed before it runs, has a time limit of
    /// twenty minutes, and whatever it starts ends with it; see [`Command`].
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        Command::new(program).home(&self.root).limit(COMMAND_LIMIT)
    }

    /// `cargo SUBCOMMAND` at the root of the workspace, with the pinned toolchain.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        self.command("cargo").arg(subcommand)
    }

    /// A path below `target/`, for what a stage builds, writes or unpacks.
    pub(crate) fn target(&self, below: impl AsRef<Path>) -> PathBuf {
        self.target.join(below)
    }

    /// Whether `-p` asks for this package (no `-p` asks for all).
    pub(crate) fn is_selected(&self, package: &str) -> bool {
        self.packages.is_empty() || self.packages.iter().any(|name| name == package)
    }

    /// Whether a missing tool may be fetched.
    pub(crate) fn may_install(&self) -> bool {
        self.ci || self.install
    }
}

/// Something that was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skip {
    /// What was not run, as a person would name it.
    pub(crate) what: String,
    /// Why, in words that say what to do about it.
    pub(crate) reason: String,
}

/// What came of a stage: how much passed, what failed, what was skipped and why.
///
/// Failures and skips are printed when they are recorded, so that they stand beside the output
/// that explains them, and listed again at the end of the run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[must_use = "an outcome that is not merged is a failure that nobody sees"]
pub(crate) struct Outcome {
    passed: u32,
    failures: Vec<String>,
    skipped: Vec<Skip>,
}

impl Outcome {
    /// Nothing has run yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Counts `count` things that passed.
    pub(crate) fn pass(&mut self, count: u32) {
        self.passed += count;
    }

    /// Records that `what` failed, and prints `why`: what was found and what to do.
    pub(crate) fn fail(&mut self, what: impl Into<String>, why: impl AsRef<str>) {
        let what = what.into();
        let why = why.as_ref().trim_end();
        println!("FAILED {what}");
        for line in shortened(why) {
            println!("    {line}");
        }
        self.failures.push(what);
    }

    /// Records that `what` was not run, and prints the reason.
    pub(crate) fn skip(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        let skip = Skip {
            what: what.into(),
            reason: reason.into(),
        };
        println!("SKIPPED {}: {}", skip.what, skip.reason);
        self.skipped.push(skip);
    }

    /// Counts one pass for a success, and records the error as the failure of `what` otherwise.
    pub(crate) fn check<T>(&mut self, what: impl Into<String>, result: Result<T, String>) {
        match result {
            Ok(_) => self.pass(1),
            Err(why) => self.fail(what, why),
        }
    }

    /// Adds what came of another part of the run.
    pub(crate) fn merge(&mut self, other: Outcome) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.skipped.extend(other.skipped);
    }

    /// How much passed.
    pub(crate) fn passed(&self) -> u32 {
        self.passed
    }

    /// How much failed.
    pub(crate) fn failed(&self) -> u32 {
        u32::try_from(self.failures.len()).unwrap_or(u32::MAX)
    }

    /// The names of what failed, in the order in which it was found.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// What was skipped.
    pub(crate) fn skipped(&self) -> &[Skip] {
        &self.skipped
    }

    /// The line that ends every run: `N passed, N failed, N skipped`.
    pub(crate) fn closing_line(&self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed(),
            self.skipped.len()
        )
    }
}

/// The lines of a text, without the middle if there are very many: the cause of a failure stands
/// at one of the ends.
fn shortened(text: &str) -> Vec<String> {
    const ENDS: usize = 200;
    let lines: Vec<&str> = text.lines().collect();
    let Some(left_out) = lines.len().checked_sub(2 * ENDS).filter(|count| *count > 0) else {
        return lines.into_iter().map(str::to_owned).collect();
    };
    let mut ends: Vec<_> = lines[..ENDS]
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
    ends.push(format!("… {left_out} lines left out …"));
    ends.extend(
        lines[lines.len() - ENDS..]
            .iter()
            .map(|line| (*line).to_owned()),
    );
    ends
}

#[cfg(test)]
mod tests;
