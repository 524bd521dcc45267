//! The rows: who is the named peer, what the reference machine gave, where the bars are.

mod bars;
mod pool;
mod sync;

pub(crate) use self::bars::{Bar, BarsByName};
use Bars::{Ratio, Value};
use Kind::{ColdBuild, Instructions, Timed};

/// How a row is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By the benchmark program itself.
    Timed,
    /// By callgrind: the difference of two counts.
    Instructions,
    /// By the clock, around cargo.
    ColdBuild,
}

/// What a bar is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bars {
    /// Our ratio to the named peer.
    Ratio,
    /// Our value: bytes, instructions and delays do not drift with the machine.
    Value,
}

/// One row of the report. Lower is better in its first metric.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) group: &'static str,
    pub(crate) title: &'static str,
    pub(crate) kind: Kind,
    pub(crate) metric: &'static str,
    /// Everything is a ratio to this implementation.
    pub(crate) peer: &'static str,
    /// What the bars bind.
    pub(crate) bars: Bars,
    /// At most this for the first bar.
    pub(crate) first_bar: f64,
    /// And at most this in the end.
    pub(crate) goal: f64,
    /// Which of our implementations are judged, and by what.
    pub(crate) bars_by_name: BarsByName,
    /// What the implementations gave on the reference machine.
    pub(crate) reference: &'static [(&'static str, f64)],
}

impl Row {
    /// The same row with bars for its value.
    const fn by_value(mut self, first_bar: f64, goal: f64) -> Row {
        self.bars = Value;
        self.first_bar = first_bar;
        self.goal = goal;
        self
    }

    /// A difference below this is nothing.
    pub(crate) fn margin(&self) -> f64 {
        if self.group == "net" { 0.10 } else { 0.05 }
    }
}

/// The rows that a name or a group's name selects; all without a name.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Row>, String> {
    for name in names {
        if !all().any(|row| is_named(row, name)) {
            let known: Vec<&str> = all().map(|row| row.id).collect();
            return Err(format!("no row or group {name}; rows: {}", known.join(" ")));
        }
    }
    let chosen = |row: &&Row| names.is_empty() || names.iter().any(|name| is_named(row, name));
    Ok(all().filter(chosen).collect())
}

/// Every row, in the order of the report.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(pool::ROWS).chain(sync::ROWS)
}

fn is_named(row: &Row, name: &str) -> bool {
    row.id == name || row.group == name
}

type Reference = &'static [(&'static str, f64)];

const fn timed(
    group: &'static str,
    id: &'static str,
    title: &'static str,
    metric: &'static str,
    (peer, first_bar, goal): (&'static str, f64, f64),
    reference: Reference,
) -> Row {
    Row {
        id,
        group,
        title,
        kind: Timed,
        metric,
        peer,
        bars: Ratio,
        first_bar,
        goal,
        bars_by_name: bars::OURS,
        reference,
    }
}

const fn sched(
    id: &'static str,
    title: &'static str,
    metric: &'static str,
    peer: (&'static str, f64, f64),
    reference: Reference,
) -> Row {
    timed("sched", id, title, metric, peer, reference)
}

const fn timer(
    id: &'static str,
    title: &'static str,
    metric: &'static str,
    peer: (&'static str, f64, f64),
    reference: Reference,
) -> Row {
    timed("timers", id, title, metric, peer, reference)
}

const fn count(
    id: &'static str,
    title: &'static str,
    (first_bar, goal): (f64, f64),
    reference: Reference,
) -> Row {
    let (group, kind, metric, peer) = ("instructions", Instructions, "instructions", "monoio");
    Row {
        id,
        group,
        title,
        kind,
        metric,
        peer,
        bars: Value,
        first_bar,
        goal,
        bars_by_name: bars::OURS,
        reference,
    }
}

const fn echo(
    id: &'static str,
    title: &'static str,
    (peer, first_bar, goal): (&'static str, f64, f64),
    reference: Reference,
) -> Row {
    let metric = "cpu-us";
    Row {
        id,
        group: "net",
        title,
        kind: Timed,
        metric,
        peer,
        bars: Ratio,
        first_bar,
        goal,
        bars_by_name: bars::SERVERS,
        reference,
    }
}

/// All rows, in the order of the report.
const ROWS: &[Row] = &[
    sched(
        "spawn-join",
        "spawn+join, batches of 1,000, ns a task",
        "ns",
        ("monoio", 1.3, 1.1),
        &[
            ("floor", 30.0),
            ("monoio", 25.0),
            ("glommio", 35.0),
            ("compio", 45.0),
            ("smol", 91.0),
            ("tokio", 161.0),
        ],
    ),
    sched(
        "spawn-inside",
        "spawn inside a task, ns a task",
        "ns",
        ("monoio", 1.3, 1.1),
        &[
            ("floor", 30.0),
            ("monoio", 26.0),
            ("glommio", 35.0),
            ("smol", 98.0),
            ("tokio", 188.0),
        ],
    ),
    sched(
        "chain",
        "chained spawn, ns a link",
        "ns",
        ("monoio", 1.0, 0.6),
        &[
            ("floor", 17.0),
            ("monoio", 78.0),
            ("smol", 83.0),
            ("tokio", 144.0),
        ],
    ),
    sched(
        "yield",
        "fair yield, 1,000 tasks round robin, ns",
        "ns",
        ("glommio", 1.1, 0.9),
        &[
            ("floor", 8.0),
            ("glommio", 19.0),
            ("compio", 23.0),
            ("tokio", 33.0),
            ("smol", 52.0),
            ("monoio", 14.0),
        ],
    ),
    sched(
        "ping-pong",
        "ping-pong over oneshots, ns a round trip",
        "ns",
        ("monoio", 1.2, 0.95),
        &[
            ("floor", 48.0),
            ("monoio", 101.0),
            ("glommio", 127.0),
            ("compio", 145.0),
            ("tokio", 212.0),
            ("smol", 357.0),
        ],
    ),
    sched(
        "wake",
        "external wake, p50, µs",
        "p50-us",
        ("floor", 1.1, 1.05),
        &[("floor", 22.5), ("tokio", 23.5)],
    ),
    sched(
        "task-bytes",
        "bytes a parked task, 16-byte future",
        "resident-bytes",
        ("monoio", 1.4, 1.4),
        &[
            ("floor", 96.0),
            ("monoio", 80.0),
            ("glommio", 80.0),
            ("smol", 113.0),
            ("compio", 120.0),
            ("tokio", 315.0),
        ],
    ),
    sched(
        "sleeping-task-bytes",
        "bytes a sleeping task",
        "resident-bytes",
        ("smol", 1.0, 1.0),
        &[
            ("smol", 241.0),
            ("glommio", 292.0),
            ("tokio", 439.0),
            ("monoio", 1_280.0),
        ],
    )
    .by_value(240.0, 240.0),
    count(
        "spawn-join-instructions",
        "instructions, spawn+join",
        (500.0, 400.0),
        &[("floor", 360.0), ("monoio", 364.0), ("tokio", 1_678.0)],
    ),
    count(
        "yield-instructions",
        "instructions, yield",
        (260.0, 200.0),
        &[("floor", 109.0), ("monoio", 258.0), ("tokio", 423.0)],
    ),
    count(
        "ping-pong-instructions",
        "instructions, ping-pong",
        (1_200.0, 950.0),
        &[("floor", 586.0), ("monoio", 983.0), ("tokio", 1_857.0)],
    ),
    count(
        "timer-churn-instructions",
        "instructions, timer churn",
        (350.0, 350.0),
        &[
            ("floor", 275.0),
            ("monoio", 498.0),
            ("tokio", 603.0),
            ("smol", 1_337.0),
        ],
    ),
    timer(
        "timer-churn",
        "10,000 live, cancel+insert, ns",
        "ns",
        ("monoio", 0.9, 0.65),
        &[
            ("floor", 37.0),
            ("monoio", 71.0),
            ("glommio", 193.0),
            ("smol", 230.0),
            ("compio", 257.0),
            ("tokio", 426.0),
        ],
    ),
    timer(
        "timer-bulk",
        "1 M bulk insert+cancel, ns",
        "ns",
        ("monoio", 0.32, 0.21),
        &[
            ("floor", 50.0),
            ("monoio", 415.0),
            ("smol", 1_078.0),
            ("compio", 1_414.0),
        ],
    ),
    timer(
        "sleep-lateness",
        "lateness of 1,000 sleeps, p50, µs",
        "p50-us",
        ("smol", 7.0, 5.6),
        &[
            ("smol", 17.0),
            ("compio", 17.0),
            ("glommio", 30.0),
            ("tokio", 1_030.0),
            ("monoio", 1_030.0),
        ],
    )
    .by_value(120.0, 95.0)
    .binding(bars::REACTORS),
    timer(
        "sleep-storm",
        "100 k sleeps of 1–50 ms, lateness p99, ms",
        "p99-ms",
        ("monoio", 0.7, 0.55),
        &[
            ("monoio", 16.0),
            ("tokio", 22.0),
            ("smol", 28.0),
            ("compio", 47.0),
        ],
    )
    .binding(bars::DRIVERS),
    timer(
        "sleep-bytes",
        "bytes a pending sleep",
        "bytes",
        ("tokio", 1.0, 0.86),
        &[
            ("floor", 56.0),
            ("tokio", 112.0),
            ("smol", 120.0),
            ("compio", 175.0),
            ("monoio", 640.0),
        ],
    )
    .by_value(112.0, 96.0),
    echo(
        "echo-64-64",
        "echo 64 B, 64 connections, µs of server CPU a request",
        ("raw-ring", 1.10, 1.03),
        &[
            ("raw-ring", 4.2),
            ("raw-epoll", 5.0),
            ("monoio", 4.45),
            ("tokio", 5.2),
        ],
    ),
    echo(
        "echo-64-512",
        "echo 64 B, 512 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-64-4096",
        "echo 64 B, 4,096 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-1024-64",
        "echo 1 KiB, 64 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-1024-512",
        "echo 1 KiB, 512 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-1024-4096",
        "echo 1 KiB, 4,096 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-16384-64",
        "echo 16 KiB, 64 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-16384-512",
        "echo 16 KiB, 512 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "echo-16384-4096",
        "echo 16 KiB, 4,096 connections, µs",
        ("raw-ring", 1.10, 1.03),
        &[],
    ),
    echo(
        "http-64",
        "HTTP hello, hand-written, 64 connections, µs of server CPU a request",
        ("monoio", 1.03, 1.0),
        &[],
    ),
    echo(
        "http-512",
        "HTTP hello, hand-written, 512 connections, µs",
        ("monoio", 1.03, 1.0),
        &[],
    ),
    echo(
        "http-4096",
        "HTTP hello, hand-written, 4,096 connections, µs",
        ("monoio", 1.03, 1.0),
        &[],
    ),
    echo(
        "hyper-64",
        "HTTP hello through hyper, 64 connections, µs of server CPU a request",
        ("hyper-tokio", 0.95, 0.87),
        &[],
    )
    .binding(bars::HYPER),
    echo(
        "hyper-512",
        "HTTP hello through hyper, 512 connections, µs",
        ("hyper-tokio", 0.95, 0.87),
        &[("hyper-tokio", 8.2)],
    )
    .binding(bars::HYPER),
    echo(
        "hyper-4096",
        "HTTP hello through hyper, 4,096 connections, µs",
        ("hyper-tokio", 0.95, 0.87),
        &[("hyper-tokio", 9.8)],
    )
    .binding(bars::HYPER),
    Row {
        id: "build",
        group: "build",
        title: "cold release build of a crate that depends on it, s",
        kind: ColdBuild,
        metric: "s",
        peer: "tokio",
        bars: Ratio,
        first_bar: 1.05,
        goal: 1.0,
        bars_by_name: bars::OURS,
        reference: &[],
    },
];
