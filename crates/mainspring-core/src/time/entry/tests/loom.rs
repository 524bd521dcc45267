//! The owner against the timers, with the fallback as the timers.
//!
//! Where one side only loads and the other loads before it exchanges, the side that only loads is
//! the spawned thread: loom remembers one access of an atomic, so that a thread's own load hides
//! the other's from its exchange, and with the roles the other way round one execution is all it
//! tries.

use crate::park::Parker;
use crate::time::fallback::tests::model::{fire, named, shut_down};
use crate::time::{Nanos, OnRegister, Phase, TimerClass, TimerEntry, TimersRef};
use loom::thread;
use std::pin::Pin;
use std::task::Waker;

fn armed(timers: TimersRef, deadline: u64, waker: &Waker) -> Pin<Box<TimerEntry>> {
    let mut entry = Box::pin(TimerEntry::new(TimerClass::Normal));
    arm(entry.as_mut(), timers, deadline, waker);
    entry
}

fn arm(entry: Pin<&mut TimerEntry>, timers: TimersRef, deadline: u64, waker: &Waker) {
    let armed = entry.arm(timers, Nanos(deadline), waker);
    assert!(matches!(armed, OnRegister::Armed));
}

fn sleeper() -> (Parker, Waker) {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(parker.unparker()));
    (parker, waker)
}

// WITNESS: entry.hand-back, entry.init, entry.linked
#[test]
fn owner_that_sees_fired_may_use_the_entry_elsewhere() {
    loom::model(|| {
        let ((shard, name), (_, other)) = (named(), named());
        let mut entry = armed(name, 5, Waker::noop());
        let owner = thread::spawn(move || {
            if entry.as_mut().poll(Waker::noop()) == Phase::Fired {
                // No lock in common with the one that fired.
                arm(entry.as_mut(), other, 9, Waker::noop());
            }
        });
        fire(shard, Nanos(5));
        owner.join().unwrap();
    });
}

// WITNESS: entry.hand-back, entry.init
#[test]
fn owner_that_sees_eviction_may_use_the_entry_elsewhere() {
    loom::model(|| {
        let ((shard, name), (_, other)) = (named(), named());
        let mut entry = armed(name, 5, Waker::noop());
        let owner = thread::spawn(move || {
            if entry.as_mut().poll(Waker::noop()) == Phase::Idle {
                arm(entry.as_mut(), other, 9, Waker::noop());
            }
        });
        shut_down(shard);
        owner.join().unwrap();
    });
}

// WITNESS: entry.linked, entry.pinned, entry.init
#[test]
fn drop_racing_fire_leaves_nothing_linked_and_no_waker_behind() {
    loom::model(|| {
        let (shard, name) = named();
        let (_parker, waker) = sleeper();
        let entry = armed(name, 5, &waker);
        drop(waker);
        let firing = thread::spawn(move || fire(shard, Nanos(5)));
        drop(entry);
        firing.join().unwrap();
        assert_eq!(fire(shard, Nanos(100)), 0, "entry.linked: still there");
        // loom reports the unparker inside the waker if it leaks.
    });
}

// WITNESS: entry.linked
#[test]
fn later_reset_racing_fire_fires_for_one_of_the_two() {
    loom::model(|| {
        let (shard, name) = named();
        let (parker, waker) = sleeper();
        let mut entry = armed(name, 5, &waker);
        let firing = thread::spawn(move || fire(shard, Nanos(5)));
        entry.as_mut().reset(None, Nanos(9));
        let fired = firing.join().unwrap();
        match entry.phase() {
            Phase::Armed(deadline) => {
                assert_eq!(
                    (fired, deadline),
                    (0, Nanos(9)),
                    "entry.linked: fired and armed"
                );
                assert_eq!(fire(shard, Nanos(8)), 0);
                assert_eq!(
                    fire(shard, Nanos(9)),
                    1,
                    "entry.linked: armed and not there"
                );
            }
            phase => assert_eq!((fired, phase), (1, Phase::Idle)),
        }
        parker.park();
    });
}

// WITNESS: entry.linked
#[test]
fn earlier_reset_racing_fire_fires_once() {
    loom::model(|| {
        let (shard, name) = named();
        let (parker, waker) = sleeper();
        let mut entry = armed(name, 9, &waker);
        let firing = thread::spawn(move || fire(shard, Nanos(9)));
        entry.as_mut().reset(None, Nanos(5));
        let fired = firing.join().unwrap();
        assert_eq!(
            fired + fire(shard, Nanos(9)),
            1,
            "entry.linked: fired twice or never"
        );
        parker.park();
    });
}

// WITNESS: entry.linked, entry.alive
#[test]
fn reset_elsewhere_racing_fire_moves_or_finds_it_fired() {
    loom::model(|| {
        let ((shard, name), (away, other)) = (named(), named());
        let (parker, waker) = sleeper();
        let mut entry = armed(name, 5, &waker);
        let firing = thread::spawn(move || fire(shard, Nanos(5)));
        entry.as_mut().reset(Some(other), Nanos(7));
        let fired = firing.join().unwrap();
        assert_eq!(
            fired + fire(away, Nanos(7)),
            1,
            "entry.linked: fired twice or never"
        );
        parker.park();
    });
}

// WITNESS: entry.init
#[test]
fn waker_replaced_racing_fire_is_woken_or_told() {
    loom::model(|| {
        let (shard, name) = named();
        let (parker, waker) = sleeper();
        let mut entry = armed(name, 5, Waker::noop());
        let firing = thread::spawn(move || fire(shard, Nanos(5)));
        if entry.as_mut().poll(&waker) != Phase::Fired {
            parker.park();
        }
        firing.join().unwrap();
        assert_eq!(entry.phase(), Phase::Fired);
    });
}
