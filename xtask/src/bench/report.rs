//! `docs/performance.md`: what we lose first.

use super::chart;
use super::machine::Machine;
use super::record::{Entry, Line, Store, table};
use super::rows::{self, Bar, Bars, Row};
use crate::context::Context;
use std::fmt::Write as _;
use std::fs;

/// Ratios among peers must come out this close to the reference machine's.
const REFERENCE_MARGIN: f64 = 0.15;

/// One row with all that the report says of it.
#[derive(Debug)]
pub(crate) struct Reported {
    pub(crate) row: &'static Row,
    pub(crate) machine: Machine,
    pub(crate) entries: Vec<Entry>,
    /// Fewer than five are a glance, not a result.
    rounds: u32,
}

impl Reported {
    /// The ratio of our best implementation to the peer that it does worst against.
    fn against_best(&self) -> Option<f64> {
        let ours = self.entries.iter().filter(|entry| entry.is_ours());
        ours.filter_map(|entry| entry.worst_ratio)
            .min_by(f64::total_cmp)
    }

    fn standing(&self) -> Standing {
        match self.against_best() {
            None => Standing::Unmeasured,
            Some(ratio) if ratio > 1.0 + self.row.margin() => Standing::Lost,
            Some(ratio) if ratio >= 1.0 - self.row.margin() => Standing::Even,
            Some(_) => Standing::Won,
        }
    }
}

/// In the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Lost,
    Even,
    Won,
    Unmeasured,
}

/// Writes the documents from the newest lines of every row.
pub(crate) fn write(ctx: &Context, store: &Store) -> Result<(), String> {
    let newest = |row: &'static Row| {
        let (machine, lines): (Machine, Vec<Line>) = store.newest(row.id)?;
        Some(Reported {
            row,
            machine,
            entries: table(row, &lines),
            rounds: lines.iter().map(|line| line.round + 1).max().unwrap_or(0),
        })
    };
    let mut rows: Vec<Reported> = rows::all().filter_map(newest).collect();
    if rows.is_empty() {
        return Err(String::from("nothing has been measured yet"));
    }
    rows.sort_by_key(Reported::standing);
    let docs = ctx.root.join("docs");
    let failed = |why: std::io::Error| format!("cannot write the report: {why}");
    fs::create_dir_all(&docs).map_err(failed)?;
    fs::write(docs.join("performance.md"), markdown(&rows)).map_err(failed)?;
    fs::write(docs.join("performance.svg"), chart::draw(&rows)).map_err(failed)?;
    println!("wrote docs/performance.md and docs/performance.svg");
    Ok(())
}

/// A row for the terminal.
pub(crate) fn plain(row: &Row, entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let _ = writeln!(
            text,
            "  {:<12} {:>11}  {:>7}  ±{:>5.1} %  waited {:>4.1} %  {}",
            entry.name,
            number(entry.value),
            ratio(entry.ratio),
            percent(entry.spread),
            percent(entry.waited_max),
            details(row, entry),
        );
    }
    text
}

fn markdown(rows: &[Reported]) -> String {
    let mut text = String::from(HEAD);
    let _ = writeln!(text, "\n## Machine\n");
    let mut machines: Vec<&Machine> = rows.iter().map(|row| &row.machine).collect();
    machines.dedup_by(|a, b| a.commit == b.commit && a.cpu == b.cpu && a.kernel == b.kernel);
    for (name, value) in machines[0].fields() {
        let _ = writeln!(text, "- {name}: {value}");
    }
    if machines.len() > 1 {
        let _ = writeln!(
            text,
            "\nNot all rows are of one run: each names its commit and load."
        );
    }
    let sections = [
        (Standing::Lost, "Where we lose"),
        (Standing::Even, "Where we are even (within the margin)"),
        (Standing::Won, "Where we win"),
        (Standing::Unmeasured, "Peers and floors alone"),
    ];
    for (standing, title) in sections {
        let mut chosen = rows
            .iter()
            .filter(|row| row.standing() == standing)
            .peekable();
        if chosen.peek().is_some() {
            let _ = writeln!(text, "\n## {title}");
        }
        for row in chosen {
            one_row(&mut text, row);
        }
    }
    text.push_str(TAIL);
    text
}

fn one_row(text: &mut String, reported: &Reported) {
    let Reported {
        row,
        machine,
        entries,
        rounds,
    } = reported;
    let plural = if *rounds == 1 { "" } else { "s" };
    let _ = writeln!(text, "\n### {}\n", row.title);
    let _ = writeln!(
        text,
        "`cargo xtask bench {}`, {rounds} round{plural}, at {}, load {}.\n\
         Ratios are to {}; first bar {}, goal {}.\n",
        row.id,
        machine.commit,
        machine.load,
        row.peer,
        bar(row, row.first_bar),
        bar(row, row.goal)
    );
    let _ = writeln!(
        text,
        "| who | value | ratio | spread | reference ratio | remarks |"
    );
    let _ = writeln!(text, "|---|---|---|---|---|---|");
    for entry in entries {
        let name = if entry.is_ours() {
            format!("**{}**", entry.name)
        } else {
            entry.name.clone()
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            number(entry.value),
            ratio(entry.ratio),
            spread(entry.spread),
            reference(row, entry),
            details(row, entry),
        );
    }
    for floor in beaten_floors(entries) {
        let _ = writeln!(
            text,
            "\nThe floor `{floor}` loses to a peer: it needs mending."
        );
    }
}

/// Floors that a peer beats although the row is theirs by definition.
fn beaten_floors(entries: &[Entry]) -> Vec<&str> {
    let fastest_peer = entries
        .iter()
        .filter(|entry| !entry.is_floor() && !entry.is_ours() && entry.is_counted())
        .map(|entry| entry.value)
        .fold(f64::INFINITY, f64::min);
    let best_floor = entries
        .iter()
        .filter(|entry| entry.is_floor())
        .min_by(|a, b| a.value.total_cmp(&b.value));
    best_floor
        .filter(|floor| floor.value > fastest_peer)
        .map(|f| f.name.as_str())
        .into_iter()
        .collect()
}

fn reference(row: &Row, entry: &Entry) -> String {
    match (reference_of(row, &entry.name), reference_of(row, row.peer)) {
        (Some(value), Some(peer)) => {
            let expected = value / peer;
            let off = entry.ratio / expected - 1.0;
            // A floor is ours: it was written anew, and had to become faster.
            let mark = if off.abs() > REFERENCE_MARGIN && !entry.is_floor() {
                " (!)"
            } else {
                ""
            };
            format!("{} ({:+.0} %){mark}", ratio(expected), off * 100.0)
        }
        _ => String::from("–"),
    }
}

fn reference_of(row: &Row, name: &str) -> Option<f64> {
    row.reference
        .iter()
        .find(|(who, _)| *who == name)
        .map(|&(_, value)| value)
}

fn details(row: &Row, entry: &Entry) -> String {
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(verdict(row, entry));
    if !entry.note.is_empty() {
        remarks.push(entry.note.clone());
    }
    remarks.extend(
        entry
            .others
            .iter()
            .map(|(name, value)| format!("{name} {}", number(*value))),
    );
    if !entry.is_calm {
        remarks.push(String::from("not shielded from other sessions"));
    }
    remarks.join(", ")
}

/// What the bar says of one of ours, if it has one. What is shown as the bar is at the bar.
fn verdict(row: &Row, entry: &Entry) -> Option<String> {
    let bar = row.bar_of(&entry.name)?;
    match (bar, row.bars) {
        (Bar::OfRow, Bars::Ratio) => Some(of_row(row, shown_ratio(entry.bar_ratio?))),
        (Bar::OfRow, Bars::Value) => Some(of_row(row, shown(entry.value))),
        (Bar::AtMost { ratio: most, peer }, _) => {
            let measured = entry.bar_ratio?;
            let stands = if shown_ratio(measured) <= most {
                "at"
            } else {
                "below"
            };
            let (most, measured) = (ratio(most), ratio(measured));
            Some(format!("{stands} its bar, {most} {peer} ({measured})"))
        }
    }
}

fn of_row(row: &Row, measured: f64) -> String {
    String::from(if measured <= row.goal {
        "at its goal"
    } else if measured <= row.first_bar {
        "past its first bar"
    } else {
        "below its first bar"
    })
}

/// A ratio as it is printed.
fn shown_ratio(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A value as it is printed.
fn shown(value: f64) -> f64 {
    let unit = match value {
        value if value < 10.0 => 100.0,
        value if value < 100.0 => 10.0,
        _ => 1.0,
    };
    (value * unit).round() / unit
}

/// Three or four significant digits, thousands apart.
pub(crate) fn number(value: f64) -> String {
    if value.is_nan() {
        return String::from("–");
    }
    if value < 100.0 {
        return format!("{value:.*}", if value < 10.0 { 2 } else { 1 });
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn bar(row: &Row, at: f64) -> String {
    match row.bars {
        Bars::Ratio => ratio(at),
        Bars::Value => number(at),
    }
}

fn ratio(value: f64) -> String {
    if value.is_nan() {
        String::from("–")
    } else {
        format!("{value:.2} ×")
    }
}

fn spread(value: f64) -> String {
    if value.is_nan() {
        String::from("–")
    } else {
        format!("± {:.1} %", percent(value))
    }
}

fn percent(value: f64) -> f64 {
    value * 100.0
}

const HEAD: &str = "\
# Performance

Written by `cargo xtask bench`; do not edit. The rows that we lose come first.

![Ratios to the named peer, by row](performance.svg)

Each implementation runs in a fresh process; the rounds are interleaved (A B C, A B C …), each
with one warm-up pass and the median of its passes; fewer than five rounds are a glance and no
result, except where nothing varies (instructions, bytes). Reported is the median of the per-round
ratios to the named peer, and half the distance between their quartiles as the spread. Less than 5
% is nothing (10 % on network rows). A round in which the process stood in
a run queue for more than 6 % of its time is repeated, twice at most. One profile for all
(`opt-level 3, lto fat, codegen-units 1`), the system's allocator for all. One-thread runtimes are
pinned to core 1; in network rows the server is pinned to core 0 and the generator to core 1.
A *floor* is the least code for the job, without a runtime: it shows how much room is left.
Whether a row is lost or won is the ratio, by round, to the peer that our best implementation does
worst against. A bar binds the implementation that is judged by it, as the remarks say: `ours` in
most rows, the two backends in the lateness of sleeps; among servers the pooled calls (`ours`) have
the row's bar, and plain calls, on the ring (`ours-plain`) and on readiness (`ours-poll`), have to be
no worse than tokio's. What has no bar is measured and not judged.
*Reference ratio* is what the same peers gave on the machine that the goals were set on, and how
far this run is from it; `(!)` marks more than 15 %.
";

const TAIL: &str = "
## Settings of the peers

| who | settings |
|---|---|
| tokio | `new_current_thread().enable_all()`, `tokio::spawn`, its own oneshot, `Sleep::reset` |
| smol | async-executor's leaked `StaticLocalExecutor` under `async_io::block_on`, \
futures' oneshot, `Timer::set_after` |
| monoio | `IoUringDriver` without the fallback's dispatch, timers on, feature `sync` (the \
external wake needs it), local-sync's oneshot, `Sleep::reset` |
| glommio | `LocalExecutorBuilder` unbound (the process is pinned), \
futures' oneshot, `Timer::reset` |
| compio | io_uring with single issuer, cooperative task run and its flag, \
futures' oneshot |
| channels, locks | each needs no runtime: tasks on one thread run on mainspring's local executor, tasks on two workers on tokio's multi-thread runtime, for all of them |
| hyper-tokio | hyper's HTTP/1 server on the same tokio, a service function |
| floor | tasks in recycled blocks, an intrusive queue, no atomics; a bare timing wheel; a raw \
futex for the wake |
| raw-ring | multishot accept into direct descriptors, multishot receive into provided buffers, \
one send a request, deferred task run |
| raw-epoll | one edge-triggered set, one read and one write a request |

A yield is a future that wakes itself and returns pending once (tokio's and smol's are their own).
monoio polls a task that woke itself before all others: its yields are no round robin, so that row
does not count it. Ping-pong has 100 pairs at play: with one pair alone it measures how often a
runtime with a single task asks the kernel for news. Bytes are what the allocator was asked for;
resident bytes include the allocator's own and what alignment wastes. The external wake
is rung from core 0 and heard on core 1. All servers and the generator run without Nagle's delay.
";

#[cfg(test)]
mod tests;
