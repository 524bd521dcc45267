//! clippy: no warning in the plain build, with every feature, and in the builds of the models.

use super::{check, package_args, selected, user_features, with_features};
use crate::context::{Context, Outcome};
use crate::metadata::Package;
use crate::run::Command;
use crate::shuttle;

/// The configuration in which core's sync door leads to loom.
const LOOM_FLAGS: &str = "--cfg mainspring_loom";

/// Runs the four forms; those that would repeat another are left out.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = selected(ctx, &mut outcome);
    if packages.is_empty() {
        return outcome;
    }
    let plain = || ctx.cargo("clippy").args(["--locked", "--all-targets"]);
    let command = denying_warnings(plain().args(package_args(&packages)));
    check(&mut outcome, "clippy", &command);

    if !user_features(&packages).is_empty() {
        let command = denying_warnings(with_features(plain(), &packages));
        check(&mut outcome, "clippy with all features", &command);
    }

    let with_models = packages
        .iter()
        .filter(|p| p.features.iter().any(|name| name == "loom"));
    let with_models = package_args(with_models);
    if !with_models.is_empty() {
        // Other flags mean another build of every dependency: in a directory of its own, which
        // the loom stage shares, and in its profile, so that build scripts are built once.
        let command =
            (plain()
                .args(with_models)
                .args(["--features", "loom", "--profile", "model"]))
            .env("RUSTFLAGS", LOOM_FLAGS)
            .env("CARGO_TARGET_DIR", ctx.target("loom"));
        let command = denying_warnings(command);
        check(&mut outcome, "clippy of the model build", &command);
    }
    let has_tests = |package: &&Package| !shuttle::targets(package).is_empty();
    let with_schedules = package_args(packages.iter().filter(has_tests));
    if !with_schedules.is_empty() {
        let command = (plain().args(with_schedules))
            .args(["--features", shuttle::FEATURE, "--profile", "model"])
            .env("RUSTFLAGS", shuttle::FLAGS)
            .env("CARGO_TARGET_DIR", ctx.target("shuttle"));
        let command = denying_warnings(command);
        check(&mut outcome, "clippy of the shuttle build", &command);
    }
    outcome
}

/// After `--`, so that the flag reaches our packages alone and rebuilds no dependency.
fn denying_warnings(command: Command) -> Command {
    command.args(["--", "-D", "warnings"])
}
