//! Scheduling on one thread. Each unit of work is a thousand operations.

use std::cell::Cell;
use std::rc::Rc;

use super::nanos_per;
use crate::outcome::Outcome;
use crate::runtime::OneThread;

const BATCH: u64 = 1_000;
const YIELDERS: u64 = 1_000;

/// Spawns a thousand tasks, then joins them, from the main future.
pub async fn spawn_join<R: OneThread>(batches: u64) {
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

/// The same from inside a task, where runtimes take their shorter path.
pub async fn spawn_inside<R: OneThread>(batches: u64) {
    R::spawn(spawn_join::<R>(batches)).await;
}

/// Each task spawns the next, a thousand links.
pub async fn chain<R: OneThread>(chains: u64) {
    for _ in 0..chains {
        let (done, last) = R::oneshot::<()>();
        link::<R>(BATCH, done);
        last.await;
    }
}

fn link<R: OneThread>(left: u64, done: R::Sender<()>) {
    let task = R::spawn(async move {
        match left {
            1 => R::send(done, ()),
            _ => link::<R>(left - 1, done),
        }
    });
    R::detach(task);
}

/// What a thousand tasks that yield in turn saw of each other.
pub struct Fairness {
    /// Yields of all tasks when the first task was done, over what a fair order gives.
    pub progress: f64,
}

/// A thousand tasks, each yielding `rounds` times.
pub async fn round_robin<R: OneThread>(rounds: u64) -> Fairness {
    let total = Rc::new(Cell::new(0u64));
    let at_first_end = Rc::new(Cell::new(0u64));
    let tasks: Vec<_> = (0..YIELDERS)
        .map(|_| {
            let (total, at_first_end) = (Rc::clone(&total), Rc::clone(&at_first_end));
            R::spawn(async move {
                for _ in 0..rounds {
                    total.set(total.get() + 1);
                    R::yield_now().await;
                }
                if at_first_end.get() == 0 {
                    at_first_end.set(total.get());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
    assert_eq!(total.get(), rounds * YIELDERS);
    Fairness {
        progress: at_first_end.get() as f64 / (rounds * YIELDERS) as f64,
    }
}

/// Times the round robin and says so when the order was not fair.
pub fn yields<R: OneThread>(passes: u32) -> Outcome {
    const ROUNDS: u64 = 500;
    let (nanos, progress) = R::block_on(async move {
        let progress = round_robin::<R>(ROUNDS / 4).await.progress;
        let mut nanos = Vec::new();
        for _ in 0..passes {
            let pass = async {
                round_robin::<R>(ROUNDS).await;
            };
            nanos.push(nanos_per(ROUNDS * YIELDERS, pass).await);
        }
        (nanos, progress)
    });
    let outcome = Outcome::of("ns", nanos);
    if progress > 0.9 {
        return outcome;
    }
    outcome.noted(format!(
        "unfair: first done when {:.1} % had run",
        progress * 100.0
    ))
}

/// A message that carries the sender of the answer.
struct Ball<R: OneThread>(Option<R::Sender<Ball<R>>>);

/// Pairs at play at the same time: with one alone the row would measure how often a runtime asks
/// the kernel for news when it has a single task to run.
const PAIRS: u64 = 100;

/// Pairs of tasks send each other a oneshot per hop, a thousand round trips in all.
pub async fn ping_pong<R: OneThread>(thousands: u64) {
    let rounds = thousands * BATCH / PAIRS;
    let mut tasks = Vec::with_capacity(2 * PAIRS as usize);
    for _ in 0..PAIRS {
        let (serve, served) = R::oneshot::<Ball<R>>();
        tasks.push(R::spawn(ping::<R>(rounds, serve)));
        tasks.push(R::spawn(pong::<R>(rounds, served)));
    }
    for task in tasks {
        task.await;
    }
}

async fn ping<R: OneThread>(rounds: u64, serve: R::Sender<Ball<R>>) {
    let mut out = Some(serve);
    for _ in 0..rounds {
        let (answer, answered) = R::oneshot::<Ball<R>>();
        R::send(
            out.take().expect("the other side answers"),
            Ball(Some(answer)),
        );
        out = answered.await.0;
    }
}

async fn pong<R: OneThread>(rounds: u64, served: R::Receiver<Ball<R>>) {
    let mut next = Some(served);
    for round in 1..=rounds {
        let Some(served) = next.take() else { return };
        let answer = served.await.0.expect("the other side awaits an answer");
        let ball = if round == rounds {
            Ball(None)
        } else {
            let (sender, receiver) = R::oneshot::<Ball<R>>();
            next = Some(receiver);
            Ball(Some(sender))
        };
        R::send(answer, ball);
    }
}
