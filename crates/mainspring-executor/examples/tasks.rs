//! Ten thousand tasks, a ping-pong, sleeps, and a panic that stays where it happened.
//!
//! Run it with `cargo run --release -p mainspring-executor --example tasks`.

use mainspring_core::completion;
use mainspring_core::task::yield_now;
use mainspring_core::time::sleep;
use mainspring_executor::{LocalExecutor, spawn_local};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Ten thousand tasks that each yield a few times; the sum of what they return.
async fn many() -> u64 {
    let shared = Rc::new(1);
    let tasks: Vec<_> = (0..10_000u64)
        .map(|n| {
            let shared = Rc::clone(&shared);
            spawn_local(async move {
                for _ in 0..n % 4 {
                    yield_now().await;
                }
                n + *shared
            })
        })
        .collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap_or(0);
    }
    sum
}

/// Two tasks that hand a value back and forth, one completion a stroke.
async fn ping_pong(strokes: u32) -> u32 {
    let mut ball = 0;
    for _ in 0..strokes {
        let (throw, catch) = completion();
        let other = spawn_local(async move { catch.await.map_or(0, |ball: u32| ball + 1) });
        if throw.complete(ball).is_err() {
            break; // the other side was aborted
        }
        ball = other.await.unwrap_or(0);
    }
    ball
}

/// A thousand sleeps of up to 20 ms side by side, and how late the latest of them woke.
async fn sleeps() -> Duration {
    let began = Instant::now();
    let tasks: Vec<_> = (0..1_000u64)
        .map(|n| {
            spawn_local(async move {
                let wanted = Duration::from_micros(20 * n);
                sleep(wanted).await;
                began.elapsed().saturating_sub(wanted)
            })
        })
        .collect();
    let mut latest = Duration::ZERO;
    for task in tasks {
        latest = latest.max(task.await.unwrap_or_default());
    }
    latest
}

/// A task that panics: what its handle says, and proof that the others go on.
async fn contained_panic() -> String {
    let divisor = std::hint::black_box(0);
    let task = spawn_local(async move { 1 / divisor });
    let neighbour = spawn_local(async { 2 });
    let told = match task.await {
        Ok(value) => format!("no panic, but {value}"),
        Err(error) => error.to_string(),
    };
    format!("{told}; its neighbour returned {:?}", neighbour.await.ok())
}

fn main() {
    let executor = LocalExecutor::new();
    executor.block_on(async {
        let began = Instant::now();
        let sum = many().await;
        println!("10000 tasks: sum {sum} in {:?}", began.elapsed());

        let began = Instant::now();
        let ball = ping_pong(10_000).await;
        println!("ping-pong: {ball} strokes in {:?}", began.elapsed());

        let latest = sleeps().await;
        println!("1000 sleeps: the latest woke {latest:?} late");

        println!("contained panic: {}", contained_panic().await);
    });
    println!("tasks left: {}", executor.len());
}
