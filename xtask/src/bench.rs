//! `cargo xtask bench [rows] [--reps n]`: run the side-by-side benchmarks, write tables and plots.
//!
//! The benchmarks are a workspace of their own (`crates/mainspring-bench`); this module builds
//! it, runs every implementation of a row in a fresh process, the rounds interleaved, and
//! compares within each round: the machine drifts, the ratio of neighbours in time does not.

use crate::context::Context;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

mod chart;
mod cold_build;
mod instructions;
mod machine;
mod record;
mod report;
mod rounds;
mod rows;

const HELP: &str = "\
cargo xtask bench [ROWS] [--reps N] [--passes N] [--only IMPL,IMPL]

  ROWS          rows or groups of rows (sched, timers, sync, net, instructions, build); all by default
  --reps N      rounds a row, at least 1; 5 by default, which is the least that is published
  --passes N    passes a round and implementation; 3 by default
  --only IMPL   these implementations alone (the named peer of a row always runs)
  --program P   run the benchmark program P instead of building it
  --report      measure nothing, write the documents from what is under target/bench
";

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    rows: Vec<String>,
    only: Vec<String>,
    reps: u32,
    passes: u32,
    program: Option<PathBuf>,
    report_only: bool,
}

/// Entry of the command.
pub(crate) fn main(args: &[String]) -> ExitCode {
    let asked = match parse(args) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("xtask bench: {why}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match measure_and_report(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask bench: {}", why.trim_end());
            ExitCode::FAILURE
        }
    }
}

fn measure_and_report(asked: &Asked) -> Result<(), String> {
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let ctx = Context::new(root.map_err(|why| format!("cannot find the workspace: {why}"))?);
    let store = record::Store::open(&ctx)?;
    if !asked.report_only {
        let rows = rows::select(&asked.rows)?;
        let program = match &asked.program {
            Some(program) => program.clone(),
            None => rounds::build(&ctx)?,
        };
        let pairs = rounds::pairs(&program)?;
        for row in rows {
            let machine = machine::describe(&ctx);
            let lines = match row.kind {
                rows::Kind::Timed => rounds::run(&program, row, &pairs, asked),
                rows::Kind::Instructions => instructions::run(&program, row, &pairs, asked),
                rows::Kind::ColdBuild => cold_build::run(&ctx, row, asked)?,
            };
            store.keep(row.id, &machine, &lines)?;
            print!("{}", report::plain(row, &record::table(row, &lines)));
        }
    }
    report::write(&ctx, &store)
}

fn parse(args: &[String]) -> Result<Option<Asked>, String> {
    let mut asked = Asked {
        rows: Vec::new(),
        only: Vec::new(),
        reps: 5,
        passes: 3,
        program: None,
        report_only: false,
    };
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg {
            "--reps" => asked.reps = count(value()?)?,
            "--passes" => asked.passes = count(value()?)?,
            "--only" => asked.only.extend(value()?.split(',').map(String::from)),
            "--program" => asked.program = Some(PathBuf::from(value()?)),
            "--report" => asked.report_only = true,
            "--help" | "-h" => return Ok(None),
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            row => asked.rows.push(String::from(row)),
        }
    }
    Ok(Some(asked))
}

fn count(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|&n| n > 0)
        .ok_or(format!("{text} is not a count"))
}

#[cfg(test)]
mod tests;
