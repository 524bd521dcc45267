//! doc-tests and rustdoc: the examples in the documentation run, and its pages build.

use super::counts::Counts;
use super::{check, selected, with_features};
use crate::context::{Context, Outcome};
use std::time::Duration;

/// How long building and running all examples may take.
const TESTS_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Runs the examples; each counts as one test.
pub(crate) fn tests(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let mut packages = selected(ctx, &mut outcome);
    packages.retain(|package| package.has_library());
    if packages.is_empty() {
        return outcome;
    }
    let command = ctx
        .cargo("test")
        .args(["--locked", "--doc", "--no-fail-fast"]);
    let command = with_features(command, &packages).limit(TESTS_LIMIT);
    let output = command.capture_stdout();
    let counts = Counts::read(&output.stdout);
    outcome.pass(counts.passed);
    for name in counts.ignored {
        outcome.skip(name, "marked `ignore`");
    }
    if !counts.failed.is_empty() {
        println!("{}", output.stdout);
    }
    for name in &counts.failed {
        outcome.fail(name, "its output stands above");
    }
    if counts.failed.is_empty() && !output.ending.is_success() {
        outcome.fail(
            "cargo test --doc",
            output.ok(&command).err().unwrap_or_default(),
        );
    }
    outcome
}

/// Builds the pages twice: as users see them, where a link to a private item breaks, and with
/// the private items, whose headers are this project's design documents.
pub(crate) fn pages(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = selected(ctx, &mut outcome);
    if packages.is_empty() {
        return outcome;
    }
    let pages = || {
        let command = with_features(ctx.cargo("doc").args(["--locked", "--no-deps"]), &packages);
        command.env("RUSTDOCFLAGS", "-D warnings")
    };
    let private = pages().arg("--document-private-items");
    check(&mut outcome, "rustdoc with private items", &private);
    check(&mut outcome, "rustdoc", &pages());
    outcome
}
