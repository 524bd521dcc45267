//! Wakers that call back into the primitive that calls them.
//!
//! A primitive that holds its lock while it clones, wakes or drops a waker deadlocks here, which
//! the suite's watchdog reports, or, without a lock, shows a caller its half-done state.

use super::drops::lets_one_go;
use super::trail::ensure;
use super::world::{Waiter, World};
use super::{Check, Miss, Subject, Trail};
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::{Arc, Mutex};
use crate::waker::{Moment, Script, Tally};
use std::fmt;

/// What a waker does when it is called.
#[derive(Clone, Copy)]
enum Callback {
    /// Polls a waiter once and drops it: what a `try` form does.
    Try,
    /// Grants once.
    Grant,
    /// Polls a new waiter, which goes on waiting.
    Wait,
    /// Drops another waiter.
    DropOther,
}

const ALL: [Callback; 4] = [
    Callback::Try,
    Callback::Grant,
    Callback::Wait,
    Callback::DropOther,
];

impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Try => "polls a waiter once and drops it",
            Self::Grant => "grants",
            Self::Wait => "polls a new waiter",
            Self::DropOther => "drops another waiter",
        })
    }
}

/// The waiters that the callbacks made, and the one that they drop.
#[derive(Default)]
struct Stage {
    made: Mutex<Vec<Waiter>>,
    victim: Mutex<Option<Waiter>>,
    calls: AtomicUsize,
}

impl Stage {
    /// A script that calls back, a few times at most.
    fn script<S: Subject>(
        self: &Arc<Self>,
        world: &Arc<World<S>>,
        moment: Moment,
        callback: Callback,
    ) -> Script {
        const CALLS_MAX: usize = 4;
        let stage = Arc::clone(self);
        let world = Arc::clone(world);
        Script::new().on(moment, move || {
            if stage.calls.fetch_add(1, Relaxed) < CALLS_MAX {
                stage.call(&world, callback);
            }
        })
    }

    fn call<S: Subject>(&self, world: &World<S>, callback: Callback) {
        match callback {
            Callback::Try => {
                let mut waiter = world.waiter();
                let _ = world.poll(&mut waiter);
            }
            Callback::Grant => {
                if lets_one_go::<S>() {
                    world.try_grant();
                } else {
                    world.subject.grant_all();
                }
            }
            Callback::Wait => {
                let mut waiter = world.waiter();
                if world.poll(&mut waiter).is_pending() {
                    self.made.lock().push(waiter);
                }
            }
            Callback::DropOther => {
                let victim = self.victim.lock().take();
                drop(victim);
            }
        }
    }

    /// Puts a waiter there that a callback drops.
    fn set_victim<S: Subject>(&self, world: &World<S>) {
        let mut victim = world.waiter();
        if world.poll(&mut victim).is_pending() {
            let old = self.victim.lock().replace(victim);
            drop(old);
        }
    }

    /// All that wait, for the final account.
    fn gather(&self, waiters: &mut Vec<Waiter>) {
        waiters.append(&mut self.made.lock());
        let victim = self.victim.lock().take();
        waiters.extend(victim);
    }
}

fn each<S: Subject>(
    trail: &Trail,
    moment: Moment,
    what: &str,
    scene: impl Fn(&Arc<World<S>>, &Arc<Stage>, Callback) -> Result<Vec<Waiter>, Miss>,
) -> Check {
    for callback in ALL {
        let world = World::<S>::new();
        let stage = Arc::new(Stage::default());
        trail.at(format_args!("a waker {callback} from its {what}"));
        let mut waiters = scene(&world, &stage, callback)?;
        ensure!(
            stage.calls.load(Relaxed) > 0 || moment != Moment::Wake,
            "nobody was woken"
        );
        trail.at(format_args!(
            "what is left is counted after a waker {callback} from its {what}"
        ));
        stage.gather(&mut waiters);
        if lets_one_go::<S>() {
            world.nobody_sleeps(&mut waiters, "after a waker called back")?;
            while let Some(waiter) = waiters.pop() {
                drop(waiter);
            }
            world.is_balanced("after a waker called back")?;
            trail.at(format_args!(
                "it is used after a waker {callback} from its {what}"
            ));
            one_more(&world)?;
        }
    }
    Ok(())
}

/// It works as before.
fn one_more<S: Subject>(world: &World<S>) -> Check {
    let mut waiter = world.waiter();
    if world.poll(&mut waiter).is_pending() {
        world.grant();
        world.must_be_served(&mut waiter, "by a grant afterwards")?;
    }
    Ok(())
}

/// A waker may call back when it is woken.
pub(super) fn wake_calls_back<S: Subject>(trail: &Trail) -> Check {
    each::<S>(trail, Moment::Wake, "wake", |world, stage, callback| {
        let mut waiters = Vec::new();
        for _ in 0..2 {
            let script = stage.script(world, Moment::Wake, callback);
            let mut waiter = world.scripted(script);
            world.must_wait(&mut waiter, "with nothing granted")?;
            waiters.push(waiter);
        }
        stage.set_victim(world);
        if lets_one_go::<S>() {
            // Whoever is woken first calls back, whichever of them it is.
            for _ in 0..4 {
                if stage.calls.load(Relaxed) > 0 || !world.try_grant() {
                    break;
                }
                let victim = stage.victim.lock().as_ref().is_some_and(Waiter::is_woken);
                if victim {
                    stage.gather(&mut waiters);
                    world.serve(&mut waiters);
                }
            }
        } else {
            world.subject.grant_all();
        }
        Ok(waiters)
    })?;
    if !S::shape().closes {
        return Ok(());
    }
    for callback in ALL {
        let world = World::<S>::new();
        let stage = Arc::new(Stage::default());
        let mut waiter = world.scripted(stage.script(&world, Moment::Wake, callback));
        world.must_wait(&mut waiter, "with nothing granted")?;
        stage.set_victim(&world);
        trail.at(format_args!(
            "it is closed, and a waker {callback} from its wake"
        ));
        world.subject.close();
        ensure!(waiter.is_woken(), "closing it woke nobody");
        ensure!(waiter.poll().is_ready(), "closing it let nobody go");
    }
    Ok(())
}

/// A waker may call back when it is cloned.
pub(super) fn clone_calls_back<S: Subject>(trail: &Trail) -> Check {
    each::<S>(trail, Moment::Clone, "clone", |world, stage, callback| {
        stage.set_victim(world);
        // Cloned at the first poll...
        let mut first = world.scripted(stage.script(world, Moment::Clone, callback));
        let first_waits = world.poll(&mut first).is_pending();
        stage.calls.swap(0, Relaxed);
        stage.set_victim(world);
        // ...and at one with another waker.
        let mut waiters = Vec::new();
        if first_waits {
            waiters.push(first);
        }
        let mut second = world.waiter();
        if world.poll(&mut second).is_pending() {
            drop(second.rescript(stage.script(world, Moment::Clone, callback)));
            if world.poll(&mut second).is_pending() {
                waiters.push(second);
            }
        }
        Ok(waiters)
    })
}

/// A waker may call back when it is dropped.
pub(super) fn drop_calls_back<S: Subject>(trail: &Trail) -> Check {
    each::<S>(trail, Moment::Drop, "drop", |world, stage, callback| {
        stage.set_victim(world);
        // Dropped with its future...
        let mut first = world.scripted(stage.script(world, Moment::Drop, callback));
        if world.poll(&mut first).is_pending() {
            drop(first.dismiss());
        }
        stage.calls.swap(0, Relaxed);
        stage.set_victim(world);
        // ...or in a poll with another waker; the hand's own one lives on.
        let mut second = world.waiter();
        let (waker, tally) = stage.script(world, Moment::Drop, callback).waker();
        let mut waiters = Vec::new();
        if world.note(second.poll_with(&waker)).is_pending() && world.poll(&mut second).is_pending()
        {
            waiters.push(second);
        }
        finish(waker, &tally);
        Ok(waiters)
    })
}

/// Drops a waker of the suite's own without calling back.
fn finish(waker: std::task::Waker, tally: &Tally) {
    tally.disarm();
    drop(waker);
}
