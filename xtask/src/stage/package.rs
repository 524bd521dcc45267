//! package: what would be published builds alone, and serves a foreign project.
//!
//! All packages are made together, because cargo packs unpublished siblings only in company. Then
//! each crate gets a project that depends on it by version, as a user would, with a patch
//! section that leads to the unpacked packages of it and of what it may depend on: core, and the
//! macros. A crate that quietly needs another sibling does not build there.
//!
//! # Rejected
//!
//! Cargo's own verification. It takes siblings from a registry below `target/`, and keeps what it
//! unpacked from there in `CARGO_HOME` under name and version: the second run verifies against the
//! first run's core. The foreign projects build the same packages, unpacked anew each time.

use super::check;
use super::project::Project;
use crate::context::{Context, Outcome};
use crate::metadata::{self, Package};
use std::fmt::Write;
use std::io::ErrorKind;

/// The one crate that may depend on all others.
const FACADE: &str = "mainspring";

/// What every other crate may depend on.
const SHARED: &[&str] = &["mainspring-core", "mainspring-macros"];

/// A program that a package brings along to show itself alone; see CONTRIBUTING.md.
const ALONE: &str = "examples/alone.rs";

/// Where the packages are unpacked, below `target/`.
const UNPACKED: &str = "foreign/packages";

/// Makes the packages, then builds and runs one foreign project for each.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = match metadata::packages(ctx) {
        Ok(packages) => packages,
        Err(why) => {
            outcome.fail("cargo metadata", why);
            return outcome;
        }
    };
    let (published, kept): (Vec<_>, Vec<_>) = packages.into_iter().partition(|p| p.is_published);
    if !published
        .iter()
        .any(|package| ctx.is_selected(&package.name))
    {
        return outcome;
    }
    let excluded = kept.iter().flat_map(|package| ["--exclude", &package.name]);
    // `--allow-dirty`: the stage is run before committing, too.
    let command = (ctx.cargo("package"))
        .args(["--workspace", "--locked", "--allow-dirty", "--no-verify"])
        .args(excluded);
    check(&mut outcome, "cargo package", &command);
    if outcome.failed() > 0 {
        return outcome;
    }
    if let Err(why) = unpack(ctx, &published) {
        outcome.fail("unpacking the packages", why);
        return outcome;
    }
    for package in published
        .iter()
        .filter(|package| ctx.is_selected(&package.name))
    {
        let what = format!(
            "a foreign project with {} {}",
            package.name, package.version
        );
        outcome.check(what, foreign_project(ctx, package, &published));
    }
    outcome
}

/// Unpacks every package into a fresh directory.
fn unpack(ctx: &Context, published: &[Package]) -> Result<(), String> {
    let dir = ctx.target(UNPACKED);
    let emptied = match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(&dir),
    };
    emptied.map_err(|error| format!("cannot empty {}: {error}", dir.display()))?;
    for package in published {
        let archive = ctx
            .target("package")
            .join(format!("{}.crate", directory(package)));
        // `m`: the times in the archive are always the same, and cargo would take what it built
        // from an older package for what it needs now.
        let command = (ctx.command("tar").arg("-xzmf").arg(archive))
            .arg("-C")
            .arg(&dir);
        command.capture().ok(&command)?;
    }
    Ok(())
}

/// What a package is called inside its archive.
fn directory(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

fn foreign_project(ctx: &Context, package: &Package, published: &[Package]) -> Result<(), String> {
    let unpacked = |package: &Package| ctx.target(UNPACKED).join(directory(package));
    let main = match std::fs::read_to_string(unpacked(package).join(ALONE)) {
        Ok(example) => example,
        Err(_) => format!(
            "use {} as _;\n\nfn main() {{}}\n",
            package.name.replace('-', "_")
        ),
    };
    let mut tables = format!(
        "[dependencies]\n{} = \"{}\"\n\n[patch.crates-io]\n",
        package.name, package.version
    );
    for patched in published.iter().filter(|other| is_patched(package, other)) {
        let path = unpacked(patched);
        // Writing to a `String` cannot fail.
        let _ = writeln!(tables, "{} = {{ path = {:?} }}", patched.name, path);
    }
    let name = format!("foreign-{}", package.name);
    Project::write(ctx, "foreign", &name, &tables, &main)?.build_and_run(ctx)
}

/// Whether the project of `package` is led to the local package of `other`.
fn is_patched(package: &Package, other: &Package) -> bool {
    if other.name == package.name || package.name == FACADE {
        return true;
    }
    package.siblings.contains(&other.name) && SHARED.contains(&other.name.as_str())
}

#[cfg(test)]
mod tests;
