//! What was measured: one JSON line a round, implementation and metric, and what is made of it.

use super::machine::Machine;
use super::rows::{Bar, Row};
use crate::context::Context;
use crate::json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) round: u32,
    pub(crate) name: String,
    pub(crate) metric: String,
    pub(crate) value: f64,
    pub(crate) ran_ns: f64,
    pub(crate) waited_ns: f64,
    pub(crate) is_calm: bool,
    pub(crate) note: String,
    /// As it was printed, with the round.
    pub(crate) raw: String,
}

impl Line {
    /// Reads what the benchmark program prints; `None` when it is something else.
    pub(crate) fn parse(text: &str, round: u32) -> Option<Line> {
        let value = Value::parse(text).ok()?;
        let body = text.trim().strip_prefix('{')?;
        let raw = match value.at("round") {
            Value::Null => format!("{{\"round\":{round},{body}"),
            _ => String::from(text.trim()),
        };
        Some(Line {
            round: number(&value, "round").map_or(round, |n| n as u32),
            name: String::from(value.at("impl").text()),
            metric: String::from(value.at("metric").text()),
            value: number(&value, "value")?,
            ran_ns: number(&value, "ran_ns").unwrap_or(0.0),
            waited_ns: number(&value, "waited_ns").unwrap_or(0.0),
            is_calm: value.at("calm").is_true(),
            note: String::from(value.at("note").text()),
            raw,
        })
    }

    /// The part of its time that the process stood in a run queue.
    pub(crate) fn waited(&self) -> f64 {
        self.waited_ns / (self.ran_ns + self.waited_ns).max(1.0)
    }
}

fn number(value: &Value, key: &str) -> Option<f64> {
    match value.at(key) {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    }
}

/// One implementation in one row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Median over the rounds.
    pub(crate) value: f64,
    /// Median of the per-round ratios to the named peer; not a number without the peer.
    pub(crate) ratio: f64,
    /// The same to the peer of its own bar, if it has one.
    pub(crate) bar_ratio: Option<f64>,
    /// The same to whoever of the others it does worst against, floors and the unfair not counted.
    pub(crate) worst_ratio: Option<f64>,
    /// Half the distance between the quartiles of those ratios, over the median.
    pub(crate) spread: f64,
    pub(crate) waited_max: f64,
    pub(crate) is_calm: bool,
    pub(crate) note: String,
    /// The other metrics, by name, medians over the rounds.
    pub(crate) others: BTreeMap<String, f64>,
}

impl Entry {
    /// One of our own implementations.
    pub(crate) fn is_ours(&self) -> bool {
        is_ours(&self.name)
    }

    /// A floor is no competitor.
    pub(crate) fn is_floor(&self) -> bool {
        is_floor(&self.name)
    }

    /// It takes part in the comparison: it did not cheat.
    pub(crate) fn is_counted(&self) -> bool {
        is_fair(&self.note)
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("ours")
}

fn is_floor(name: &str) -> bool {
    name == "floor" || name.starts_with("raw-")
}

fn is_fair(note: &str) -> bool {
    !note.starts_with("unfair")
}

/// The entries of a row, fastest first.
pub(crate) fn table(row: &Row, lines: &[Line]) -> Vec<Entry> {
    let mut names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut entries: Vec<Entry> = names.iter().map(|name| entry(row, name, lines)).collect();
    entries.sort_by(|a, b| a.value.total_cmp(&b.value));
    entries
}

fn entry(row: &Row, name: &str, lines: &[Line]) -> Entry {
    let own: Vec<&Line> = lines.iter().filter(|line| line.name == name).collect();
    let values = by_round(row, name, lines);
    let ratios = ratios(row, name, row.peer, lines);
    let ratio = quantile(&ratios, 0.5);
    let mut others: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in own.iter().filter(|line| line.metric != row.metric) {
        others
            .entry(line.metric.clone())
            .or_default()
            .push(line.value);
    }
    Entry {
        name: String::from(name),
        value: quantile(&values.into_values().collect::<Vec<f64>>(), 0.5),
        ratio,
        bar_ratio: bar_ratio(row, name, lines),
        worst_ratio: worst_ratio(row, name, lines),
        spread: (quantile(&ratios, 0.75) - quantile(&ratios, 0.25)) / 2.0 / ratio,
        waited_max: own.iter().map(|line| line.waited()).fold(0.0, f64::max),
        is_calm: own.iter().all(|line| line.is_calm),
        note: own
            .iter()
            .map(|line| line.note.clone())
            .find(|n| !n.is_empty())
            .unwrap_or_default(),
        others: others
            .into_iter()
            .map(|(name, v)| (name, quantile(&v, 0.5)))
            .collect(),
    }
}

/// What was measured of an implementation in the row's own metric.
fn by_round(row: &Row, name: &str, lines: &[Line]) -> BTreeMap<u32, f64> {
    let chosen = lines
        .iter()
        .filter(|line| line.name == name && line.metric == row.metric);
    chosen.map(|line| (line.round, line.value)).collect()
}

/// The ratios of an implementation to a peer, within each round.
fn ratios(row: &Row, name: &str, peer: &str, lines: &[Line]) -> Vec<f64> {
    let (values, peer) = (by_round(row, name, lines), by_round(row, peer, lines));
    let ratio = |(round, value): (&u32, &f64)| Some(value / peer.get(round)?);
    values.iter().filter_map(ratio).collect()
}

fn median_ratio(row: &Row, name: &str, peer: &str, lines: &[Line]) -> Option<f64> {
    let ratio = quantile(&ratios(row, name, peer, lines), 0.5);
    (!ratio.is_nan()).then_some(ratio)
}

fn bar_ratio(row: &Row, name: &str, lines: &[Line]) -> Option<f64> {
    let peer = match row.bar_of(name)? {
        Bar::OfRow => row.peer,
        Bar::AtMost { peer, .. } => peer,
    };
    median_ratio(row, name, peer, lines)
}

/// The values of two implementations are medians of different rounds, in which the machine was
/// faster or slower: only what is compared within a round says who is.
fn worst_ratio(row: &Row, name: &str, lines: &[Line]) -> Option<f64> {
    let unfair: BTreeSet<&str> = lines
        .iter()
        .filter(|line| !is_fair(&line.note))
        .map(|line| line.name.as_str())
        .collect();
    let peers: BTreeSet<&str> = lines
        .iter()
        .map(|line| line.name.as_str())
        .filter(|peer| !is_ours(peer) && !is_floor(peer) && !unfair.contains(peer))
        .collect();
    peers
        .into_iter()
        .filter_map(|peer| median_ratio(row, name, peer, lines))
        .max_by(f64::total_cmp)
}

/// The value at a part of the sorted samples, interpolated.
pub(crate) fn quantile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = last as f64 * part;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    below + (above - below) * place.fract()
}

/// The newest lines of every row, under `target/bench`.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the directory when it is not there.
    pub(crate) fn open(ctx: &Context) -> Result<Store, String> {
        let dir = ctx.target("bench");
        fs::create_dir_all(&dir).map_err(|why| format!("cannot make {}: {why}", dir.display()))?;
        Ok(Store { dir })
    }

    /// Replaces what is known of a row, and appends it to the history.
    pub(crate) fn keep(&self, row: &str, machine: &Machine, lines: &[Line]) -> Result<(), String> {
        let mut text = machine.json();
        text.push('\n');
        for line in lines {
            text.push_str(&line.raw);
            text.push('\n');
        }
        let failed = |why: std::io::Error| format!("cannot keep {row}: {why}");
        fs::write(self.path(row), &text).map_err(failed)?;
        let history = self.dir.join("history.jsonl");
        let history = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(history);
        history
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(failed)
    }

    /// What is known of a row.
    pub(crate) fn newest(&self, row: &str) -> Option<(Machine, Vec<Line>)> {
        let text = fs::read_to_string(self.path(row)).ok()?;
        let machine = Machine::parse(text.lines().next()?)?;
        Some((
            machine,
            text.lines()
                .skip(1)
                .filter_map(|line| Line::parse(line, 0))
                .collect(),
        ))
    }

    fn path(&self, row: &str) -> PathBuf {
        self.dir.join(format!("{row}.jsonl"))
    }
}
