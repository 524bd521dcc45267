//! The same, from several threads.

use super::drops::{NEVER_ALONE, lets_one_go};
use super::trail::ensure;
use super::world::{Waiter, World};
use super::{Check, Miss, Subject, Trail};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::sync::spin_loop;
use crate::waker::Script;
use mainspring_core::random::Random;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::task::Poll;
use std::thread;

const ROUNDS: usize = 200;

/// Two threads that do something at about the same time, a little earlier or later each round.
struct Start {
    barrier: Barrier,
    delays: [Delay; 2],
}

/// By how much a thread is late: a few hundred cycles where there are two processors, and a few
/// turns of the scheduler where there is one to share.
#[derive(Clone, Copy)]
enum Delay {
    None,
    Spins(u32),
    Yields(u32),
}

impl Delay {
    fn draw(random: &mut Random) -> Self {
        match random.below(4) {
            0 => Self::None,
            1 | 2 => Self::Spins(random.below(400)),
            _ => Self::Yields(1 + random.below(20)),
        }
    }

    fn wait(self) {
        match self {
            Self::None => {}
            Self::Spins(count) => (0..count).for_each(|_| spin_loop()),
            Self::Yields(count) => (0..count).for_each(|_| thread::yield_now()),
        }
    }
}

impl Start {
    fn new(random: &mut Random) -> Self {
        Self {
            barrier: Barrier::new(2),
            delays: [Delay::draw(random), Delay::draw(random)],
        }
    }

    fn go(&self, side: usize) {
        self.barrier.wait();
        self.delays[side].wait();
    }
}

/// Runs both, the first on a thread of its own.
fn race<S: Subject, R>(
    world: &Arc<World<S>>,
    random: &mut Random,
    theirs: impl FnOnce(&World<S>) + Send,
    ours: impl FnOnce() -> R,
) -> R {
    let start = Start::new(random);
    thread::scope(|scope| {
        scope.spawn(|| {
            start.go(0);
            theirs(world);
        });
        start.go(1);
        ours()
    })
}

fn let_go<S: Subject>(world: &World<S>) {
    if lets_one_go::<S>() {
        world.grant();
    } else {
        world.subject.grant_all();
    }
}

/// A grant that comes during a first poll is found by it, or wakes.
pub(super) fn grant_races_first_poll<S: Subject>(trail: &Trail) -> Check {
    let shape = S::shape();
    if shape.stored == 0 && !shape.latches {
        return Miss::skip("it keeps no grant for who comes late");
    }
    let mut random = trail.random();
    for round in 0..ROUNDS {
        trail.at(format_args!("round {round}: a grant races a first poll"));
        let world = World::<S>::new();
        let mut waiter = world.waiter();
        let polled = race(&world, &mut random, let_go, || world.poll(&mut waiter));
        if polled.is_pending() {
            world.must_be_served(&mut waiter, "by a grant during its first poll")?;
        }
        if lets_one_go::<S>() {
            world.is_balanced("after a grant during a first poll")?;
        }
    }
    Ok(())
}

/// A grant that comes while a waiter is polled with another waker is found, or wakes through it.
///
/// Both calls have returned when it is looked at. Either the poll saw the grant, or the grant came
/// to a waiter whose latest waker was the second one.
pub(super) fn grant_races_repoll<S: Subject>(trail: &Trail) -> Check {
    let mut random = trail.random();
    for round in 0..ROUNDS {
        trail.at(format_args!("round {round}: a grant races a second poll"));
        let world = World::<S>::new();
        let mut waiter = world.waiter();
        world.must_wait(&mut waiter, "with nothing granted")?;
        let _old = waiter.rescript(Script::new());
        let polled = race(&world, &mut random, let_go, || world.poll(&mut waiter));
        if polled.is_pending() {
            ensure!(
                waiter.is_woken(),
                "not woken by a grant during a second poll"
            );
            ensure!(
                world.poll(&mut waiter).is_ready(),
                "woken by a grant during a second poll, and not let go"
            );
        }
    }
    Ok(())
}

/// A grant is not lost with a waiter that is dropped at the same time.
pub(super) fn grant_races_drop<S: Subject>(trail: &Trail) -> Check {
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let mut random = trail.random();
    for round in 0..ROUNDS {
        let world = World::<S>::new();
        let mut waiters = world.waiting(2)?;
        let victim = waiters.remove(random.below(2) as usize);
        trail.at(format_args!("round {round}: a grant races a drop"));
        race(&world, &mut random, World::grant, || drop(victim));
        world.must_be_served(&mut waiters[0], "by a grant during another one's drop")?;
        world.is_balanced("after a grant during a drop")?;
    }
    Ok(())
}

/// Closing it during a poll, a drop and grants lets everybody go.
pub(super) fn close_races_poll<S: Subject>(trail: &Trail) -> Check {
    if !S::shape().closes {
        return Miss::skip("it cannot be closed");
    }
    let mut random = trail.random();
    for round in 0..ROUNDS {
        let world = World::<S>::new();
        let mut waiters = world.waiting(2)?;
        let victim = waiters.remove(random.below(2) as usize);
        let mut newcomer = world.waiter();
        let grants = lets_one_go::<S>() && random.below(2) == 0;
        trail.at(format_args!(
            "round {round}: closing it races a poll and a drop"
        ));
        let polled = race(
            &world,
            &mut random,
            |world| world.subject.close(),
            || {
                if grants {
                    world.grant();
                }
                let polled = world.poll(&mut newcomer);
                drop(victim);
                polled
            },
        );
        let when = "during its first poll";
        if polled.is_pending() {
            ensure!(newcomer.is_woken(), "not woken by a close {when}");
            let polled = world.poll(&mut newcomer);
            ensure!(polled.is_ready(), "woken by a close {when}, and it waits");
        }
        ensure!(waiters[0].is_woken(), "one sleeps after a close");
        let polled = world.poll(&mut waiters[0]);
        ensure!(polled.is_ready(), "woken by a close, and it waits");
        world.no_excess("during a close")?;
    }
    Ok(())
}

/// Seeded: threads wait, are granted, and drop what they wait with; in the end nothing is missing.
pub(super) fn threads_lose_nothing<S: Subject>(trail: &Trail) -> Check {
    const THREADS: usize = 3;
    const GRANTS: usize = 120;
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let world = World::<S>::new();
    let is_over = AtomicBool::new(false);
    let mut random = trail.random();
    trail.at("threads wait and drop while another one grants");
    let mut left: Vec<Waiter> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let (world, is_over, mut random) = (&world, &is_over, random.fork());
            threads.push(scope.spawn(move || {
                let mut waiters = Vec::new();
                while !is_over.load(Relaxed) {
                    churn(world, &mut waiters, &mut random);
                    thread::yield_now();
                }
                waiters
            }));
        }
        feed(&world, GRANTS);
        is_over.swap(true, Relaxed);
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        let waiters = ended.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        waiters.flatten().collect()
    });
    trail.at("all threads have ended");
    if S::shape().stored == 0 {
        return Ok(());
    }
    world.nobody_sleeps(&mut left, "after all threads have ended")?;
    left.clear();
    world.is_balanced("after all threads have ended")
}

/// Grants so often, or until what was granted does not seem to be used up any more.
fn feed<S: Subject>(world: &World<S>, grants: usize) {
    const PATIENCE: usize = 20_000;
    let shape = S::shape();
    // Only as many as can be told apart.
    let limit = shape.at_once.min(shape.stored.max(1)).min(4);
    let (mut given, mut idle) = (0, 0);
    while given < grants && idle < PATIENCE {
        if shape.stored == 0 {
            // Those that come to nothing are never used up.
            world.subject.grant();
            given += 1;
        } else if world.outstanding() < limit {
            world.grant();
            given += 1;
            idle = 0;
        } else {
            idle += 1;
            thread::yield_now();
        }
    }
}

fn churn<S: Subject>(world: &World<S>, waiters: &mut Vec<Waiter>, random: &mut Random) {
    if waiters.len() < 4 {
        // Polled at once: one that is kept unpolled waits for nothing.
        let mut waiter = world.waiter();
        if world.poll(&mut waiter).is_pending() {
            waiters.push(waiter);
        }
        return;
    }
    let at = random.below(waiters.len() as u32) as usize;
    match random.below(4) {
        0 => drop(waiters.remove(at)),
        choice => {
            if choice == 1 {
                drop(waiters[at].rescript(Script::new()));
            }
            if matches!(world.poll(&mut waiters[at]), Poll::Ready(_)) {
                drop(waiters.remove(at));
            }
        }
    }
}
