//! deny: the licences, bans and sources of every dependency are as deny.toml says.

use super::check;
use crate::context::{Context, Outcome};
use crate::tools;

/// One check; advisories are not looked at, because their database is fetched from elsewhere and
/// a run would depend on the day.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let command = (ctx.command(tools::program(ctx, "cargo-deny"))).args([
        "--locked",
        "--all-features",
        "check",
        "licenses",
        "bans",
        "sources",
    ]);
    check(&mut outcome, "cargo-deny", &command);
    outcome
}
