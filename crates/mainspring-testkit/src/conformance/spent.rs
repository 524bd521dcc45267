//! Waiters that yield with their answer in hand, because the budget of their task is used up, and
//! are dropped before they come back.

use super::drops::lets_one_go;
use super::trail::ensure;
use super::world::{Waiter, World};
use super::{Check, Miss, Subject, Trail};
use crate::hand::Hand;

const NOT_WOKEN: &str = "it yielded, and nobody will poll it again";

/// What was there when it came is there when it has gone; and its own when it comes back.
pub(super) fn dropped_yielding<S: Subject>(trail: &Trail) -> Check {
    if S::shape().stored == 0 {
        return Miss::skip("it keeps no grant");
    }
    for comes_back in [true, false] {
        for others in 0..3 {
            let world = World::<S>::new();
            world.grant();
            trail.at("one comes for what was granted, with its budget used up");
            let mut first = world.waiter();
            if world.note(first.poll_spent()).is_ready() {
                let shape = S::shape();
                ensure!(!shape.is_budgeted, "it was let go with no budget left");
                return Miss::skip("it asks no budget");
            }
            ensure!(first.is_woken(), "{NOT_WOKEN}");
            trail.at(format_args!("{others} come after it"));
            let mut waiters = come_after(&world, others)?;
            if comes_back {
                trail.at(format_args!("it comes back before {others}"));
                waiters.insert(0, first);
            } else {
                trail.at(format_args!("it is dropped before {others}"));
                drop(first);
            }
            world.nobody_sleeps(&mut waiters, "after one had yielded")?;
            waiters.clear();
            world.is_balanced("after one had yielded")?;
        }
    }
    Ok(())
}

/// Those of so many newcomers that wait, because somebody else was first.
fn come_after<S: Subject>(world: &World<S>, count: usize) -> Result<Vec<Waiter>, Miss> {
    let mut waiters = Vec::new();
    for _ in 0..count {
        let mut waiter = world.waiter();
        if S::shape().is_fifo {
            world.must_wait(&mut waiter, "before one that yields")?;
        } else if world.poll(&mut waiter).is_ready() {
            continue;
        }
        waiters.push(waiter);
    }
    Ok(waiters)
}

/// As [`dropped_yielding`], of one that had waited for it.
pub(super) fn dropped_yielding_granted<S: Subject>(trail: &Trail) -> Check {
    // With nobody to hand it to, one that is not kept is gone.
    let fewest = usize::from(S::shape().stored == 0);
    for others in fewest..fewest + 3 {
        let world = World::<S>::new();
        let mut waiters = world.waiting(1 + others)?;
        trail.at(format_args!("one waiter of {} is granted", 1 + others));
        if lets_one_go::<S>() {
            world.grant();
        } else {
            world.subject.grant_all();
        }
        let Some(at) = waiters.iter().position(Hand::is_woken) else {
            return Err(Miss::Fails("nobody was woken".to_owned()));
        };
        trail.at("it is polled with its budget used up");
        let mut granted = waiters.remove(at);
        let polled = world.note(granted.poll_spent());
        if polled.is_pending() {
            ensure!(granted.is_woken(), "{NOT_WOKEN}");
        }
        trail.at(format_args!("it is dropped, and {others} wait"));
        drop(granted);
        if polled.is_pending() && others > 0 {
            is_handed_on(&world, &mut waiters)?;
        }
        waiters.clear();
        if lets_one_go::<S>() {
            world.is_balanced("after one that was granted had yielded")?;
        }
        if polled.is_ready() {
            return Miss::skip("it takes what it was granted, and asks no budget for it");
        }
    }
    Ok(())
}

/// One of those who wait has it now, or all of them, if all were released.
fn is_handed_on<S: Subject>(world: &World<S>, waiters: &mut Vec<Waiter>) -> Check {
    if !lets_one_go::<S>() {
        let left = waiters.len() - world.serve(waiters);
        ensure!(
            left == 0,
            "{left} were not let go with the one that yielded"
        );
        return Ok(());
    }
    let Some(at) = waiters.iter().position(Hand::is_woken) else {
        let why = "a grant went with one that yielded and was dropped";
        return Err(Miss::Fails(why.to_owned()));
    };
    world.must_be_served(&mut waiters[at], "by the drop of one that yielded")
}
