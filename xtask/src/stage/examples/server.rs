//! What the drivers of servers share: a start on each backend, and an end.

use crate::context::Context;
use crate::run::{Ending, Service};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How long a server may take to say where it listens.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long it may take to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// The backend that every system has.
const EVERYWHERE: &str = "poll";

/// Speaks to a server that was started.
pub(super) type Dialogue = fn(&Context, SocketAddr, &mut Service) -> Result<(), String>;

/// Starts the example on the best backend that this system allows and on the one that is to be had
/// everywhere, holds the dialogue with each, and ends it with SIGTERM.
pub(super) fn drive(
    ctx: &Context,
    executable: &Path,
    options: &[&str],
    dialogue: Dialogue,
) -> Result<(), String> {
    command_line(ctx, executable)?;
    let best = on_backend(ctx, executable, "auto", options, dialogue)?;
    if best == EVERYWHERE {
        return Ok(());
    }
    let served = on_backend(ctx, executable, EVERYWHERE, options, dialogue)?;
    if served != EVERYWHERE {
        return Err(format!("asked for {EVERYWHERE}, served by {served}"));
    }
    Ok(())
}

/// Help is help, and an option that is none is told.
fn command_line(ctx: &Context, executable: &Path) -> Result<(), String> {
    let help = ctx.command(executable).arg("--help");
    let text = help.capture().ok(&help)?;
    if !text.contains("--backend") || !text.contains("--addr") {
        return Err(format!("`--help` does not name the options:\n{text}"));
    }
    let wrong = ctx.command(executable).args(["--colour", "blue"]);
    let output = wrong.capture();
    if output.ending != Ending::Code(2) || !output.stderr.contains("--colour") {
        return Err(format!(
            "{}: {}\n{}",
            output.ending,
            wrong.line(),
            output.stderr
        ));
    }
    Ok(())
}

/// Returns the backend that the server says it has.
fn on_backend(
    ctx: &Context,
    executable: &Path,
    backend: &str,
    options: &[&str],
    dialogue: Dialogue,
) -> Result<String, String> {
    let command = (ctx.command(executable))
        .args(["--addr", "127.0.0.1:0", "--backend", backend])
        .args(options);
    let mut server = command.start_service()?;
    let said = server.wait_for_line("listening on ", START_LIMIT)?;
    let (address, served) = read(&said)?;
    dialogue(ctx, address, &mut server)
        .map_err(|why| format!("on {served}: {why}\n{}", server.written()))?;
    server.terminate();
    let written = server.wait_for_end(END_LIMIT)?;
    if !written.contains("clean shutdown in ") {
        return Err(format!("on {served}, it did not end well:\n{written}"));
    }
    Ok(served)
}

/// Reads `127.0.0.1:PORT (backend: NAME)`.
fn read(said: &str) -> Result<(SocketAddr, String), String> {
    let parts = said.split_once(" (backend: ");
    let read = parts.and_then(|(address, rest)| {
        let backend = rest.strip_suffix(')')?.to_owned();
        Some((address.parse().ok()?, backend))
    });
    read.ok_or_else(|| format!("`{said}` is not an address and a backend"))
}

#[cfg(test)]
mod tests;
