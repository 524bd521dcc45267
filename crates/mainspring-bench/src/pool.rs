//! Scheduling on two workers. Each unit of work is a thousand operations.

mod peers;
mod stalls;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use crate::outcome::Outcome;
use crate::sys;

/// A runtime with two workers, as every row here has it. `spawn` and the others are called on them.
pub trait TwoWorkers: Sized + Send + Sync + 'static {
    type Join<T: Send + 'static>: Future<Output = T> + Send + 'static;
    type Sender<T: Send + 'static>: Send + 'static;
    type Receiver<T: Send + 'static>: Future<Output = T> + Send + 'static;

    fn build() -> Self;
    /// Runs `main` on the calling thread, beside the workers, as the runtime's documentation does.
    fn block_on<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T;
    /// Spawns from outside.
    fn spawn_from_outside<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Self::Join<T>;
    fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Self::Join<T>;
    fn detach<T: Send + 'static>(join: Self::Join<T>);
    fn yield_now() -> impl Future<Output = ()> + Send + 'static;
    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: Send + 'static>(sender: Self::Sender<T>, value: T);
    fn blocking(
        job: impl FnOnce() -> u64 + Send + 'static,
    ) -> impl Future<Output = u64> + Send + 'static;
}

/// The rows, in the order of the report.
const ROWS: &[&str] = &[
    "pool-spawn-join",
    "pool-spawn-inside",
    "pool-chain",
    "pool-yield",
    "pool-ping-pong",
    "pool-remote",
    "pool-blocking-16",
];

type Run = fn(&str, u32) -> Option<Outcome>;

const RUNTIMES: &[(&str, Run)] = &[
    ("ours", run_on::<peers::Ours>),
    ("tokio", run_on::<peers::Tokio>),
    ("smol", run_on::<peers::Smol>),
];

/// Every row with every implementation that takes part.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter()
        .flat_map(|&row| RUNTIMES.iter().map(move |&(name, _)| (row, name)))
        .chain(stalls::PAIRS.iter().copied())
}

/// Whether it is a row of this group: they use both cores.
pub fn has(row: &str) -> bool {
    ROWS.contains(&row) || row == stalls::RESCUE
}

/// Runs so many units of a row untimed. Whether there is such a row and implementation.
pub fn count(row: &str, name: &str, units: u64) -> bool {
    stalls::count(row, name, units)
}

/// Runs a row: one warm-up and `passes` passes.
pub fn run(row: &str, name: &str, passes: u32) -> Option<Outcome> {
    if (row, name) == (stalls::RESCUE, "ours") {
        return Some(stalls::rescues(passes));
    }
    let (_, run) = RUNTIMES.iter().find(|(known, _)| *known == name)?;
    run(row, passes)
}

fn run_on<R: TwoWorkers>(row: &str, passes: u32) -> Option<Outcome> {
    let runtime = R::build();
    Some(match row {
        "pool-spawn-join" => timed(passes, |thousands| {
            runtime.block_on(spawn_join::<R>(thousands));
        }),
        "pool-spawn-inside" => timed(passes, |thousands| {
            runtime.block_on(async move { R::spawn(spawn_join::<R>(thousands)).await });
        }),
        "pool-chain" => timed(passes, |thousands| {
            runtime.block_on(async move { R::spawn(chain::<R>(thousands)).await });
        }),
        "pool-yield" => timed(passes, |thousands| {
            runtime.block_on(async move { R::spawn(round_robin::<R>(thousands)).await });
        }),
        "pool-ping-pong" => timed(passes, |thousands| {
            runtime.block_on(async move { R::spawn(ping_pong::<R>(thousands)).await });
        }),
        "pool-remote" => remotes(passes, &Arc::new(runtime)),
        "pool-blocking-16" => blocking(passes, &runtime),
        _ => return None,
    })
}

/// How long a pass should take.
const PASS_NS: f64 = 80e6;

/// Times `work(thousands)`: nanoseconds per unit. The warm-up finds out how many fill a pass.
fn timed(passes: u32, work: impl Fn(u64)) -> Outcome {
    let took = |thousands: u64| {
        let start = Instant::now();
        work(thousands);
        start.elapsed().as_nanos() as f64 / (thousands * 1_000) as f64
    };
    let mut thousands = 1;
    let mut nanos = took(thousands);
    while nanos * ((thousands * 1_000) as f64) < PASS_NS / 4.0 {
        thousands *= 4;
        nanos = took(thousands);
    }
    thousands = ((PASS_NS / nanos / 1_000.0) as u64).max(1);
    Outcome::of("ns", (0..passes).map(|_| took(thousands)).collect())
}

const BATCH: u64 = 1_000;

/// Spawns a thousand tasks, then joins them.
async fn spawn_join<R: TwoWorkers>(batches: u64) {
    let mut joins = Vec::with_capacity(BATCH as usize);
    for _ in 0..batches {
        joins.extend((0..BATCH).map(|n| R::spawn(async move { n })));
        let mut sum = 0;
        for join in joins.drain(..) {
            sum += join.await;
        }
        assert_eq!(sum, BATCH * (BATCH - 1) / 2);
    }
}

/// Each task spawns the next, a thousand links.
async fn chain<R: TwoWorkers>(chains: u64) {
    for _ in 0..chains {
        let (done, last) = R::oneshot::<()>();
        link::<R>(BATCH, done);
        last.await;
    }
}

fn link<R: TwoWorkers>(left: u64, done: R::Sender<()>) {
    let task = R::spawn(async move {
        match left {
            1 => R::send(done, ()),
            _ => link::<R>(left - 1, done),
        }
    });
    R::detach(task);
}

/// A thousand tasks, each yielding `rounds` times.
async fn round_robin<R: TwoWorkers>(rounds: u64) {
    let tasks: Vec<_> = (0..BATCH)
        .map(|_| {
            R::spawn(async move {
                for _ in 0..rounds {
                    R::yield_now().await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
}

/// A message that carries the sender of the answer.
struct Ball<R: TwoWorkers>(Option<R::Sender<Ball<R>>>);

/// Pairs at play at the same time.
const PAIRS: u64 = 100;

/// Pairs of tasks send each other a oneshot a hop, a thousand hops a unit in all.
async fn ping_pong<R: TwoWorkers>(thousands: u64) {
    let rounds = thousands * 1_000 / PAIRS;
    let pairs: Vec<_> = (0..PAIRS)
        .map(|_| {
            R::spawn(async move {
                let (serve, first) = R::oneshot::<Ball<R>>();
                let player = R::spawn(async move {
                    let mut ball = first.await;
                    while let Some(answer) = ball.0.take() {
                        let (sender, receiver) = R::oneshot();
                        R::send(answer, Ball(Some(sender)));
                        ball = receiver.await;
                    }
                });
                let mut to = serve;
                for _ in 0..rounds / 2 {
                    let (sender, receiver) = R::oneshot();
                    R::send(to, Ball(Some(sender)));
                    let mut ball: Ball<R> = receiver.await;
                    to = ball.0.take().expect("the other side plays on");
                }
                R::send(to, Ball(None));
                player.await;
            })
        })
        .collect();
    for pair in pairs {
        pair.await;
    }
}

/// What more threads that spawn from outside cost each task: the process's CPU time a task from
/// eight of them, over that from one.
fn remotes<R: TwoWorkers>(passes: u32, runtime: &Arc<R>) -> Outcome {
    remote(runtime, 8);
    let pairs: Vec<_> = (0..passes)
        .map(|_| (remote(runtime, 1), remote(runtime, 8)))
        .collect();
    let each = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).collect::<Vec<f64>>();
    Outcome::of("times", each(|(one, eight)| eight / one))
        .with("cpu-ns-1", each(|(one, _)| *one))
        .with("cpu-ns-8", each(|(_, eight)| *eight))
}

/// The process's CPU time a task, of tasks that threads outside spawn and that do nothing.
fn remote<R: TwoWorkers>(runtime: &Arc<R>, threads: u64) -> f64 {
    const TASKS: u64 = 200_000;
    let before = sys::cpu_time();
    let done = Arc::new(AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            let (runtime, done) = (Arc::clone(runtime), Arc::clone(&done));
            scope.spawn(move || {
                for _ in 0..TASKS / threads {
                    let done = Arc::clone(&done);
                    R::detach(runtime.spawn_from_outside(async move {
                        done.fetch_add(1, Relaxed);
                    }));
                }
            });
        }
    });
    while done.load(Relaxed) < TASKS {
        thread::yield_now();
    }
    (sys::cpu_time() - before).as_nanos() as f64 / TASKS as f64
}

/// Jobs that do nothing, from sixteen tasks at a time.
fn blocking<R: TwoWorkers>(passes: u32, runtime: &R) -> Outcome {
    const TASKS: u64 = 16;
    timed(passes, |thousands| {
        let jobs = thousands * 1_000 / TASKS;
        runtime.block_on(async move {
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    R::spawn(async move {
                        let mut sum = 0;
                        for n in 0..jobs {
                            sum += R::blocking(move || n & 1).await;
                        }
                        sum
                    })
                })
                .collect();
            for task in tasks {
                assert_eq!(task.await, jobs / 2);
            }
        });
    })
}
