//! asan: the same tests under the address and leak sanitizers.
//!
//! One run a binary, not one a test: what is looked for does not depend on the neighbours, and
//! the sanitizer's start costs more than most tests. The standard library is not instrumented;
//! its source is not needed for that.

use super::counts::Counts;
use super::{selected, with_features};
use crate::context::{Context, Outcome};
use crate::run::Command;
use crate::runner::{self, Binary};
use std::time::Duration;

/// How long one binary may run.
const RUN_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Builds with the nightly compiler and runs each test binary once.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let mut packages = selected(ctx, &mut outcome);
    // xtask's only unsafe code installs a filter of system calls, and its tests kill processes,
    // which is no business of a sanitizer.
    packages.retain(|package| package.name != "xtask");
    if packages.is_empty() {
        return outcome;
    }
    // Named, so that the flags do not reach build scripts and macros, which run uninstrumented.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let command = (ctx.command("rustup"))
        .args(["run", "nightly", "cargo", "test", "--locked", "--no-run"])
        .args(["--lib", "--tests", "--target", &target])
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CARGO_TARGET_DIR", ctx.target("asan"));
    let command = with_features(command, &packages);
    match runner::build(command, &packages) {
        Ok(binaries) => {
            // A macro's own tests run in the compiler's surroundings, where no flag reaches them.
            for binary in binaries.iter().filter(|binary| binary.kind != "proc-macro") {
                run_binary(ctx, binary, &mut outcome);
            }
        }
        Err(why) => outcome.fail("building with the address sanitizer", why),
    }
    outcome
}

fn run_binary(ctx: &Context, binary: &Binary, outcome: &mut Outcome) {
    let command = instrumented(ctx.command(&binary.executable).arg("--test-threads=1"));
    let command = binary.as_under_cargo(command).limit(RUN_LIMIT);
    let output = command.capture_merged();
    let counts = Counts::read(&output.stdout);
    outcome.pass(counts.passed);
    for name in counts.ignored {
        outcome.skip(format!("{}::{name}", binary.label()), "marked #[ignore]");
    }
    if counts.binaries == 0 && output.ending.is_success() {
        outcome.fail(
            binary.label(),
            format!("left before its end\n{}", output.stdout),
        );
    }
    // A leak is reported after the last test: the process fails and no test does.
    if !output.ending.is_success() || !counts.failed.is_empty() {
        let ending = &output.ending;
        let tests = match counts.failed.as_slice() {
            [] => "no test failed, see below".to_owned(),
            failed => format!("failed: {}", failed.join(", ")),
        };
        let why = format!("{ending} ({tests}): {}\n{}", command.line(), output.stdout);
        outcome.fail(binary.label(), why);
    }
}

fn instrumented(command: Command) -> Command {
    command
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1",
        )
        // Properties run in the test stage; here a few cases find what there is to find.
        .env("PROPTEST_CASES", "16")
}
