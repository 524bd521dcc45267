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
pub(super) type Dialogue = fn(&Context, SocketAddr, &mut Service, Form) -> Result<(), String>;

/// On which runtime a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    OneThread,
    Workers,
}

impl Form {
    const ALL: [Self; 2] = [Self::OneThread, Self::Workers];

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::OneThread => &[],
            Self::Workers => &["--workers=4"],
        }
    }
}

/// Starts the example on either runtime, each on the best backend that this system allows and on
/// the one that is to be had everywhere, holds the dialogue with each, and ends it with SIGTERM.
pub(super) fn drive(
    ctx: &Context,
    executable: &Path,
    options: &[&str],
    dialogue: Dialogue,
) -> Result<(), String> {
    command_line(ctx, executable)?;
    explains(ctx, executable)?;
    for form in Form::ALL {
        let options = [options, form.options()].concat();
        let talk = |address, server: &mut Service| dialogue(ctx, address, server, form);
        on_both_backends(ctx, executable, &options, &talk)
            .map_err(|why| format!("{form:?} {why}"))?;
    }
    Ok(())
}

fn on_both_backends(
    ctx: &Context,
    executable: &Path,
    options: &[&str],
    talk: &dyn Fn(SocketAddr, &mut Service) -> Result<(), String>,
) -> Result<(), String> {
    let best = on_backend(ctx, executable, "auto", options, talk)?;
    if best == EVERYWHERE {
        return Ok(());
    }
    let served = on_backend(ctx, executable, EVERYWHERE, options, talk)?;
    if served != EVERYWHERE {
        return Err(format!("asked for {EVERYWHERE}, served by {served}"));
    }
    Ok(())
}

/// Command lines that no server takes, and what it says about each.
const WRONG: &[(&[&str], &str)] = &[
    (&["--colour", "blue"], "there is no option `--colour`"),
    (&["--colour"], "there is no option `--colour`"),
    (&["--colour=blue"], "there is no option `--colour`"),
    (&["-5"], "there is no option `-5`"),
    (&["9000"], "`9000` belongs to no option"),
    (&["--addr"], "`--addr` has no value"),
    (&["--addr", "--backend"], "`--addr` has no value"),
    (&["--backend", "epoll"], "no backend is called \"epoll\""),
    (&["--backend=epoll"], "no backend is called \"epoll\""),
    (&["--backend="], "no backend is called \"\""),
    (&["--workers", "-1"], "`--workers -1`: it is negative"),
    (&["--workers=many"], "`--workers many`: "),
];

/// Help is help, and what is wrong is told.
fn command_line(ctx: &Context, executable: &Path) -> Result<(), String> {
    let help = ctx.command(executable).arg("--help");
    let text = help.capture().ok(&help)?;
    if !text.contains("--backend") || !text.contains("--addr") {
        return Err(format!("`--help` does not name the options:\n{text}"));
    }
    WRONG
        .iter()
        .try_for_each(|(arguments, why)| refuses(ctx, executable, arguments, why))
}

/// It ends with the code for a wrong command line, and says why.
pub(super) fn refuses(
    ctx: &Context,
    executable: &Path,
    arguments: &[&str],
    why: &str,
) -> Result<(), String> {
    let wrong = ctx.command(executable).args(arguments);
    let output = wrong.capture();
    let first = output.stderr.lines().next().unwrap_or_default();
    if output.ending == Ending::Code(2) && first.contains(why) {
        return Ok(());
    }
    Err(format!(
        "expected {why:?}, {}: {}\n{}",
        output.ending,
        wrong.line(),
        output.stderr
    ))
}

/// A server that has to do without the ring, and was not told to, says why.
fn explains(ctx: &Context, executable: &Path) -> Result<(), String> {
    let command = (ctx.command(executable).args(["--addr=127.0.0.1:0"]))
        .env("MAINSPRING_BACKEND", EVERYWHERE);
    let mut server = command.start_service()?;
    server.wait_for_line("readiness ", START_LIMIT)?;
    server.terminate();
    server.wait_for_end(END_LIMIT).map(drop)
}

/// Returns the backend that the server says it has.
fn on_backend(
    ctx: &Context,
    executable: &Path,
    backend: &str,
    options: &[&str],
    talk: &dyn Fn(SocketAddr, &mut Service) -> Result<(), String>,
) -> Result<String, String> {
    let command = (ctx.command(executable))
        .args(["--addr", "127.0.0.1:0", "--backend", backend])
        .args(options);
    let mut server = command.start_service()?;
    let said = server.wait_for_line("listening on ", START_LIMIT)?;
    let (address, served) = read(&said)?;
    talk(address, &mut server)
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
