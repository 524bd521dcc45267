//! Test binaries: building them, and the names of the tests in them.

use crate::artifact::{self, Artifact};
use crate::context::Context;
use crate::metadata::Package;
use crate::run::Command;
use std::time::Duration;

/// How long a binary may take to list its tests.
const LIST_LIMIT: Duration = Duration::from_secs(20);

/// One executable full of tests.
pub(crate) type Binary = Artifact;

/// One test as its binary lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) is_ignored: bool,
}

impl Binary {
    /// The name in reports: the package, and the target where the package has several binaries.
    pub(crate) fn label(&self) -> String {
        match self.kind.as_str() {
            "test" => format!("{}::{}", self.package, self.target),
            _ => self.package.clone(),
        }
    }

    /// Gives a command that starts this binary the surroundings that `cargo test` would. The
    /// library path, which the tests of a macro crate need, comes from the `cargo run` above us.
    pub(crate) fn as_under_cargo(&self, command: Command) -> Command {
        command
            .dir(&self.dir)
            .env("CARGO_MANIFEST_DIR", &self.dir)
            .env("CARGO_PKG_NAME", &self.package)
    }

    /// The tests in it.
    pub(crate) fn list(&self, ctx: &Context) -> Result<Vec<Listed>, String> {
        let names = |only_ignored: &[&str]| {
            let command = ctx.command(&self.executable).limit(LIST_LIMIT).quiet();
            let command = command
                .args(["--list", "--format", "terse"])
                .args(only_ignored);
            let command = self.as_under_cargo(command);
            command.capture().ok(&command).map(|text| names_in(&text))
        };
        let ignored = names(&["--ignored"])?;
        let all = names(&[])?.into_iter();
        Ok(all
            .map(|name| Listed {
                is_ignored: ignored.contains(&name),
                name,
            })
            .collect())
    }
}

/// Builds with `command` (a `cargo test --no-run …` without a message format) and returns the
/// test binaries that came of it.
pub(crate) fn build(command: Command, packages: &[Package]) -> Result<Vec<Binary>, String> {
    let artifacts = artifact::build(command, packages)?.into_iter();
    Ok(artifacts.filter(|artifact| artifact.is_test).collect())
}

/// The names in the output of `--list --format terse`.
fn names_in(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests;
