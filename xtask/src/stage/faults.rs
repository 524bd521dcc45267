//! faults: each system call fails, with each of its plausible errors, each time it is made.
//!
//! The example `exchange` of the facade runs under strace, which makes the kernel answer with the
//! error of a [`Cell`], or with a limit on its descriptors. What has to come of it stands in the
//! [`matrix`]; what must never come of it (a hang, a panic, a wrong byte, a thread that spins) is
//! looked for in every cell. The stage runs the first ones of each kind, `cargo xtask faults` all.
//!
//! # Not here
//!
//! What the kernel answers through the ring, strace cannot change: the tests of the reactor do.
//! Errors that are lies about a socket's state, EAGAIN to an edge that was reported, say, are left
//! out where the truth would have brought another event. Short counts would need a library to be
//! loaded before the program's own, and with it another compiler.

use crate::artifact;
use crate::context::{Context, Outcome};
use crate::metadata;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

mod cell;
mod matrix;
mod reference;

use self::cell::Cell;
use self::matrix::Served;
use self::reference::Reference;

const PACKAGE: &str = "mainspring";
const EXAMPLE: &str = "exchange";

/// How many cells run at a time for each job: most of them wait.
const CELLS_A_JOB: usize = 3;

/// How much of the matrix is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The first calls of each kind.
    Short,
    /// Every call.
    Full,
}

/// The stage and the command.
pub(crate) fn run(ctx: &Context, extent: Extent) -> Outcome {
    let mut outcome = Outcome::new();
    if !ctx.is_selected(PACKAGE) {
        return outcome;
    }
    match build(ctx) {
        Ok(program) => {
            let cells = plan(ctx, &program, extent, &mut outcome);
            run_cells(ctx, &program, cells, &mut outcome);
        }
        Err(why) => outcome.fail("building the example exchange", why),
    }
    outcome
}

fn build(ctx: &Context) -> Result<PathBuf, String> {
    let packages = metadata::packages(ctx)?;
    let command = ctx.cargo("build").args(["--locked", "-p", PACKAGE]);
    let artifacts = artifact::build(command.args(["--example", EXAMPLE]), &packages)?;
    let built = artifacts.into_iter().find(|built| built.target == EXAMPLE);
    built
        .map(|built| built.executable)
        .ok_or_else(|| format!("cargo built no example called {EXAMPLE}"))
}

/// The cells of every backend that works here without a fault. One that does not is a failure,
/// unless the machine has no ring, or nobody may be traced on it.
fn plan(ctx: &Context, program: &Path, extent: Extent, outcome: &mut Outcome) -> Vec<Cell> {
    let mut cells = Vec::new();
    for served in Served::ALL {
        match Reference::run(ctx, program, served) {
            Ok(reference) => {
                outcome.pass(1);
                cells.extend(matrix::cells(served, &reference, extent));
            }
            Err(reference::Without::MayBeSkipped(reason)) => {
                outcome.skip(format!("faults {served}"), reason);
            }
            Err(reference::Without::Fault(why)) => {
                outcome.fail(format!("faults {served}, without a fault"), why);
            }
        }
    }
    cells
}

fn run_cells(ctx: &Context, program: &Path, cells: Vec<Cell>, outcome: &mut Outcome) {
    let at_a_time = ctx.jobs.max(1) * CELLS_A_JOB;
    println!("{} cells, {at_a_time} at a time", cells.len());
    let queue = Mutex::new(VecDeque::from(cells));
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            let (queue, done) = (&queue, done.clone());
            scope.spawn(move || {
                while let Some(cell) = next(queue) {
                    let result = cell.run(ctx, program);
                    if done.send((cell, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for (cell, result) in results {
            outcome.check(format!("faults {cell}"), result);
        }
    });
}

fn next(queue: &Mutex<VecDeque<Cell>>) -> Option<Cell> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

#[cfg(test)]
mod tests;
