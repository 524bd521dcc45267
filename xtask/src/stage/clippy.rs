//! clippy: no warning in the plain build, with every feature, and in the model build.

use super::{check, package_args, selected, user_features};
use crate::context::{Context, Outcome};
use crate::run::Command;

/// The configuration in which core's sync door leads to loom.
const LOOM_FLAGS: &str = "--cfg mainspring_loom";

/// Runs the three forms; those that would repeat another are left out.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = selected(ctx, &mut outcome);
    if packages.is_empty() {
        return outcome;
    }
    let plain = || ctx.cargo("clippy").args(["--locked", "--all-targets"]);
    let command = denying_warnings(plain().args(package_args(&packages)));
    check(&mut outcome, "clippy", &command);

    let features = user_features(&packages);
    if !features.is_empty() {
        let command =
            (plain().args(package_args(&packages))).args(["--features", &features.join(",")]);
        check(
            &mut outcome,
            "clippy with all features",
            &denying_warnings(command),
        );
    }

    let with_models = packages
        .iter()
        .filter(|p| p.features.iter().any(|name| name == "loom"));
    let with_models = package_args(with_models);
    if !with_models.is_empty() {
        // Other flags mean another build of every dependency: a directory of its own, which the
        // loom stage shares, keeps the two from evicting each other.
        let command = (plain().args(with_models).args(["--features", "loom"]))
            .env("RUSTFLAGS", LOOM_FLAGS)
            .env("CARGO_TARGET_DIR", ctx.target("loom"));
        check(
            &mut outcome,
            "clippy of the model build",
            &denying_warnings(command),
        );
    }
    outcome
}

/// After `--`, so that the flag reaches our packages alone and rebuilds no dependency.
fn denying_warnings(command: Command) -> Command {
    command.args(["--", "-D", "warnings"])
}
