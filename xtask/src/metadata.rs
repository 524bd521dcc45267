//! The packages of the workspace, as `cargo metadata` tells of them.

use crate::context::Context;
use crate::json::Value;
use std::path::{Path, PathBuf};

/// One package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Where its manifest is.
    pub(crate) dir: PathBuf,
    /// What cargo calls it in its messages.
    pub(crate) id: String,
    /// Whether it may be published at all.
    pub(crate) is_published: bool,
    /// The names of its features.
    pub(crate) features: Vec<String>,
    /// The packages of this workspace that it needs, outside its tests.
    pub(crate) siblings: Vec<String>,
    /// What it builds.
    pub(crate) targets: Vec<Target>,
}

/// One thing that a package builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: String,
    /// `lib`, `bin`, `test`, `example`, `bench`, `proc-macro`, `custom-build`.
    pub(crate) kind: String,
}

impl Package {
    /// Whether it has a library, a proc-macro one included.
    pub(crate) fn has_library(&self) -> bool {
        (self.targets.iter()).any(|target| matches!(target.kind.as_str(), "lib" | "proc-macro"))
    }

    /// Every feature but `loom` and `shuttle`, which are for models, and `default`, which is a list
    /// of others.
    pub(crate) fn user_features(&self) -> Vec<&str> {
        let names = self.features.iter().map(String::as_str);
        names
            .filter(|name| !matches!(*name, "loom" | "shuttle" | "default"))
            .collect()
    }
}

/// The packages of the workspace, in the order in which their names sort.
pub(crate) fn packages(ctx: &Context) -> Result<Vec<Package>, String> {
    packages_of(ctx, &ctx.root)
}

/// The packages of the workspace that stands at `root`.
pub(crate) fn packages_of(ctx: &Context, root: &Path) -> Result<Vec<Package>, String> {
    let command = (ctx.cargo("metadata").dir(root).quiet()).args([
        "--format-version",
        "1",
        "--no-deps",
        "--locked",
    ]);
    let text = command.capture().ok(&command)?;
    let metadata = Value::parse(&text)
        .map_err(|error| format!("cannot read the output of `{}`: {error}", command.line()))?;
    Ok(read(&metadata))
}

fn read(metadata: &Value) -> Vec<Package> {
    let items = metadata.at("packages").items();
    let names: Vec<_> = items.iter().map(|item| item.at("name").text()).collect();
    let mut packages: Vec<_> = items
        .iter()
        .map(|item| read_package(item, &names))
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    packages
}

fn read_package(item: &Value, workspace: &[&str]) -> Package {
    let manifest = PathBuf::from(item.at("manifest_path").text());
    let siblings = (item.at("dependencies").items().iter())
        .filter(|needed| needed.at("kind").text() != "dev")
        .map(|needed| needed.at("name").text())
        .filter(|name| workspace.contains(name));
    let features = item.at("features").entries().iter();
    Package {
        name: item.at("name").text().to_owned(),
        version: item.at("version").text().to_owned(),
        dir: manifest.parent().unwrap_or(Path::new(".")).to_owned(),
        id: item.at("id").text().to_owned(),
        // `null` means any registry, a list means those; `publish = false` is the empty list.
        is_published: item.at("publish").is_null() || !item.at("publish").items().is_empty(),
        features: features.map(|(name, _)| name.clone()).collect(),
        siblings: siblings.map(str::to_owned).collect(),
        targets: item.at("targets").items().iter().map(read_target).collect(),
    }
}

fn read_target(item: &Value) -> Target {
    let kind = item.at("kind").items().first();
    Target {
        name: item.at("name").text().to_owned(),
        kind: kind.map_or("", Value::text).to_owned(),
    }
}

#[cfg(test)]
mod tests;
