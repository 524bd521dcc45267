//! Rounds of one row: each implementation in a fresh process, A B C, A B C …

use super::Asked;
use super::record::{Line, table};
use super::rows::Row;
use crate::context::Context;
use crate::run::Command;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that stood in a run queue for a larger part of its time is run again.
const WAITED_MAX: f64 = 0.06;
/// This often at most.
const REPEATS_MAX: u32 = 2;
/// A run that takes longer hangs.
const RUN_LIMIT: Duration = Duration::from_secs(180);

/// Builds the benchmark program with its one profile.
pub(crate) fn build(ctx: &Context) -> Result<PathBuf, String> {
    let dir = ctx.root.join("crates/mainspring-bench");
    let target = ctx.target("bench-build");
    let command = ctx
        .cargo("build")
        .args(["--release", "--manifest-path"])
        .arg(dir.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .limit(Duration::from_secs(60 * 60));
    command.stream().ok(&command)?;
    Ok(target.join("release/mainspring-bench"))
}

/// Every row with every implementation that the program has.
pub(crate) fn pairs(program: &Path) -> Result<Vec<(String, String)>, String> {
    let command = Command::new(program).arg("list").quiet();
    let text = command.capture_stdout().ok(&command)?;
    let pair = |line: &str| {
        let (row, name) = line.split_once(' ')?;
        Some((String::from(row), String::from(name)))
    };
    Ok(text.lines().filter_map(pair).collect())
}

/// The implementations of a row that were asked for, and its named peer.
pub(crate) fn names<'a>(
    row: &Row,
    id: &str,
    pairs: &'a [(String, String)],
    asked: &Asked,
) -> Vec<&'a str> {
    let chosen = |name: &str| {
        asked.only.is_empty() || name == row.peer || asked.only.iter().any(|only| only == name)
    };
    let named = pairs.iter().filter(|(row, name)| row == id && chosen(name));
    named.map(|(_, name)| name.as_str()).collect()
}

/// All rounds of a row; more of them, once, when they disagree by more than the row's margin.
pub(crate) fn run(
    program: &Path,
    row: &Row,
    pairs: &[(String, String)],
    asked: &Asked,
) -> Vec<Line> {
    let names = names(row, row.id, pairs, asked);
    let mut lines = Vec::new();
    println!("{}: {}", row.id, names.join(", "));
    for round in 0..asked.reps {
        lines.extend(one_round(program, row, &names, asked, round));
    }
    let worst = |lines: &[Line]| {
        let spreads = table(row, lines).into_iter().map(|entry| entry.spread);
        spreads
            .filter(|spread| !spread.is_nan())
            .fold(0.0, f64::max)
    };
    let spread = worst(&lines);
    if spread <= row.margin() || asked.reps < 3 {
        return lines;
    }
    println!("{}: spread {:.1} %, once more", row.id, spread * 100.0);
    let mut again = Vec::new();
    for round in 0..asked.reps {
        again.extend(one_round(program, row, &names, asked, round));
    }
    if worst(&again) < spread { again } else { lines }
}

fn one_round(program: &Path, row: &Row, names: &[&str], asked: &Asked, round: u32) -> Vec<Line> {
    let mut lines = Vec::new();
    for name in names {
        let mut best = match one_run(program, row, name, asked, round) {
            Ok(lines) => lines,
            // The others are still worth comparing; the report has no line for this one.
            Err(why) => {
                eprintln!("{} {name}: {}", row.id, why.trim_end());
                continue;
            }
        };
        for _ in 0..REPEATS_MAX {
            if waited(&best) <= WAITED_MAX {
                break;
            }
            let Ok(again) = one_run(program, row, name, asked, round) else {
                break;
            };
            if waited(&again) < waited(&best) {
                best = again;
            }
        }
        lines.extend(best);
    }
    lines
}

fn waited(lines: &[Line]) -> f64 {
    lines.iter().map(Line::waited).fold(0.0, f64::max)
}

fn one_run(
    program: &Path,
    row: &Row,
    name: &str,
    asked: &Asked,
    round: u32,
) -> Result<Vec<Line>, String> {
    let command = Command::new(program)
        .args(["run", row.id, name, "--passes", &asked.passes.to_string()])
        .limit(RUN_LIMIT)
        .quiet();
    let text = command.capture_stdout().ok(&command)?;
    let lines: Vec<Line> = text
        .lines()
        .filter_map(|line| Line::parse(line, round))
        .collect();
    if lines.is_empty() {
        return Err(format!("`{}` measured nothing", command.line()));
    }
    Ok(lines)
}
