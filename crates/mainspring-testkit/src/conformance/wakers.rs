//! What becomes of the wakers that a primitive is given.

use super::drops::{NEVER_ALONE, lets_one_go};
use super::trail::ensure;
use super::world::World;
use super::{Check, Miss, Subject, Trail};
use crate::alloc::Heap;
use crate::hand::Hand;
use crate::puppet::Puppet;
use crate::waker::Script;
use std::task::Poll;

fn let_go<S: Subject>(world: &World<S>) {
    if lets_one_go::<S>() {
        world.grant();
    } else {
        world.subject.grant_all();
    }
}

/// A future that was polled with one waker and then with another is woken through the second alone.
pub(super) fn latest_waker_counts<S: Subject>(trail: &Trail) -> Check {
    let world = World::<S>::new();
    let mut waiter = world.waiter();
    let mut old = Vec::new();
    for _ in 0..4 {
        trail.at("a waiter is polled with one waker after another");
        world.must_wait(&mut waiter, "with nothing granted")?;
        old.push(waiter.rescript(Script::new()));
    }
    world.must_wait(&mut waiter, "with nothing granted")?;
    trail.at("it is let go");
    let_go(&world);
    ensure!(waiter.is_woken(), "the latest waker was not woken");
    let stale = old.iter().filter(|tally| tally.woken() > 0).count();
    ensure!(
        stale == 0,
        "{stale} wakers were woken that had been replaced"
    );
    let polled = world.poll(&mut waiter);
    ensure!(polled.is_ready(), "it was woken and not let go");
    Ok(())
}

/// A waker that was replaced, or whose future has ended or was dropped, is dropped there and then.
pub(super) fn stale_wakers_are_dropped<S: Subject>(trail: &Trail) -> Check {
    let world = World::<S>::new();
    let mut waiter = world.waiter();
    world.must_wait(&mut waiter, "with nothing granted")?;
    let old = waiter.rescript(Script::new());
    trail.at("a waker is replaced");
    world.must_wait(&mut waiter, "with nothing granted")?;
    ensure!(old.live() == 0, "{} replaced wakers are kept", old.live());
    trail.at("its future ends");
    let_go(&world);
    let polled = world.poll(&mut waiter);
    ensure!(polled.is_ready(), "it was not let go: {polled:?}");
    // One is the hand's own.
    let kept = waiter.tally().live() - 1;
    ensure!(kept == 0, "{kept} wakers of a future that ended are kept");
    if S::shape().latches {
        return Ok(());
    }
    trail.at("a waiting future is dropped");
    let mut dropped = world.waiting(1)?;
    let tally = dropped.remove(0).dismiss();
    let kept = tally.live();
    ensure!(kept == 0, "{kept} wakers of a dropped future are kept");
    if lets_one_go::<S>() {
        trail.at("a granted future is dropped");
        let mut dropped = world.waiting(1)?;
        world.grant();
        let tally = dropped.remove(0).dismiss();
        let kept = tally.live();
        ensure!(
            kept == 0,
            "{kept} wakers of a granted, dropped future are kept"
        );
    }
    Ok(())
}

/// One future that is polled over and over waits in one place: what the primitive keeps for it does
/// not grow.
pub(super) fn one_node_a_future<S: Subject>(trail: &Trail) -> Check {
    const POLLS: usize = 100_000;
    /// Polls that may set something up.
    const FIRST: usize = 16;
    /// Wakers that may be kept for a future.
    const WAKERS: usize = 2;
    /// What a list of `POLLS` places could not hide in.
    const SLACK_BYTES: isize = 4096;
    let world = World::<S>::new();
    let mut waiter = world.waiter();
    let (other, tally) = Script::new().waker();
    let mut before = None;
    for poll in 0..POLLS {
        if poll == FIRST {
            before = Heap::now();
        }
        if poll % 1024 == 0 {
            trail.at(format_args!("one future is polled for the {poll}th time"));
        }
        // Every now and then another waker, as when it moves between tasks.
        let polled = if poll % 64 == 0 {
            waiter.poll_with(&other)
        } else {
            waiter.poll()
        };
        ensure!(
            polled.is_pending(),
            "let go with nothing granted: {polled:?}"
        );
        let kept = waiter.tally().live() + tally.live() - 2;
        ensure!(kept <= WAKERS, "{kept} wakers are kept after {poll} polls");
    }
    if let (Some(before), Some(now)) = (before, Heap::now()) {
        let grown = now.since(before).bytes;
        ensure!(
            grown < SLACK_BYTES,
            "{grown} bytes more after {POLLS} polls"
        );
    }
    // Out of the queue, or it would be the one that is granted.
    drop(waiter);
    robbed(&world, trail)
}

/// One future that is woken over and over and finds nothing: another one was faster.
fn robbed<S: Subject>(world: &World<S>, trail: &Trail) -> Check {
    const ROUNDS: usize = 1000;
    const WAKERS: usize = 2;
    if !lets_one_go::<S>() {
        return Ok(());
    }
    let mut waiter = world.waiter();
    world.must_wait(&mut waiter, "with nothing granted")?;
    for _ in 0..ROUNDS {
        trail.at("a newcomer is polled before the one that was granted");
        world.grant();
        let mut thief = world.waiter();
        let _ = world.poll(&mut thief);
        let kept = waiter.tally().live() - 1;
        ensure!(
            kept <= WAKERS,
            "{kept} wakers are kept for one that is robbed"
        );
        drop(thief);
        if world.poll(&mut waiter).is_ready() {
            waiter = world.waiter();
            world.must_wait(&mut waiter, "by what another one took")?;
        }
    }
    Ok(())
}

/// As many are woken as were granted, and no more.
pub(super) fn woken_at_most_granted<S: Subject>(trail: &Trail) -> Check {
    const WAITERS: usize = 12;
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(WAITERS)?;
    let several = if S::shape().at_once < 3 { 1 } else { 3 };
    while !waiters.is_empty() {
        let count = several.min(waiters.len());
        trail.at(format_args!("{count} of {} are granted", waiters.len()));
        world.grant_many(count);
        let woken = waiters.iter().filter(|waiter| waiter.is_woken()).count();
        ensure!(woken <= count, "{count} granted, {woken} woken");
        let mut let_go = 0;
        for waiter in &mut waiters {
            let_go += usize::from(matches!(world.poll(waiter), Poll::Ready(_)));
        }
        ensure!(let_go <= count, "{count} granted, {let_go} let go");
        ensure!(let_go == count, "{count} granted, only {let_go} let go");
        waiters.retain(Hand::is_alive);
    }
    world.is_balanced("after as many grants as waiters")
}

/// Two futures of one task, which have the same waker, are two waiters: what is granted goes to one
/// of them, and nothing is lost when one is dropped or left alone.
///
/// Which of them gets it is the primitive's choice: it may give what the one that is not polled was
/// granted to the one that is.
pub(super) fn branches_of_one_task<S: Subject>(trail: &Trail) -> Check {
    if !lets_one_go::<S>() {
        return Miss::skip(NEVER_ALONE);
    }
    for dropped in 0..3 {
        let world = World::<S>::new();
        let mut task = Puppet::new();
        let mut branches = [world.waiter(), world.waiter()];
        for branch in &mut branches {
            trail.at("a task polls two futures");
            let polled = world.note(task.poll(branch));
            ensure!(polled.is_pending(), "let go with nothing granted");
        }
        let mut behind = world.waiting(1)?;
        task.step();
        trail.at("one of a task's two futures is granted");
        world.grant();
        let is_woken = task.is_woken() || behind[0].is_woken();
        ensure!(is_woken, "a grant woke nobody");
        let mut branches = Vec::from(branches);
        if dropped < 2 {
            trail.at(format_args!("the task drops future {dropped} of two"));
            drop(branches.remove(dropped));
        }
        // The one grant, and then one for each of the others.
        for taken in 1..=branches.len() + behind.len() {
            trail.at("the task polls what it has, the last one first");
            for branch in branches.iter_mut().rev() {
                let _ = world.note(task.poll(branch));
            }
            branches.retain(Hand::is_alive);
            world.no_excess("to two futures of one task")?;
            world.serve(&mut behind);
            ensure!(
                world.taken() == taken,
                "{taken} granted to the futures of two tasks, {} let go",
                world.taken()
            );
            if !(branches.is_empty() && behind.is_empty()) {
                world.grant();
            }
        }
        let is_done = branches.is_empty() && behind.is_empty();
        ensure!(is_done, "as many granted as wait, and not all let go");
        world.is_balanced("after two futures of one task waited")?;
    }
    Ok(())
}
