//! The tools that stages need beyond cargo: how each is found, fetched, and done without.

use crate::context::Context;
use std::path::PathBuf;
use std::time::Duration;

/// How long fetching a tool may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(15 * 60);

/// One tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tool {
    /// What a person calls it.
    name: &'static str,
    /// A command that succeeds where the tool is.
    probe: &'static [&'static str],
    /// How to have it.
    source: Source,
}

/// Where a tool comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Part of the pinned toolchain: without it nothing can be said, so its absence is a failure.
    Toolchain,
    /// Never fetched by us: without it the stage is skipped, with this advice.
    Machine(&'static str),
    /// `cargo install` of this crate into `target/tools`, under `CI=true` or `--install` only.
    Cargo(&'static str),
}

/// The formatter.
pub(crate) const RUSTFMT: Tool = Tool {
    name: "rustfmt",
    probe: &["cargo", "fmt", "--version"],
    source: Source::Toolchain,
};

/// The linter.
pub(crate) const CLIPPY: Tool = Tool {
    name: "clippy",
    probe: &["cargo", "clippy", "--version"],
    source: Source::Toolchain,
};

/// The judge of dependencies. A minute to build on two cores.
pub(crate) const DENY: Tool = Tool {
    name: "cargo-deny",
    probe: &["cargo-deny", "--version"],
    source: Source::Cargo("cargo-deny"),
};

/// A compiler with sanitizers.
pub(crate) const NIGHTLY: Tool = Tool {
    name: "nightly toolchain",
    probe: &["rustup", "run", "nightly", "rustc", "--version"],
    source: Source::Machine("`rustup toolchain install nightly --profile minimal`"),
};

/// What makes system calls fail.
pub(crate) const STRACE: Tool = Tool {
    name: "strace",
    probe: &["strace", "--version"],
    source: Source::Machine("`apt install strace` or its like"),
};

/// Why a tool is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The stage may be left out, for this reason.
    MayBeSkipped(String),
    /// The stage cannot be left out.
    Needed(String),
}

/// Makes sure that a tool is there, fetching it where that is allowed.
pub(crate) fn ensure(ctx: &Context, tool: &Tool) -> Result<(), Missing> {
    if is_there(ctx, tool) {
        return Ok(());
    }
    match tool.source {
        Source::Toolchain => Err(Missing::Needed(format!(
            "no {0}: `rustup component add {0}`",
            tool.name
        ))),
        Source::Machine(advice) => Err(Missing::MayBeSkipped(format!(
            "no {}: {advice} to run this stage",
            tool.name
        ))),
        Source::Cargo(_) if !ctx.may_install() => Err(Missing::MayBeSkipped(format!(
            "no {}: `cargo xtask ci --install` fetches it into target/tools",
            tool.name
        ))),
        Source::Cargo(package) => install(ctx, tool, package),
    }
}

/// The program to run for a tool that cargo installs: our own copy first, then the machine's.
pub(crate) fn program(ctx: &Context, name: &str) -> PathBuf {
    let own = ctx.target("tools/bin").join(name);
    if own.exists() {
        own
    } else {
        PathBuf::from(name)
    }
}

fn is_there(ctx: &Context, tool: &Tool) -> bool {
    let probe = ctx
        .command(program(ctx, tool.probe[0]))
        .args(&tool.probe[1..]);
    probe.quiet().capture().ending.is_success()
}

/// Fetches a tool, also over what is left of one that does not run.
fn install(ctx: &Context, tool: &Tool, package: &str) -> Result<(), Missing> {
    let command = (ctx.cargo("install"))
        .args([package, "--locked", "--debug", "--force", "--root"])
        .arg(ctx.target("tools"))
        .limit(INSTALL_LIMIT);
    let installed = command.stream().ok(&command);
    installed.map_err(|why| Missing::Needed(format!("cannot fetch {}: {why}", tool.name)))?;
    if is_there(ctx, tool) {
        return Ok(());
    }
    let why = format!("{} was fetched and does not run: try it by hand", tool.name);
    Err(Missing::Needed(why))
}
