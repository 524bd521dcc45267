//! What a watchdog costs while nothing is stuck, and how soon it helps when something is.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use mainspring_core::completion;
use mainspring_executor::{Pool, spawn};
use mainspring_reactor::{Backend, Reactor};
use mainspring_sync::channel;
use mainspring_timer::TimerDriver;

use crate::outcome::{Outcome, percentile};

/// The row of the price: messages to and fro between two tasks of one worker, by instructions.
pub const MESSAGES: &str = "pool-message";

/// The row of the help.
pub const RESCUE: &str = "rescue";

/// Who takes part in them: a pool with a watchdog, and one without.
pub const PAIRS: &[(&str, &str)] = &[
    (MESSAGES, "ours"),
    (MESSAGES, "ours-unwatched"),
    (RESCUE, "ours"),
];

/// How many stalls a pass has.
const STALLS: usize = 100;

/// Runs so many thousand messages, for callgrind.
pub fn count(row: &str, name: &str, thousands: u64) -> bool {
    // The watchdog's own looks go by the clock, which runs faster than the program that is counted:
    // seldom enough, they are not in the count.
    let threshold = match name {
        "ours" => Some(Duration::from_secs(10)),
        "ours-unwatched" => None,
        _ => return false,
    };
    if row != MESSAGES {
        return false;
    }
    // No I/O, and none that valgrind would have to know.
    let pool = Pool::builder()
        .workers(1)
        .stall_threshold(threshold)
        .build();
    let pool = pool.expect("a pool");
    pool.block_on(async move { spawn(messages(thousands * 1_000)).await })
        .expect("no panic");
    true
}

async fn messages(many: u64) {
    let (there, arrives) = channel::bounded::<u64>(1);
    let (back, answers) = channel::bounded::<u64>(1);
    let echo = spawn(async move {
        while let Ok(n) = arrives.recv().await {
            if back.send(n).await.is_err() {
                break;
            }
        }
    });
    for n in 0..many / 2 {
        there.send(n).await.expect("the other side answers");
        assert_eq!(answers.recv().await.ok(), Some(n));
    }
    drop(there);
    echo.await.expect("no panic");
}

/// How long what a stuck worker has woken last waits, with another worker asleep: a hundred stalls
/// a pass, in thresholds.
pub fn rescues(passes: u32) -> Outcome {
    let threshold = Duration::from_millis(10);
    let builder = Pool::builder().workers(2).driver(|_| {
        let reactor = Reactor::shared(Backend::Auto)?;
        Ok(Box::new(TimerDriver::new(reactor)))
    });
    let pool = builder.stall_threshold(threshold).on_stall(|_| {}).build();
    let pool = pool.expect("a pool");
    let (mut p50, mut max) = (Vec::new(), Vec::new());
    for pass in 0..=passes {
        let mut waits: Vec<u64> = (0..STALLS).map(|_| wait(&pool)).collect();
        if pass > 0 {
            let of =
                |waits: &mut Vec<u64>, part| percentile(waits, part) / threshold.as_nanos() as f64;
            max.push(of(&mut waits, 1.0));
            p50.push(of(&mut waits, 0.5));
        }
    }
    Outcome::of("max-thresholds", max).with("p50-thresholds", p50)
}

/// Nanoseconds from a wake, by a task that then blocks its worker, to the poll.
fn wait(pool: &Pool) -> u64 {
    let (completer, event) = completion::<Instant>();
    let (tell, told) = mpsc::channel();
    let (park, parked) = mpsc::channel();
    let woken = pool.spawn(async move {
        let _ = park.send(());
        let began = event.await.expect("it is sent");
        let _ = tell.send(began.elapsed());
    });
    parked.recv().expect("it runs");
    let stuck = pool.spawn(async move {
        assert!(completer.complete(Instant::now()).is_ok());
        told.recv().expect("it runs elsewhere")
    });
    let waited = mainspring_executor::block_on(async {
        woken.await.expect("no panic");
        stuck.await.expect("no panic")
    });
    waited.as_nanos() as u64
}
