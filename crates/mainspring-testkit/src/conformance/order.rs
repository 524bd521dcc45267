//! First come, first served.

use super::trail::ensure;
use super::world::World;
use super::{Check, Miss, Subject, Trail};

/// Why these cases do not apply.
const NO_ORDER: &str = "it promises no order";

/// Waiters are served in the order in which they were first polled, whatever else is done to them.
pub(super) fn first_come_first_served<S: Subject>(trail: &Trail) -> Check {
    const WAITERS: usize = 7;
    if !S::shape().is_fifo {
        return Miss::skip(NO_ORDER);
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(WAITERS)?;
    trail.at("some are polled again and some are dropped");
    for at in [4, 1, 4] {
        world.must_wait(&mut waiters[at], "by a second poll")?;
    }
    drop(waiters.remove(5));
    drop(waiters.remove(2));
    while !waiters.is_empty() {
        trail.at(format_args!("the first of {} is granted", waiters.len()));
        world.grant();
        let rest = &waiters[1..];
        let woken = rest.iter().filter(|waiter| waiter.is_woken()).count();
        ensure!(woken == 0, "{woken} were woken before their turn");
        let mut first = waiters.remove(0);
        world.must_be_served(&mut first, "in its turn")?;
    }
    world.is_balanced("after all were served in turn")
}

/// A newcomer gets nothing that was granted to somebody who waits.
pub(super) fn newcomer_overtakes_nobody<S: Subject>(trail: &Trail) -> Check {
    if !S::shape().is_fifo {
        return Miss::skip(NO_ORDER);
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(1)?;
    world.grant();
    trail.at("a newcomer is polled before the one that was granted");
    let mut newcomer = world.waiter();
    world.must_wait(&mut newcomer, "by what was granted to another")?;
    world.must_be_served(&mut waiters[0], "though a newcomer was polled first")?;
    trail.at("the newcomer is granted in its turn");
    world.grant();
    world.must_be_served(&mut newcomer, "in its turn")?;
    world.is_balanced("after a newcomer waited its turn")
}

/// One that is first polled with its task's budget used up has its place all the same.
pub(super) fn budget_keeps_the_order<S: Subject>(trail: &Trail) -> Check {
    if !S::shape().is_fifo {
        return Miss::skip(NO_ORDER);
    }
    let world = World::<S>::new();
    let mut first = world.waiter();
    trail.at("one is polled with its budget used up");
    let polled = first.poll_spent();
    ensure!(
        world.note(polled).is_pending(),
        "let go with nothing granted"
    );
    let mut second = world.waiter();
    trail.at("another one is polled after it");
    world.must_wait(&mut second, "with nothing granted")?;
    world.grant();
    ensure!(!second.is_woken(), "the second was woken before its turn");
    world.must_wait(&mut second, "before its turn")?;
    trail.at("the granted one is polled with its budget used up");
    let polled = first.poll_spent();
    let mut newcomer = world.waiter();
    if world.note(polled).is_pending() {
        ensure!(
            first.is_woken(),
            "it yielded, and nobody will poll it again"
        );
        world.must_wait(&mut newcomer, "while the granted one yields")?;
        world.must_be_granted(&mut first, "after it yielded")?;
    }
    world.grant();
    world.must_be_served(&mut second, "in its turn")?;
    drop(newcomer);
    world.is_balanced("after both were served")
}
