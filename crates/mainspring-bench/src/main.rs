//! Side-by-side benchmarks: one process runs one row for one implementation.
//!
//! `cargo xtask bench` drives this program; by hand:
//!
//! ```text
//! mainspring-bench list                       every row and who takes part in it
//! mainspring-bench run ROW IMPL [--passes n]  one warm-up and n passes, one JSON line a metric
//! mainspring-bench count ROW IMPL UNITS       UNITS units untimed, for callgrind
//! mainspring-bench serve KIND IMPL SIZE       a server of a network row; prints its port
//! ```
//!
//! A new implementation is one file beside `peers/tokio.rs` and its line in
//! [`rows::implementations`].

mod counting;
mod floor;
mod net;
mod ours;
mod outcome;
mod peers;
mod pool;
mod rows;
mod runtime;
mod sync;
mod sys;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => list(),
        ["run", row, name] => run(row, name, 3),
        ["run", row, name, "--passes", passes] => run(row, name, passes.parse().unwrap_or(3)),
        ["count", row, name, units] => count(row, name, units.parse().unwrap_or(0)),
        ["serve", kind, name, size] => net::serve(kind, name, size.parse().unwrap_or(64)),
        _ => {
            eprintln!(
                "usage: mainspring-bench list | run ROW IMPL [--passes n] | count ROW IMPL UNITS"
            );
            ExitCode::from(2)
        }
    }
}

fn list() -> ExitCode {
    for (row, name) in rows::pairs()
        .chain(pool::pairs())
        .chain(sync::pairs())
        .chain(net::pairs())
    {
        println!("{row} {name}");
    }
    ExitCode::SUCCESS
}

fn run(row: &str, name: &str, passes: u32) -> ExitCode {
    sys::raise_descriptor_limit();
    let calm = sys::calm();
    let outcome = match net::run(row, name) {
        Some(outcome) => Some(outcome),
        None => {
            if !sync::needs_two_cores(row) && !pool::has(row) {
                sys::pin_process(1);
            }
            rows::run(row, name, passes)
                .or_else(|| pool::run(row, name, passes))
                .or_else(|| sync::run(row, name, passes))
        }
    };
    let Some(outcome) = outcome else {
        eprintln!("no implementation `{name}` in row `{row}`");
        return ExitCode::from(2);
    };
    outcome.print(row, name, sys::scheduling(), calm);
    ExitCode::SUCCESS
}

fn count(row: &str, name: &str, units: u64) -> ExitCode {
    if rows::count(row, name, units) || pool::count(row, name, units) {
        return ExitCode::SUCCESS;
    }
    eprintln!("no implementation `{name}` in row `{row}`");
    ExitCode::from(2)
}
