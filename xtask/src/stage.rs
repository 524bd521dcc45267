//! The stages of `cargo xtask ci`, one a file. What they share stands here.

use crate::context::{Context, Outcome};
use crate::metadata::{self, Package};
use crate::run::Command;

pub(crate) mod asan;
pub(crate) mod clippy;
mod counts;
pub(crate) mod deny;
pub(crate) mod doc;
mod echo_client;
pub(crate) mod examples;
pub(crate) mod faults;
pub(crate) mod features;
pub(crate) mod fmt;
pub(crate) mod interop;
pub(crate) mod newcomer;
pub(crate) mod package;
mod project;
pub(crate) mod test;

/// The packages that `-p` selects. A failure to list them is recorded in `outcome` and leaves none.
fn selected(ctx: &Context, outcome: &mut Outcome) -> Vec<Package> {
    match metadata::packages(ctx) {
        Ok(mut packages) => {
            packages.retain(|package| ctx.is_selected(&package.name));
            packages
        }
        Err(why) => {
            outcome.fail("cargo metadata", why);
            Vec::new()
        }
    }
}

/// `-p NAME` for each of them; `--workspace` would take in what was not selected.
fn package_args<'a>(packages: impl IntoIterator<Item = &'a Package>) -> Vec<String> {
    let name = |package: &'a Package| ["-p".to_owned(), package.name.clone()];
    packages.into_iter().flat_map(name).collect()
}

/// Runs a command whose output is for the reader, and counts it as one.
fn check(outcome: &mut Outcome, what: impl Into<String>, command: &Command) {
    outcome.check(what, command.stream().ok(command));
}

/// Selects the packages, and turns on every feature that users may turn on: what stands behind
/// one is code like any other, and features never change what is there without them.
fn with_features(command: Command, packages: &[Package]) -> Command {
    let command = command.args(package_args(packages));
    let features = user_features(packages);
    if features.is_empty() {
        return command;
    }
    command.args(["--features", &features.join(",")])
}

/// `NAME/FEATURE` for every feature that users may turn on.
fn user_features(packages: &[Package]) -> Vec<String> {
    let features = |package: &Package| {
        let qualified = package.user_features().into_iter().map(|feature| {
            let name = &package.name;
            format!("{name}/{feature}")
        });
        qualified.collect::<Vec<_>>()
    };
    packages.iter().flat_map(features).collect()
}
