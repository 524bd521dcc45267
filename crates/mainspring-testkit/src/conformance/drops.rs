//! Waiters that are dropped, in every state; and what it means to be let go at all.

use super::trail::ensure;
use super::world::{Waiter, World};
use super::{Check, Miss, Subject, Trail};
use crate::hand::Hand;
use crate::sync::{Arc, Mutex};
use crate::waker::{Moment, Script};
use mainspring_core::random::Random;

/// Why a case that grants to one waiter does not apply.
pub(super) const NEVER_ALONE: &str = "nobody is let go alone";

pub(super) fn lets_one_go<S: Subject>() -> bool {
    S::shape().at_once > 0
}

/// A waiter waits; a grant wakes it, and lets it go once.
pub(super) fn granted_is_let_go<S: Subject>(trail: &Trail) -> Check {
    let world = World::<S>::new();
    let mut waiter = world.waiter();
    trail.at("a waiter is polled with nothing granted");
    world.must_wait(&mut waiter, "with nothing granted")?;
    if !lets_one_go::<S>() {
        trail.at("everybody is released");
        world.subject.grant_all();
        ensure!(waiter.is_woken(), "a release of all woke nobody");
        let polled = waiter.poll();
        ensure!(polled.is_ready(), "a release of all let nobody go");
        return Ok(());
    }
    trail.at("a waiter is granted");
    world.grant();
    world.must_be_served(&mut waiter, "by a grant")?;
    trail.at("another one comes");
    world.must_wait(&mut world.waiter(), "by what another one used up")?;
    world.is_balanced("after one grant")
}

/// What was granted while nobody waited is there for the first who comes.
pub(super) fn stored_grant_is_found<S: Subject>(trail: &Trail) -> Check {
    if S::shape().stored == 0 {
        return Miss::skip("it keeps no grant");
    }
    let world = World::<S>::new();
    trail.at("a grant comes before the waiter");
    world.grant();
    world.must_be_granted(&mut world.waiter(), "what was there")?;
    world.is_balanced("after one grant")
}

/// A future that was never polled holds nothing and stands in nobody's way.
pub(super) fn dropped_unpolled<S: Subject>(trail: &Trail) -> Check {
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let world = World::<S>::new();
    let unpolled = world.waiter();
    let mut waiters = world.waiting(1)?;
    trail.at("one waits and another one is not polled");
    world.grant();
    world.must_be_served(&mut waiters[0], "beside one that is not polled")?;
    trail.at("one is dropped that was not polled");
    drop(unpolled);
    world.is_balanced("after a drop of one that was not polled")
}

/// One that waits and is dropped takes nothing along.
pub(super) fn dropped_waiting<S: Subject>(trail: &Trail) -> Check {
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    for victim in 0..3 {
        let world = World::<S>::new();
        let mut waiters = world.waiting(3)?;
        trail.at(format_args!(
            "waiter {victim} of 3 is dropped, and both others are granted"
        ));
        drop(waiters.remove(victim));
        for _ in 0..2 {
            world.grant();
            let served = world.serve(&mut waiters);
            ensure!(served == 1, "a grant after a drop served {served}");
        }
        world.is_balanced("after a drop of one that waited")?;
    }
    Ok(())
}

/// One that was granted and is dropped without being polled hands it on.
pub(super) fn dropped_granted<S: Subject>(trail: &Trail) -> Check {
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(4)?;
    trail.at("one of four is granted");
    world.grant();
    // Down the whole line, and the last one keeps it.
    for left in (1..4).rev() {
        let granted = waiters.iter().position(Hand::is_woken);
        let Some(granted) = granted else {
            return Err(Miss::Fails(format!("{} wait, nobody was woken", left + 1)));
        };
        trail.at(format_args!("the granted one of {} is dropped", left + 1));
        drop(waiters.remove(granted));
    }
    world.must_be_served(&mut waiters[0], "by the drop of one that was granted")?;
    world.is_balanced("after drops of granted ones")
}

/// As [`dropped_granted`], with nobody left to hand it to: it is there for the next who comes.
pub(super) fn dropped_granted_alone<S: Subject>(trail: &Trail) -> Check {
    if S::shape().stored == 0 {
        return Miss::skip("it keeps no grant");
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(1)?;
    world.grant();
    trail.at("the only waiter is dropped with its grant");
    waiters.clear();
    world.must_be_granted(&mut world.waiter(), "what a dropped one left")?;
    world.is_balanced("after the only waiter was dropped")
}

/// As [`dropped_granted`], of one that had been polled with one waker and then with another.
pub(super) fn dropped_repolled<S: Subject>(trail: &Trail) -> Check {
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(2)?;
    for waiter in &mut waiters {
        drop(waiter.rescript(Script::new()));
        trail.at("a waiter is polled with another waker");
        world.must_wait(waiter, "by a poll with another waker")?;
    }
    trail.at("one of two is granted and dropped");
    world.grant();
    let granted = waiters.iter().position(Hand::is_woken);
    let Some(granted) = granted else {
        return Err(Miss::Fails("nobody was woken".to_owned()));
    };
    drop(waiters.remove(granted));
    world.must_be_served(&mut waiters[0], "by the drop of one that was granted")?;
    world.is_balanced("after a drop of one with its second waker")
}

/// While some are being woken, one of their wakers drops another waiter: one that was granted in
/// the same call, or one that was not.
pub(super) fn dropped_in_a_wake<S: Subject>(trail: &Trail) -> Check {
    let shape = S::shape();
    for victim in 0..3 {
        if lets_one_go::<S>() {
            let granted = |world: &World<S>| world.grant_many(2.min(shape.at_once));
            drop_while_waking::<S>(trail, victim, "some are granted", granted)?;
        }
        if shape.releases_all {
            let released = |world: &World<S>| world.subject.grant_all();
            drop_while_waking::<S>(trail, victim, "all are released", released)?;
        }
        if shape.closes {
            let closed = |world: &World<S>| world.subject.close();
            drop_while_waking::<S>(trail, victim, "it is closed", closed)?;
        }
    }
    Ok(())
}

fn drop_while_waking<S: Subject>(
    trail: &Trail,
    doomed: usize,
    what: &str,
    wake: impl Fn(&World<S>),
) -> Check {
    let world = World::<S>::new();
    let victim: Arc<Mutex<Option<Waiter>>> = Arc::default();
    let mut waiters = Vec::new();
    for at in 0..3 {
        let to = Arc::clone(&victim);
        let drops = move || {
            let victim = to.lock().take();
            drop(victim);
        };
        let script = if at == doomed {
            Script::new()
        } else {
            Script::new().on(Moment::Wake, drops)
        };
        let mut waiter = world.scripted(script);
        world.must_wait(&mut waiter, "with nothing granted")?;
        waiters.push(waiter);
    }
    *victim.lock() = Some(waiters.remove(doomed));
    trail.at(format_args!(
        "{what}, and a waker drops waiter {doomed} of 3"
    ));
    wake(&world);
    let last = victim.lock().take();
    waiters.extend(last);
    let served = world.serve(&mut waiters);
    if world.given() == 0 {
        let left = waiters.len();
        ensure!(left == 0, "{served} let go, and {left} sleep");
        return Ok(());
    }
    world.no_excess("after a drop in a wake")?;
    ensure!(
        world.outstanding() == 0 || waiters.is_empty(),
        "a grant was lost in a wake"
    );
    waiters.clear();
    world.is_balanced("after a drop in a wake")
}

/// Seeded: waiters come, are polled, get other wakers and are dropped, and grants are given.
pub(super) fn random_drops<S: Subject>(trail: &Trail) -> Check {
    /// So many runs of so many steps.
    const RUNS: usize = 40;
    const STEPS: usize = 120;
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let mut random = trail.random();
    for run in 0..RUNS {
        let world = World::<S>::new();
        let mut waiters: Vec<Waiter> = Vec::new();
        for step in 0..STEPS {
            trail.at(format_args!("run {run} does step {step}"));
            random_step(&world, &mut waiters, &mut random);
            world.no_excess("in a random run")?;
        }
        trail.at(format_args!("run {run} ends"));
        world.nobody_sleeps(&mut waiters, "at the end of a random run")?;
        while !waiters.is_empty() {
            let at = random.below(waiters.len() as u32) as usize;
            drop(waiters.remove(at));
        }
        world.is_balanced("at the end of a random run")?;
    }
    Ok(())
}

fn random_step<S: Subject>(world: &World<S>, waiters: &mut Vec<Waiter>, random: &mut Random) {
    let shape = S::shape();
    let choice = random.below(8);
    // Never so many that two could become one: what is left can be counted.
    let fits = world.outstanding() < shape.at_once.min(shape.stored.max(1)).min(4);
    if choice < 2 && fits {
        world.grant();
        return;
    }
    if choice < 4 || waiters.is_empty() {
        let mut waiter = world.waiter();
        if world.poll(&mut waiter).is_pending() {
            waiters.push(waiter);
        }
        return;
    }
    let at = random.below(waiters.len() as u32) as usize;
    if choice < 6 {
        drop(waiters.remove(at));
        return;
    }
    if choice == 7 {
        drop(waiters[at].rescript(Script::new()));
    }
    if world.poll(&mut waiters[at]).is_ready() {
        drop(waiters.remove(at));
    }
}
