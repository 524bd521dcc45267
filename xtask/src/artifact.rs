//! The executables that a cargo command builds, as its messages tell of them.

use crate::json::Value;
use crate::metadata::Package;
use crate::run::Command;
use std::path::PathBuf;

/// One executable of a package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artifact {
    /// The package it belongs to.
    pub(crate) package: String,
    /// Where that package is.
    pub(crate) dir: PathBuf,
    /// What was built: `lib`, `bin`, `test`, `example`, `proc-macro`.
    pub(crate) kind: String,
    /// The name of what was built.
    pub(crate) target: String,
    /// Whether it is full of tests.
    pub(crate) is_test: bool,
    /// The file.
    pub(crate) executable: PathBuf,
}

/// Builds with `command`, which has no message format yet, and returns the executables that came
/// of it. Errors of the compiler are seen on standard error as they come.
pub(crate) fn build(command: Command, packages: &[Package]) -> Result<Vec<Artifact>, String> {
    let command = command.arg("--message-format=json-render-diagnostics");
    let output = command.capture_stdout();
    // Not `Output::ok`: what it would quote are the messages, which nobody wants to read.
    output.ending.ok(&command)?;
    read(&output.stdout, packages)
}

/// The executables in cargo's messages, one JSON object a line.
fn read(messages: &str, packages: &[Package]) -> Result<Vec<Artifact>, String> {
    let mut artifacts = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message = Value::parse(line)
            .map_err(|error| format!("cannot read a message of cargo: {error}\n{line}"))?;
        let executable = message.at("executable").text();
        let id = message.at("package_id").text();
        // Of strangers only build scripts are executables, and those are not listed as such.
        let package = packages.iter().find(|package| package.id == id);
        let (Some(package), false) = (package, executable.is_empty()) else {
            continue;
        };
        let target = message.at("target");
        let kind = target.at("kind").items().first();
        artifacts.push(Artifact {
            package: package.name.clone(),
            dir: package.dir.clone(),
            kind: kind.map_or("", Value::text).to_owned(),
            target: target.at("name").text().to_owned(),
            is_test: message.at("profile").at("test").is_true(),
            executable: PathBuf::from(executable),
        });
    }
    // Cargo finishes them in any order; the report should not depend on it.
    artifacts.sort_by(|a, b| a.executable.cmp(&b.executable));
    Ok(artifacts)
}

#[cfg(test)]
mod tests;
