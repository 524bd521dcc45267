//! A shell that kills process groups for us, and all of them when we are gone.
//!
//! It reads orders from a pipe that only this process can write to: `start G`, `kill G`, `term G`,
//! `end G`.
//! When the pipe closes, for whatever reason, every group that has started and not ended is
//! killed; Ctrl-C in the middle of the tests therefore leaves no test running. The shell stands in
//! a group of its own, so that the Ctrl-C does not take it away first.
//!
//! A group is killed by number after its leader was waited for. The kernel does not reuse the
//! number while a member lives; when none does, the order arrives long before it hands out all
//! other numbers.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

const SCRIPT: &str = r#"
live=
while read -r order group; do
    case $order in
    start) live="$live $group" ;;
    kill) kill -9 "-$group" ;;
    term) kill -TERM "-$group" ;;
    end)
        kill -9 "-$group"
        rest=
        for other in $live; do [ "$other" = "$group" ] || rest="$rest $other"; done
        live=$rest
        ;;
    esac
done
for group in $live; do kill -9 "-$group"; done
"#;

static ORDERS: OnceLock<io::Result<Mutex<ChildStdin>>> = OnceLock::new();

/// Starts a process that leads its own group, and has the group watched.
pub(super) fn spawn(process: &mut Command) -> io::Result<Child> {
    if let Err(error) = ORDERS.get_or_init(start) {
        return Err(io::Error::new(
            error.kind(),
            format!("no shell to clean up after it: {error}"),
        ));
    }
    let child = process.spawn()?;
    order("start", child.id());
    Ok(child)
}

/// Kills a group now.
pub(super) fn kill(group: u32) {
    order("kill", group);
}

/// Asks a group to end, with SIGTERM.
pub(super) fn terminate(group: u32) {
    order("term", group);
}

/// Kills what is left of a group and stops watching it.
pub(super) fn end(group: u32) {
    order("end", group);
}

fn order(what: &str, group: u32) {
    let Some(Ok(orders)) = ORDERS.get() else {
        return;
    };
    let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = writeln!(orders, "{what} {group}") {
        println!("cannot {what} process group {group}: its reaper is gone ({error})");
    }
}

fn start() -> io::Result<Mutex<ChildStdin>> {
    let mut shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let stdin = shell.stdin.take();
    let stdin = stdin.ok_or_else(|| io::Error::other("the shell has no standard input"))?;
    Ok(Mutex::new(stdin))
}

#[cfg(test)]
mod tests;
