//! Bytes an idle task costs, by the counting allocator (requested bytes, not chunks).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::counting;
use crate::outcome::Outcome;
use crate::runtime::{OneThread, Sleeper};
use crate::sys::{self, Random};

use super::timers::Slots;

const TASKS: u64 = 100_000;
const PER_TURN: u64 = 100;

/// Sixteen bytes that wait for ever: the waker is what keeps a detached task alive.
#[derive(Default)]
struct Parked {
    waker: Option<Waker>,
}

impl Future for Parked {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// A detached task with a future of 16 bytes.
pub fn parked_task<R: OneThread>() -> Outcome {
    bytes_per_task::<R, _>(|_| Parked::default())
}

/// A detached task that sleeps for long.
pub fn sleeping_task<R: OneThread>() -> Outcome {
    bytes_per_task::<R, _>(|n| R::sleeper().sleep(an_hour_or_so(&mut Random(n))))
}

fn an_hour_or_so(random: &mut Random) -> Duration {
    Duration::from_millis(3_600_000 + random.below(600_000))
}

/// A sleep in a slot of its own: the future and all that the runtime holds for it.
pub fn pending_sleep<R: OneThread>() -> Outcome {
    let bytes = R::block_on(async {
        counting::start();
        R::yield_now().await;
        let before = counting::live_bytes();
        let mut random = Random(5);
        let sleeps =
            Slots::filled(R::sleeper(), TASKS as usize, || an_hour_or_so(&mut random)).await;
        let bytes = (counting::live_bytes() - before) as f64 / TASKS as f64;
        drop(sleeps);
        bytes
    });
    Outcome::of("bytes", vec![bytes])
}

fn bytes_per_task<R: OneThread, F: Future<Output = ()> + 'static>(
    make: impl Fn(u64) -> F + 'static,
) -> Outcome {
    let (bytes, resident) = R::block_on(async move {
        counting::start();
        // Grow the queues first: they are not a task's.
        spawn_in_turns::<R, _>(PER_TURN, &make).await;
        let (bytes, resident) = (counting::live_bytes(), sys::resident_bytes());
        spawn_in_turns::<R, _>(TASKS, &make).await;
        let bytes = counting::live_bytes() - bytes;
        let resident = sys::resident_bytes() - resident;
        (bytes as f64 / TASKS as f64, resident as f64 / TASKS as f64)
    });
    Outcome::of("bytes", vec![bytes]).with("resident-bytes", vec![resident])
}

async fn spawn_in_turns<R: OneThread, F: Future<Output = ()> + 'static>(
    tasks: u64,
    make: &impl Fn(u64) -> F,
) {
    for turn in 0..tasks / PER_TURN {
        for n in 0..PER_TURN {
            R::detach(R::spawn(make(turn * PER_TURN + n)));
        }
        // A task behind them in the queue: when it is done they have all been polled.
        R::spawn(async {}).await;
    }
}
