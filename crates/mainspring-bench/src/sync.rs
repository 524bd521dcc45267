//! Channels and locks: none of them needs a runtime, so all of them run on the same one.
//!
//! Tasks on one thread run on mainspring's local executor, tasks on two threads on tokio's
//! multi-thread runtime with two workers, blocking ends on two plain threads.

mod channels;
mod locks;
mod oneshots;

use std::future::Future;
use std::time::Instant;

use crate::outcome::Outcome;

/// One row for one implementation: takes the passes.
type Run = fn(u32) -> Outcome;

/// A row, who, and how.
type Entry = (&'static str, &'static str, Run);

fn entries() -> impl Iterator<Item = &'static Entry> {
    channels::ENTRIES
        .iter()
        .chain(oneshots::ENTRIES)
        .chain(locks::ENTRIES)
}

/// Every row with every implementation that takes part.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    entries().map(|(row, name, _)| (*row, *name))
}

/// Whether the row lets its work run on both cores.
pub fn needs_two_cores(row: &str) -> bool {
    row.contains("-two") || row.contains("-blocking")
}

/// Runs a row: one warm-up and `passes` passes.
pub fn run(row: &str, name: &str, passes: u32) -> Option<Outcome> {
    let (_, _, run) = entries().find(|(r, n, _)| *r == row && *n == name)?;
    Some(run(passes))
}

/// How long a pass should take.
const PASS_NS: f64 = 40e6;

/// Times `work(units)`, in nanoseconds a unit. The warm-up finds out how many fill a pass.
fn timed(passes: u32, work: impl Fn(u64)) -> Outcome {
    let took = |units: u64| {
        let start = Instant::now();
        work(units);
        start.elapsed().as_nanos() as f64 / units as f64
    };
    let mut units = 1_000;
    let mut nanos = took(units);
    while nanos * (units as f64) < PASS_NS / 4.0 {
        units *= 4;
        nanos = took(units);
    }
    units = ((PASS_NS / nanos) as u64).max(1);
    took(units);
    Outcome::of("ns", (0..passes).map(|_| took(units)).collect())
}

/// Runs a future on the local executor.
fn on_one_thread<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
    mainspring_executor::LocalExecutor::new().block_on(main)
}

/// Runs a future on two workers.
fn on_two_workers<T: Send + 'static>(main: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let task = tokio::spawn(main);
        task.await.expect("no task of a row panics")
    })
}
