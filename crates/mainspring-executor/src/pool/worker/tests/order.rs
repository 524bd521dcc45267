//! Which task is next, on one worker that the test steps.

use super::script::{Log, workers};
use crate::pool::tests::rig::spawn_on;
use crate::worker::Step;
use mainspring_core::driver::Until;
use mainspring_core::task::yield_now;
use mainspring_core::{Completer, Completion, completion};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// A task that notes its number when it is polled.
async fn noted(log: Log, who: u32) {
    log.note(who);
}

/// A task that yields after each of so many polls.
async fn yielding(log: Log, who: u32, polls: u32) {
    for _ in 0..polls {
        log.note(who);
        yield_now().await;
    }
}

/// A task that waits until its completer is completed.
async fn waiting(log: Log, who: u32, event: Completion<()>) {
    let _ = event.await;
    log.note(who);
}

/// Three tasks that wait for an event each.
fn waiters(spawn: impl Fn(u32, Completion<()>)) -> Vec<Completer<()>> {
    let events = (0..3).map(|who| {
        let (completer, event) = completion();
        spawn(who, event);
        completer
    });
    events.collect()
}

// WITNESS: desk.yield-last, counters.one-writer
#[test]
fn task_that_yields_goes_behind_all_others() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    workers[0].here(|_| {
        rig.spawn(yielding(log.clone(), 1, 2)).detach();
        rig.spawn(noted(log.clone(), 2)).detach();
        rig.spawn(noted(log.clone(), 3)).detach();
    });
    workers[0].run();
    assert_eq!(log.take(), [1, 2, 3, 1], "desk.yield-last");
    let metrics = rig.shared.remotes[0].counters.metrics(0);
    assert_eq!((metrics.polls, metrics.yields), (5, 2));
}

#[test]
fn task_woken_last_runs_first_and_what_it_replaces_goes_to_the_queue() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    let events = waiters(|who, event| {
        rig.spawn(waiting(log.clone(), who, event)).detach();
    });
    workers[0].run();
    workers[0].here(|_| {
        rig.spawn(noted(log.clone(), 7)).detach();
        for event in events {
            let _ = event.complete(());
        }
    });
    workers[0].run();
    assert_eq!(log.take(), [2, 7, 0, 1]);
    assert_eq!(rig.shared.remotes[0].counters.metrics(0).slot_hits, 1);
}

// WITNESS: desk.first-in-slot
#[test]
fn first_that_the_driver_wakes_runs_first_and_the_others_in_order() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    let events = waiters(|who, event| {
        rig.spawn(waiting(log.clone(), who, event)).detach();
    });
    workers[0].run();
    workers[0].here(|_| rig.spawn(noted(log.clone(), 7)).detach());
    let waker = Waker::from(Arc::new(CompleteAll(Mutex::new(events))));
    workers[0].script.events.borrow_mut().push(waker);
    workers[0].here(|worker| worker.park(Until::Now));
    workers[0].run();
    assert_eq!(log.take(), [0, 7, 1, 2], "desk.first-in-slot");
}

/// What a driver does when several operations have ended.
struct CompleteAll(Mutex<Vec<Completer<()>>>);

impl Wake for CompleteAll {
    fn wake(self: Arc<Self>) {
        for event in std::mem::take(&mut *self.0.lock().unwrap()) {
            let _ = event.complete(());
        }
    }
}

#[test]
fn lane_and_queue_are_served_in_turns() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    let lane = workers[0].lane.clone();
    workers[0].here(|_| {
        for who in 0..3 {
            rig.spawn(noted(log.clone(), who)).detach();
            spawn_on(&lane, noted(log.clone(), 10 + who)).detach();
        }
    });
    workers[0].run();
    assert_eq!(log.take(), [10, 0, 11, 1, 12, 2]);
}

#[test]
fn injector_is_looked_at_at_every_61st_task_by_a_worker_with_work() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    workers[0].here(|_| {
        for who in 0..2 {
            rig.spawn(yielding(log.clone(), who, 200)).detach();
        }
    });
    // From outside.
    for who in 7..10 {
        rig.spawn(noted(log.clone(), who)).detach();
    }
    workers[0].run();
    let order = log.take();
    let position = |who| order.iter().position(|other| *other == who);
    assert_eq!(position(7), Some(60), "the 61st");
    // The batch that came along stands behind the two, and is not forgotten.
    assert_eq!((position(8), position(9)), (Some(63), Some(64)));
}

// WITNESS: pool-worker.turn
#[test]
fn driver_with_something_ready_ends_the_turn() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    workers[0].here(|_| {
        for who in 0..3 {
            rig.spawn(noted(log.clone(), who)).detach();
        }
    });
    workers[0].script.is_ready.set(true);
    assert_eq!(workers[0].step(), Step::Busy);
    assert_eq!(log.len(), 1, "pool-worker.turn: went on");
    workers[0].script.is_ready.set(false);
    assert_eq!(workers[0].step(), Step::Idle);
    assert_eq!(log.take(), [0, 1, 2]);
}

// WITNESS: pool-worker.turn
#[test]
fn turn_has_61_polls_at_most() {
    let (rig, mut workers) = workers(1);
    let log = Log::default();
    let lane = workers[0].lane.clone();
    workers[0].here(|_| {
        rig.spawn(yielding(log.clone(), 0, 200)).detach();
        spawn_on(&lane, yielding(log.clone(), 1, 200)).detach();
    });
    assert_eq!(workers[0].step(), Step::Busy);
    assert_eq!(log.len(), 61, "pool-worker.turn");
    workers[0].run();
}

#[test]
fn thief_takes_half_and_counts_one_steal() {
    let (rig, mut workers) = workers(2);
    let log = Log::default();
    workers[0].here(|_| {
        for who in 0..8 {
            rig.spawn(noted(log.clone(), who)).detach();
        }
    });
    workers[1].script.is_ready.set(true);
    assert_eq!(workers[1].step(), Step::Busy);
    let lengths = rig.shared.remotes.iter().map(|remote| remote.queue.len());
    assert_eq!(lengths.collect::<Vec<_>>(), [4, 3]);
    let thief = rig.shared.remotes[1].counters.metrics(3);
    assert_eq!((thief.polls, thief.steals, thief.injections), (1, 1, 0));
    workers[0].run();
    assert_eq!(log.take(), [0, 4, 5, 6, 7, 1, 2, 3]);
    let victim = rig.shared.remotes[0].counters.metrics(0);
    assert_eq!(
        (victim.polls, victim.steals),
        (7, 2),
        "it has stolen two and one back"
    );
}

#[test]
fn slot_is_left_alone_by_thieves() {
    let (rig, mut workers) = workers(2);
    let log = Log::default();
    let events = waiters(|who, event| {
        rig.spawn(waiting(log.clone(), who, event)).detach();
    });
    workers[0].run();
    workers[0].here(|_| {
        for event in events {
            let _ = event.complete(());
        }
    });
    workers[1].run();
    let stolen = log.take();
    assert!(!stolen.contains(&2), "the slot was stolen: {stolen:?}");
    workers[0].run();
    workers[1].run();
    assert!(log.take().contains(&2));
}

// B053: no seed leads to a worker that always robs the same one.
#[test]
fn every_victim_is_tried_first_whatever_the_seed() {
    for seed in [0, 1, u64::MAX] {
        let _seeded = mainspring_core::random::enter(seed);
        let mut robbed = [0; 3];
        for _ in 0..60 {
            let (rig, mut workers) = workers(4);
            let log = Log::default();
            for victim in 0..3 {
                workers[victim as usize].here(|_| {
                    rig.spawn(noted(log.clone(), victim)).detach();
                });
            }
            workers[3].script.is_ready.set(true);
            let _step = workers[3].step();
            robbed[log.take()[0] as usize] += 1;
            workers.iter_mut().for_each(|worker| _ = worker.run());
        }
        assert!(robbed.iter().all(|times| *times > 0), "{robbed:?}");
    }
}
