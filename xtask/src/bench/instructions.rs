//! Instructions by callgrind, for rows whose times are noise.

use super::Asked;
use super::record::Line;
use super::rounds;
use super::rows::Row;
use crate::run::Command;
use std::path::Path;
use std::time::Duration;

/// Two lengths, in thousands of operations: their difference leaves the start-up out.
const FEW: u64 = 4;
const MANY: u64 = 24;

/// One count an implementation: callgrind does not vary enough to repeat it.
pub(crate) fn run(
    program: &Path,
    row: &Row,
    pairs: &[(String, String)],
    asked: &Asked,
) -> Vec<Line> {
    let timed = row.id.strip_suffix("-instructions").unwrap_or(row.id);
    let mut lines = Vec::new();
    for name in rounds::names(row, timed, pairs, asked) {
        let counts = counted(program, timed, name, FEW)
            .and_then(|few| Ok((few, counted(program, timed, name, MANY)?)));
        match counts {
            Ok((few, many)) => {
                let each = (many - few) as f64 / ((MANY - FEW) * 1_000) as f64;
                let text = format!(
                    "{{\"row\":\"{}\",\"impl\":\"{name}\",\"metric\":\"instructions\",\
                     \"value\":{each:.1},\"calm\":true}}",
                    row.id
                );
                lines.extend(Line::parse(&text, 0));
            }
            // An implementation that valgrind cannot run is left out, and said to be.
            Err(why) => println!(
                "{} {name}: {}",
                row.id,
                why.lines().next().unwrap_or_default()
            ),
        }
    }
    lines
}

fn counted(program: &Path, row: &str, name: &str, units: u64) -> Result<u64, String> {
    let command = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["count", row, name, &units.to_string()])
        .limit(Duration::from_secs(300))
        .quiet();
    let text = command.capture_merged().ok(&command)?;
    let collected = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, number) = collected.ok_or(format!("{name}: callgrind counted nothing"))?;
    number
        .trim()
        .parse()
        .map_err(|_| format!("{name}: `{number}` is no count"))
}
