//! features: each published crate alone, without features, with each alone, and with all but those
//! of the models.
//!
//! One package a command: `--workspace` would unify features, and a crate that forgot to ask for
//! what it needs would borrow it from its neighbour. Clippy checks what `cargo check` does and
//! takes `-D warnings` without rebuilding dependencies.

use super::{check, selected};
use crate::context::{Context, Outcome};
use crate::metadata::Package;

/// Checks every combination; each counts as one.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    for package in selected(ctx, &mut outcome) {
        if !package.is_published {
            continue;
        }
        for features in combinations(&package) {
            let mut command = (ctx.cargo("clippy").args(["--locked", "-p", &package.name]))
                .arg("--no-default-features");
            if !features.is_empty() {
                command = command.args(["--features", &features]);
            }
            let what = format!("{} with features [{features}]", package.name);
            check(&mut outcome, what, &command.args(["--", "-D", "warnings"]));
        }
    }
    outcome
}

/// None, each alone, `default` if there is one, and all together.
fn combinations(package: &Package) -> Vec<String> {
    let features = package.user_features();
    let mut combinations = vec![String::new()];
    combinations.extend(features.iter().map(|name| (*name).to_owned()));
    if package.features.iter().any(|name| name == "default") {
        combinations.push("default".to_owned());
    }
    if features.len() > 1 {
        combinations.push(features.join(","));
    }
    combinations
}

#[cfg(test)]
mod tests;
