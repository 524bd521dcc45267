//! Wakers that panic.
//!
//! Whether the panic comes out of the call that woke, cloned or dropped the waker is the
//! primitive's choice; that others are woken, and nothing is lost, is not.

use super::drops::lets_one_go;
use super::trail::ensure;
use super::world::{Waiter, World, survives};
use super::{Check, Miss, Subject, Trail};
use crate::hand::Hand;
use crate::waker::{Moment, Script};

const WAITERS: usize = 3;

/// Waiters of which one has a waker that panics when it is woken.
fn with_a_bomb<S: Subject>(world: &World<S>, bomb: usize) -> Result<Vec<Waiter>, Miss> {
    let mut waiters = Vec::new();
    for at in 0..WAITERS {
        let script = if at == bomb {
            Script::new().panics(Moment::Wake)
        } else {
            Script::new()
        };
        let mut waiter = world.scripted(script);
        world.must_wait(&mut waiter, "with nothing granted")?;
        waiters.push(waiter);
    }
    Ok(waiters)
}

fn all_woken(waiters: &[Waiter], how: &str) -> Check {
    let slept = waiters.iter().filter(|waiter| !waiter.is_woken()).count();
    ensure!(
        slept == 0,
        "{slept} of {WAITERS} sleep: {how}, and a waker panicked"
    );
    Ok(())
}

/// Whoever else is to be woken is, when one waker panics.
pub(super) fn wake_panics<S: Subject>(trail: &Trail) -> Check {
    for bomb in 0..WAITERS {
        if S::shape().releases_all {
            trail.at(format_args!("all are released and waker {bomb} panics"));
            let world = World::<S>::new();
            let mut waiters = with_a_bomb(&world, bomb)?;
            survives(|| world.subject.grant_all());
            all_woken(&waiters, "all were released")?;
            world.serve(&mut waiters);
            ensure!(waiters.is_empty(), "woken and not let go");
        }
        if S::shape().closes {
            trail.at(format_args!("it is closed and waker {bomb} panics"));
            let world = World::<S>::new();
            let mut waiters = with_a_bomb(&world, bomb)?;
            survives(|| world.subject.close());
            all_woken(&waiters, "it was closed")?;
            world.serve(&mut waiters);
            ensure!(waiters.is_empty(), "woken and not let go");
        }
        if S::shape().at_once >= WAITERS {
            granted_at_once::<S>(trail, bomb)?;
        }
        if lets_one_go::<S>() {
            granted_one_by_one::<S>(trail, bomb)?;
        }
    }
    Ok(())
}

fn granted_at_once<S: Subject>(trail: &Trail, bomb: usize) -> Check {
    trail.at(format_args!(
        "{WAITERS} are granted at once and waker {bomb} panics"
    ));
    let world = World::<S>::new();
    let mut waiters = with_a_bomb(&world, bomb)?;
    let mut is_one_call = false;
    survives(|| is_one_call = world.subject.grant_many(WAITERS));
    // A panic leaves it unknown: one that has no such call has granted nothing.
    let woken = waiters.iter().filter(|waiter| waiter.is_woken()).count();
    if !is_one_call && woken == 0 {
        return Ok(());
    }
    all_woken(&waiters, "all were granted at once")?;
    waiters.retain_mut(|waiter| waiter.poll().is_pending());
    ensure!(waiters.is_empty(), "woken and not let go");
    Ok(())
}

fn granted_one_by_one<S: Subject>(trail: &Trail, bomb: usize) -> Check {
    trail.at(format_args!(
        "{WAITERS} are granted one by one and waker {bomb} panics"
    ));
    let world = World::<S>::new();
    let mut waiters = with_a_bomb(&world, bomb)?;
    for _ in 0..WAITERS {
        survives(|| world.grant());
        let woken = waiters.iter().position(Hand::is_woken);
        let Some(woken) = woken else {
            return Err(Miss::Fails("a grant woke nobody".to_owned()));
        };
        world.must_be_granted(&mut waiters.remove(woken), "though it was woken")?;
    }
    world.is_balanced("after a waker panicked")
}

/// Others wait as before when one waker panics as it is cloned.
pub(super) fn clone_panics<S: Subject>(trail: &Trail) -> Check {
    let world = World::<S>::new();
    let mut waiters = world.waiting(1)?;
    trail.at("a waker panics as it is cloned, in a first poll");
    let mut first = world.scripted(Script::new().panics(Moment::Clone));
    survives(|| {
        let _ = world.poll(&mut first);
    });
    trail.at("a future is dropped whose waker panicked in a clone");
    survives(|| drop(first));
    trail.at("a waker panics as it is cloned, in a second poll");
    let (waker, _tally) = Script::new().panics(Moment::Clone).waker();
    let mut second = world.waiter();
    world.must_wait(&mut second, "with nothing granted")?;
    survives(|| {
        let _ = world.note(second.poll_with(&waker));
    });
    survives(|| drop(second));
    works_as_before(&world, &mut waiters, trail, "a clone")
}

/// Others wait as before when one waker panics as it is dropped.
pub(super) fn drop_panics<S: Subject>(trail: &Trail) -> Check {
    let world = World::<S>::new();
    let mut waiters = world.waiting(1)?;
    trail.at("a waker panics as it is dropped, with its future");
    let mut first = world.scripted(Script::new().panics(Moment::Drop));
    world.must_wait(&mut first, "with nothing granted")?;
    survives(|| drop(first));
    trail.at("a waker panics as it is dropped, in a poll with another");
    let mut second = world.waiter();
    let (waker, tally) = Script::new().panics(Moment::Drop).waker();
    let polled = world.note(second.poll_with(&waker));
    ensure!(polled.is_pending(), "let go with nothing granted");
    survives(|| {
        let _ = world.poll(&mut second);
    });
    survives(|| drop(second));
    tally.disarm();
    drop(waker);
    works_as_before(&world, &mut waiters, trail, "a drop")
}

fn works_as_before<S: Subject>(
    world: &World<S>,
    waiters: &mut Vec<Waiter>,
    trail: &Trail,
    after: &str,
) -> Check {
    trail.at(format_args!("it is used after a waker panicked in {after}"));
    if !lets_one_go::<S>() {
        world.subject.grant_all();
        world.serve(waiters);
        ensure!(
            waiters.is_empty(),
            "one sleeps after a waker panicked in {after}"
        );
        return Ok(());
    }
    world.grant();
    let when = "after another's waker panicked";
    world.must_be_served(&mut waiters[0], when)?;
    let mut late = world.waiter();
    world.must_wait(&mut late, "by what is used up")?;
    world.grant();
    world.must_be_served(&mut late, when)?;
    world.is_balanced(when)
}
