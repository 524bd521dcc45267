//! newcomer: a new project, one dependency line, and the README's first example.
//!
//! The example is a server that sends back what it receives; the stage starts it on a free port,
//! which its first argument names, and speaks to it.

use super::echo_client;
use super::project::Project;
use crate::context::{Context, Outcome};
use crate::metadata;
use std::time::Duration;

/// How long the program may take to say where it listens.
const START_LIMIT: Duration = Duration::from_secs(30);

const FACADE: &str = "mainspring";

/// Builds, starts and speaks to what a newcomer would paste.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    match metadata::packages(ctx) {
        Ok(packages) => {
            let facade = packages.iter().find(|package| package.name == FACADE);
            if let Some(facade) = facade.filter(|_| ctx.is_selected(FACADE)) {
                outcome.check(
                    "the README's example in a new project",
                    newcomer(ctx, facade),
                );
            }
        }
        Err(why) => outcome.fail("cargo metadata", why),
    }
    outcome
}

fn newcomer(ctx: &Context, facade: &metadata::Package) -> Result<(), String> {
    let path = ctx.root.join("README.md");
    let readme = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let example = first_rust_block(&readme).ok_or(
        "README.md has no block that starts with ```rust: the newcomer has nothing to try",
    )?;
    let tables = format!("[dependencies]\n{FACADE} = {{ path = {:?} }}\n", facade.dir);
    let program = Project::write(ctx, "newcomer", "hello", &tables, &example)?.build(ctx)?;
    let mut server = program.arg("127.0.0.1:0").start_service()?;
    let said = server.wait_for_line("listening on ", START_LIMIT)?;
    let address = said
        .parse()
        .map_err(|error| format!("it listens on `{said}`: {error}"))?;
    echo_client::talk(address).map_err(|why| format!("{why}\n{}", server.written()))
}

/// The first block of Rust code in a Markdown text.
fn first_rust_block(markdown: &str) -> Option<String> {
    let mut lines = markdown.lines().skip_while(|line| {
        let info = line.trim_start().strip_prefix("```");
        info.and_then(|info| info.split(',').next()).map(str::trim) != Some("rust")
    });
    lines.next()?;
    let mut block = String::new();
    for line in lines.take_while(|line| !line.trim_start().starts_with("```")) {
        block.push_str(line);
        block.push('\n');
    }
    Some(block)
}

#[cfg(test)]
mod tests;
