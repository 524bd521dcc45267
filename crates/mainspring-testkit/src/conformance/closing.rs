//! Releasing everybody, and closing.

use super::drops::lets_one_go;
use super::trail::ensure;
use super::world::{Waiter, World};
use super::{Check, Miss, Subject, Trail};
use crate::hand::Hand;
use crate::sync::{Arc, Mutex};
use crate::waker::{Moment, Script};

const NO_CLOSE: &str = "it cannot be closed";

/// A release of all reaches those who wait, and nobody who comes while they are being woken.
pub(super) fn release_spares_newcomers<S: Subject>(trail: &Trail) -> Check {
    /// More than are woken in one batch, in any primitive that wakes in batches.
    const WAITERS: usize = 150;
    let shape = S::shape();
    if !shape.releases_all {
        return Miss::skip("it cannot release all");
    }
    if shape.latches {
        return Miss::skip("who comes late is let go, too");
    }
    let world = World::<S>::new();
    let late: Arc<Mutex<Vec<Waiter>>> = Arc::default();
    let mut waiters = Vec::new();
    for _ in 0..WAITERS {
        let (theirs, to) = (Arc::clone(&world), Arc::clone(&late));
        let script = Script::new().once(Moment::Wake, move || {
            let mut newcomer = theirs.waiter();
            let _ = theirs.poll(&mut newcomer);
            to.lock().push(newcomer);
        });
        let mut waiter = world.scripted(script);
        world.must_wait(&mut waiter, "with nothing granted")?;
        waiters.push(waiter);
    }
    trail.at("all are released, and each waker polls a newcomer");
    world.subject.grant_all();
    world.serve(&mut waiters);
    ensure!(waiters.is_empty(), "{} were not let go", waiters.len());
    let mut late = std::mem::take(&mut *late.lock());
    // One that was woken for nothing waits on.
    let newcomers = late.len();
    world.serve(&mut late);
    let let_go = newcomers - late.iter().filter(|waiter| waiter.is_alive()).count();
    ensure!(
        let_go == 0,
        "{let_go} of {newcomers} newcomers were let go, too"
    );
    Ok(())
}

/// Closing wakes everybody who waits and lets them go, and whoever comes later.
pub(super) fn close_lets_all_go<S: Subject>(trail: &Trail) -> Check {
    /// More than are woken in one batch, in any primitive that wakes in batches.
    const WAITERS: usize = 150;
    if !S::shape().closes {
        return Miss::skip(NO_CLOSE);
    }
    let world = World::<S>::new();
    let mut unpolled = world.waiter();
    let mut waiters = world.waiting(WAITERS)?;
    trail.at("it is closed");
    world.subject.close();
    let slept = waiters.iter().filter(|waiter| !waiter.is_woken()).count();
    ensure!(slept == 0, "{slept} of {WAITERS} sleep after it was closed");
    waiters.retain_mut(|waiter| waiter.poll().is_pending());
    ensure!(waiters.is_empty(), "{} wait for more", waiters.len());
    trail.at("one that was made before it was closed is polled");
    ensure!(unpolled.poll().is_ready(), "it waits on what was closed");
    trail.at("one that comes later is polled");
    let mut late = world.waiter();
    ensure!(late.poll().is_ready(), "it waits on what is closed");
    Ok(())
}

/// Nothing opens it again.
pub(super) fn close_is_for_good<S: Subject>(trail: &Trail) -> Check {
    if !S::shape().closes {
        return Miss::skip(NO_CLOSE);
    }
    let world = World::<S>::new();
    world.subject.close();
    for _ in 0..3 {
        if lets_one_go::<S>() && world.outstanding() < S::shape().at_once {
            trail.at("a grant comes after it was closed");
            world.grant();
        }
        // More than can have been granted.
        for _ in 0..5 {
            let mut waiter = world.waiter();
            trail.at("one is polled that came after it was closed");
            let polled = world.poll(&mut waiter);
            ensure!(polled.is_ready(), "it waits on what is closed");
        }
        trail.at("it is closed again");
        world.subject.close();
    }
    Ok(())
}

/// Waiters that are dropped after it was closed take nobody's news along.
pub(super) fn dropped_closed<S: Subject>(trail: &Trail) -> Check {
    if !S::shape().closes {
        return Miss::skip(NO_CLOSE);
    }
    let world = World::<S>::new();
    let mut waiters = world.waiting(4)?;
    if lets_one_go::<S>() {
        trail.at("one of four is granted, and it is closed");
        world.grant();
    }
    world.subject.close();
    let granted = waiters.iter().position(Hand::is_woken);
    trail.at("one is dropped after it was closed");
    drop(waiters.remove(granted.unwrap_or(0)));
    drop(waiters.remove(0));
    for mut waiter in waiters {
        ensure!(waiter.is_woken(), "one sleeps after it was closed");
        ensure!(world.poll(&mut waiter).is_ready(), "one waits for more");
    }
    world.no_excess("after it was closed")
}
