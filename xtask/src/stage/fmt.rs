//! fmt: every file is formatted as rustfmt.toml says.

use super::{check, package_args, selected};
use crate::context::{Context, Outcome};

/// Checks, and changes nothing; `cargo fmt` mends.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = selected(ctx, &mut outcome);
    if !packages.is_empty() {
        let command = ctx
            .cargo("fmt")
            .args(package_args(&packages))
            .arg("--check");
        check(&mut outcome, "cargo fmt --check", &command);
    }
    outcome
}
