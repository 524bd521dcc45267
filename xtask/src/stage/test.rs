//! test: every test of the workspace, in each pass.

use super::{selected, with_features};
use crate::context::{Context, Outcome};
use crate::deny_uring;
use crate::runner::{self, Pass};

/// The conditions under which the tests run.
const PASSES: &[Pass] = &[
    Pass {
        name: "native",
        env: &[],
        launcher: None,
        packages: &[],
    },
    Pass {
        name: "poll",
        env: &[("MAINSPRING_BACKEND", "poll")],
        launcher: None,
        packages: ON_A_REACTOR,
    },
    Pass {
        name: "denied",
        env: &[("MAINSPRING_TEST_DENIED", "1")],
        launcher: Some(deny_uring::launcher),
        packages: ON_A_REACTOR,
    },
];

/// The packages whose tests depend on what serves the sockets.
const ON_A_REACTOR: &[&str] = &["mainspring-reactor", "mainspring"];

/// Builds once, then runs every pass.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = selected(ctx, &mut outcome);
    if packages.is_empty() {
        return outcome;
    }
    let command = with_features(ctx.cargo("test").args(["--locked", "--no-run"]), &packages);
    match runner::build(command, &packages) {
        Ok(binaries) => {
            for pass in PASSES {
                outcome.merge(runner::run(ctx, pass, &binaries));
            }
        }
        Err(why) => outcome.fail("building the tests", why),
    }
    if ctx.packages.is_empty() && outcome == Outcome::new() {
        outcome.fail(
            "finding the tests",
            "the whole workspace listed not one test",
        );
    }
    outcome
}
