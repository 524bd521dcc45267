//! interop: the crates as guests of other people's runtimes, in a workspace of its own.

use super::counts::Counts;
use crate::context::{Context, Outcome};
use std::time::Duration;

const WORKSPACE: &str = "crates/mainspring-interop";

/// How long building and running may take.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// What a line begins with that is to be seen though its test passed: a race found something once.
const NOTE: &str = "noted: ";

/// Builds it, and runs its tests.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    // It is not a member of the workspace: with a selection of packages it does not apply.
    if !ctx.packages.is_empty() {
        return outcome;
    }
    let command = (ctx.cargo("test").args(["--locked", "--tests"]))
        .dir(ctx.root.join(WORKSPACE))
        .env("CARGO_TARGET_DIR", ctx.target("interop"))
        .limit(LIMIT);
    let output = command.capture_merged();
    let counts = Counts::read(&output.stdout);
    outcome.pass(counts.passed);
    for name in &counts.ignored {
        outcome.skip(format!("interop::{name}"), "marked #[ignore]");
    }
    for line in output.stdout.lines().filter(|line| line.starts_with(NOTE)) {
        println!("{line}");
    }
    let is_empty = counts.passed == 0 && counts.ignored.is_empty();
    if !output.ending.is_success() || !counts.failed.is_empty() || is_empty {
        let ending = &output.ending;
        outcome.fail(
            "interop",
            format!("{ending}: {}\n{}", command.line(), output.stdout),
        );
    }
    outcome
}
