//! Test binaries: building them, and the names of the tests in them.

use crate::context::Context;
use crate::json::Value;
use crate::metadata::Package;
use crate::run::Command;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a binary may take to list its tests.
const LIST_LIMIT: Duration = Duration::from_secs(20);

/// One executable full of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binary {
    /// The package it belongs to.
    pub(crate) package: String,
    /// `lib`, `test`, `bin`, …
    pub(crate) kind: String,
    /// The name of the target.
    pub(crate) target: String,
    /// Where that package is: the directory that cargo would run it in.
    pub(crate) dir: PathBuf,
    /// The executable.
    pub(crate) executable: PathBuf,
}

/// One test as its binary lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) is_ignored: bool,
}

impl Binary {
    /// The package, and the target where the package has several binaries.
    pub(crate) fn label(&self) -> String {
        match self.kind.as_str() {
            "test" => format!("{}::{}", self.package, self.target),
            _ => self.package.clone(),
        }
    }

    /// Gives a command that starts this binary the surroundings that `cargo test` would.
    pub(crate) fn as_under_cargo(&self, command: Command) -> Command {
        command
            .dir(&self.dir)
            .env("CARGO_MANIFEST_DIR", &self.dir)
            .env("CARGO_PKG_NAME", &self.package)
    }

    /// The tests in it.
    pub(crate) fn list(&self, ctx: &Context) -> Result<Vec<Listed>, String> {
        let names = |only_ignored: &[&str]| {
            let command = (ctx
                .command(&self.executable)
                .args(["--list", "--format", "terse"]))
            .args(only_ignored)
            .limit(LIST_LIMIT)
            .quiet();
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
    let command = command.arg("--message-format=json-render-diagnostics");
    let messages = command.capture_stdout().ok(&command)?;
    binaries_in(&messages, packages)
}

/// The test binaries in cargo's messages, one JSON object a line.
fn binaries_in(messages: &str, packages: &[Package]) -> Result<Vec<Binary>, String> {
    let mut binaries = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message = Value::parse(line)
            .map_err(|error| format!("cannot read a message of cargo: {error}\n{line}"))?;
        let executable = message.at("executable").text();
        if !message.at("profile").at("test").is_true() || executable.is_empty() {
            continue;
        }
        let id = message.at("package_id").text();
        let package = packages.iter().find(|package| package.id == id);
        let package = package.ok_or_else(|| format!("cargo built tests of a stranger: {id}"))?;
        let target = message.at("target");
        binaries.push(Binary {
            package: package.name.clone(),
            kind: target
                .at("kind")
                .items()
                .first()
                .map_or("", Value::text)
                .to_owned(),
            target: target.at("name").text().to_owned(),
            dir: package.dir.clone(),
            executable: Path::new(executable).to_owned(),
        });
    }
    // Cargo finishes them in any order; the report should not depend on it.
    binaries.sort_by(|a, b| a.executable.cmp(&b.executable));
    Ok(binaries)
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
