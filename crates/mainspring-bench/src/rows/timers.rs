//! Timers: cost of registering and cancelling, and how late they fire.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::nanos_per;
use crate::outcome::{Outcome, percentile};
use crate::runtime::{OneThread, Sleeper};
use crate::sys::Random;

const LIVE: usize = 10_000;
const CHURN_OPS: u64 = 400_000;
const BULK: usize = 1_000_000;

/// Slots that hold one registered sleep each, without an allocation per sleep.
pub struct Slots<S: Sleeper> {
    sleeper: S,
    slots: Box<[Option<S::Sleep>]>,
}

impl<S: Sleeper> Slots<S> {
    /// As many slots, each with a sleep that has been polled once.
    pub async fn filled(sleeper: S, count: usize, mut next: impl FnMut() -> Duration) -> Slots<S> {
        let slots = std::iter::repeat_with(|| None).take(count).collect();
        let mut slots = Slots { sleeper, slots };
        for index in 0..count {
            slots.rearm(index, next()).await;
        }
        slots
    }

    /// Cancels what stands in the slot and registers another deadline there.
    async fn rearm(&mut self, index: usize, duration: Duration) {
        // SAFETY: the boxed slots never move, and a sleep is only replaced or dropped in place.
        let mut slot = unsafe { Pin::new_unchecked(&mut self.slots[index]) };
        self.sleeper.rearm(slot.as_mut(), duration);
        poll_fn(|cx| {
            let sleep = slot.as_mut().as_pin_mut().expect("just set");
            assert!(sleep.poll(cx).is_pending(), "a long sleep is over");
            Poll::Ready(())
        })
        .await;
    }
}

/// With 10,000 sleeps live: cancel one at random and register another.
pub fn churn<R: OneThread>(passes: u32) -> Outcome {
    let nanos = R::block_on(async move {
        let mut random = Random(1);
        let mut slots = Slots::filled(R::sleeper(), LIVE, || long(&mut random)).await;
        let mut nanos = Vec::new();
        for pass in 0..=passes {
            let took = nanos_per(CHURN_OPS, churn_once(&mut slots, &mut random, CHURN_OPS)).await;
            if pass > 0 {
                nanos.push(took);
            }
            R::yield_now().await;
        }
        nanos
    });
    Outcome::of("ns", nanos)
}

/// The same untimed, a thousand operations a unit.
pub async fn churn_units<R: OneThread>(units: u64) {
    let mut random = Random(1);
    let mut slots = Slots::filled(R::sleeper(), LIVE, || long(&mut random)).await;
    churn_once(&mut slots, &mut random, units * 1_000).await;
}

async fn churn_once<S: Sleeper>(slots: &mut Slots<S>, random: &mut Random, ops: u64) {
    for _ in 0..ops {
        let index = random.below(LIVE as u64) as usize;
        slots.rearm(index, long(random)).await;
    }
}

fn long(random: &mut Random) -> Duration {
    Duration::from_millis(10_000 + random.below(50_000))
}

/// A million sleeps registered, then all cancelled.
pub fn bulk<R: OneThread>(passes: u32) -> Outcome {
    let nanos = R::block_on(async move {
        let mut random = Random(3);
        let mut nanos = Vec::new();
        for pass in 0..=passes {
            let work = async {
                drop(Slots::filled(R::sleeper(), BULK, || long(&mut random)).await);
            };
            let took = nanos_per(BULK as u64, work).await;
            if pass > 0 {
                nanos.push(took);
            }
            R::yield_now().await;
        }
        nanos
    });
    Outcome::of("ns", nanos)
}

/// A thousand tasks, each asleep for some time within 200 ms: how late each one runs.
pub fn lateness<R: OneThread>(passes: u32) -> Outcome {
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    for pass in 0..=passes {
        let mut late = R::block_on(late_nanos::<R>(1_000, 1_000, 200_000));
        if pass > 0 {
            p50.push(percentile(&mut late, 0.5) / 1e3);
            p99.push(percentile(&mut late, 0.99) / 1e3);
        }
    }
    Outcome::of("p50-us", p50).with("p99-us", p99)
}

/// A hundred thousand sleeps of 1 to 50 ms at once.
pub fn storm<R: OneThread>(passes: u32) -> Outcome {
    let mut p99 = Vec::new();
    for pass in 0..=passes {
        let mut late = R::block_on(late_nanos::<R>(100_000, 1_000, 50_000));
        if pass > 0 {
            p99.push(percentile(&mut late, 0.99) / 1e6);
        }
    }
    Outcome::of("p99-ms", p99)
}

async fn late_nanos<R: OneThread>(sleeps: usize, from_us: u64, to_us: u64) -> Vec<u64> {
    let late = Rc::new(RefCell::new(Vec::with_capacity(sleeps)));
    let mut random = Random(4);
    let tasks: Vec<_> = (0..sleeps)
        .map(|_| {
            let duration = Duration::from_micros(from_us + random.below(to_us - from_us));
            let late = Rc::clone(&late);
            R::spawn(async move {
                let deadline = Instant::now() + duration;
                R::sleeper().sleep(duration).await;
                let lateness = Instant::now().saturating_duration_since(deadline);
                late.borrow_mut().push(lateness.as_nanos() as u64);
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
    late.take()
}
