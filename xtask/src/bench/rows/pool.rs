//! The rows of two workers.

use super::bars::BarsByName;
use super::{Bar, Kind, Reference, Row, echo, timed};

const fn pool(
    id: &'static str,
    title: &'static str,
    metric: &'static str,
    peer: (&'static str, f64, f64),
    reference: Reference,
) -> Row {
    timed("pool", id, title, metric, peer, reference)
}

/// Two workers on one core beside the generator, judged as the rows of one thread are.
const fn served(id: &'static str, title: &'static str) -> Row {
    let mut row = echo(id, title, ("tokio-two", 0.95, 0.85), &[]).binding(POOLED);
    row.group = "pool";
    row
}

/// The echo rows' p99, against our own server of one thread.
const fn fair(id: &'static str, title: &'static str) -> Row {
    let mut row = echo(id, title, ("ours", 2.0, 1.5), &[]).binding(POOLED);
    row.group = "pool";
    row.metric = "p99-us";
    row
}

/// The price of the watchdog: a pool with one against a pool without, which is to be the same.
const fn price(id: &'static str, title: &'static str) -> Row {
    let mut row = pool(
        id,
        title,
        "instructions",
        ("ours-unwatched", 1.01, 1.01),
        &[],
    );
    row.kind = Kind::Instructions;
    row
}

const POOLED: BarsByName = &[("ours-two", Bar::OfRow)];

/// The rows.
pub(super) const ROWS: &[Row] = &[
    pool(
        "pool-spawn-join",
        "two workers: spawn+join, batches of 1,000, ns a task",
        "ns",
        ("tokio", 0.6, 0.4),
        &[("smol", 164.0), ("tokio", 256.0)],
    ),
    pool(
        "pool-spawn-inside",
        "two workers: spawn inside a task, ns a task",
        "ns",
        ("tokio", 0.7, 0.5),
        &[("smol", 149.0), ("tokio", 202.0)],
    ),
    pool(
        "pool-chain",
        "two workers: chained spawn, ns a link",
        "ns",
        ("smol", 1.0, 0.6),
        &[("smol", 83.0), ("tokio", 186.0)],
    ),
    pool(
        "pool-yield",
        "two workers: fair yield, 1,000 tasks round robin, ns",
        "ns",
        ("tokio", 1.0, 0.8),
        &[("tokio", 27.0)],
    ),
    pool(
        "pool-ping-pong",
        "two workers: ping-pong over the runtime's oneshot, ns",
        "ns",
        ("tokio", 1.0, 0.9),
        &[("tokio", 141.0)],
    ),
    pool(
        "pool-remote",
        "two workers: remote spawn, CPU a task from 8 threads over that from one",
        "times",
        ("tokio", f64::NAN, f64::NAN),
        &[],
    )
    .by_value(1.5, 1.5),
    pool(
        "pool-blocking-16",
        "two workers: spawn_blocking from 16 tasks, ns a job",
        "ns",
        ("tokio", 0.5, 0.5),
        &[],
    ),
    price(
        "pool-message-instructions",
        "one worker with a watchdog: instructions a message, against one without",
    ),
    pool(
        "rescue",
        "two workers, one stuck: the longest wait of 100, in thresholds of 10 ms",
        "max-thresholds",
        ("ours", f64::NAN, f64::NAN),
        &[],
    )
    .by_value(2.1, 2.1),
    served(
        "pool-echo-64-64",
        "two workers: echo 64 B, 64 connections, µs of CPU a request",
    ),
    served(
        "pool-echo-64-512",
        "two workers: echo 64 B, 512 connections, µs of CPU a request",
    ),
    fair(
        "pool-echo-64-4096",
        "two workers: echo 64 B, 4,096 connections, p99 µs",
    ),
];
