//! The rows that run within one process, and the implementations that take part.

mod memory;
mod sched;
mod timers;
mod wake;

use std::future::Future;
use std::time::Instant;

use crate::floor::Floor;
use crate::ours::{Ours, Poll, Ring};
use crate::outcome::Outcome;
use crate::peers::{compio::Compio, glommio::Glommio, monoio::Monoio, smol::Smol, tokio::Tokio};
use crate::runtime::OneThread;

/// Every implementation of one-thread rows. A new one is a file and a line.
pub fn implementations() -> Vec<Implementation> {
    vec![
        Implementation::of::<Floor>("floor"),
        Implementation::of::<Ours>("ours"),
        Implementation::of::<Ours<Ring>>(OURS_RING),
        Implementation::of::<Ours<Poll>>(OURS_POLL),
        Implementation::of::<Tokio>("tokio"),
        Implementation::of::<Smol>("smol"),
        Implementation::of::<Monoio>("monoio"),
        Implementation::of::<Glommio>("glommio"),
        Implementation::of::<Compio>("compio"),
    ]
}

/// One implementation, its type erased.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    name: &'static str,
    run: fn(&str, u32) -> Option<Outcome>,
    count: fn(&str, u64) -> bool,
}

impl Implementation {
    fn of<R: OneThread>(name: &'static str) -> Implementation {
        Implementation {
            name,
            run: run_on::<R>,
            count: count_on::<R>,
        }
    }
}

/// The rows, in the order of the report.
const ROWS: &[&str] = &[
    "spawn-join",
    "spawn-inside",
    "chain",
    "yield",
    "ping-pong",
    "wake",
    "task-bytes",
    "sleeping-task-bytes",
    "timer-churn",
    "timer-bulk",
    "sleep-lateness",
    "sleep-storm",
    "sleep-bytes",
];

/// Who does not take part in a row, and why not.
const ABSENT: &[(&str, &str, &str)] = &[
    (
        "chain",
        "glommio",
        "polls a new task inside spawn and overflows its stack",
    ),
    (
        "sleeping-task-bytes",
        "floor",
        "the bare wheel is not a runtime",
    ),
    ("sleep-lateness", "floor", "the bare wheel has no clock"),
    (
        "timer-bulk",
        "glommio",
        "a task of it breaks at 32,768 wakers",
    ),
    (
        "sleep-bytes",
        "glommio",
        "a task of it breaks at 32,768 wakers",
    ),
    ("sleep-storm", "floor", "the bare wheel has no clock"),
];

/// Ours over a reactor: for the rows in which the driver's wait counts.
const OURS_RING: &str = "ours-ring";
const OURS_POLL: &str = "ours-poll";
const OVER_A_REACTOR: &[&str] = &["sleep-lateness", "sleep-storm"];

/// Every row with every implementation that takes part.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter()
        .flat_map(|&row| {
            implementations()
                .into_iter()
                .map(move |implementation| (row, implementation.name))
        })
        .filter(|(row, name)| {
            let is_over_a_reactor = [OURS_RING, OURS_POLL].contains(name);
            !is_over_a_reactor || OVER_A_REACTOR.contains(row)
        })
        .filter(|(row, name)| !ABSENT.iter().any(|(r, n, _)| r == row && n == name))
}

/// Runs a row: one warm-up and `passes` passes.
pub fn run(row: &str, name: &str, passes: u32) -> Option<Outcome> {
    let implementation = implementations().into_iter().find(|one| one.name == name)?;
    (implementation.run)(row, passes)
}

/// Runs `units` units of a row untimed; false when there is no such pair.
pub fn count(row: &str, name: &str, units: u64) -> bool {
    let found = implementations().into_iter().find(|one| one.name == name);
    found.is_some_and(|implementation| (implementation.count)(row, units))
}

fn run_on<R: OneThread>(row: &str, passes: u32) -> Option<Outcome> {
    Some(match row {
        "spawn-join" => timed::<R>(passes, sched::spawn_join::<R>),
        "spawn-inside" => timed::<R>(passes, sched::spawn_inside::<R>),
        "chain" => timed::<R>(passes, sched::chain::<R>),
        "yield" => sched::yields::<R>(passes),
        "ping-pong" => timed::<R>(passes, sched::ping_pong::<R>),
        "wake" => wake::run::<R>(passes),
        "task-bytes" => memory::parked_task::<R>(),
        "sleeping-task-bytes" => memory::sleeping_task::<R>(),
        "sleep-bytes" => memory::pending_sleep::<R>(),
        "timer-churn" => timers::churn::<R>(passes),
        "timer-bulk" => timers::bulk::<R>(passes),
        "sleep-lateness" => timers::lateness::<R>(passes),
        "sleep-storm" => timers::storm::<R>(passes),
        _ => return None,
    })
}

fn count_on<R: OneThread>(row: &str, units: u64) -> bool {
    match row {
        "spawn-join" => R::block_on(sched::spawn_join::<R>(units)),
        "yield" => R::block_on(async move {
            sched::round_robin::<R>(units).await;
        }),
        "ping-pong" => R::block_on(sched::ping_pong::<R>(units)),
        "timer-churn" => R::block_on(timers::churn_units::<R>(units)),
        _ => return false,
    }
    true
}

/// How long a pass should take: long enough for the clock, short enough to fit between two
/// interruptions.
const PASS_NS: f64 = 40e6;

/// Times `work(thousands)`: nanoseconds per unit, a thousand units each. The warm-up finds out
/// how many fill a pass.
fn timed<R: OneThread>(passes: u32, work: impl AsyncFn(u64) + 'static) -> Outcome {
    let nanos = R::block_on(async move {
        let thousand_ns = nanos_per(1, work(1)).await.min(nanos_per(1, work(1)).await);
        let thousands = (PASS_NS / thousand_ns).ceil() as u64;
        work(thousands).await;
        let mut nanos = Vec::new();
        for _ in 0..passes {
            nanos.push(nanos_per(thousands * 1_000, work(thousands)).await);
        }
        nanos
    });
    Outcome::of("ns", nanos)
}

/// How long the work takes, by unit.
async fn nanos_per(units: u64, work: impl Future<Output = ()>) -> f64 {
    let start = Instant::now();
    work.await;
    start.elapsed().as_nanos() as f64 / units as f64
}
