//! Whole workers on modelled threads, over the driver that only parks.

use crate::pool::desk::Seated;
use crate::pool::tests::rig::{Berth, Rig, parking};
use crate::pool::thread::drive;
use crate::queue::local::Local;
use loom::thread;
use mainspring_core::completion;
use mainspring_core::context::Entered;
use mainspring_core::park::Parker;
use mainspring_core::spawn::Lane;
use mainspring_core::task::TaskRef;
use mainspring_core::time::{self, ManualClock, Nanos};
use std::sync::Arc;

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Runs a worker on this thread until the pool stops.
fn work(berth: Berth, rig: &Rig) {
    let _clock = stand_still();
    let (mut worker, _lane) = berth.settle();
    let _resident = rig.enter();
    let _seated = Seated::sit(worker.desk());
    drive(&mut worker, &rig.shared);
}

/// A clock that stands: how long polls take is no part of the model. (Nor does a worker of two draw
/// anything that matters: there is one victim.)
fn stand_still() -> Entered {
    time::enter_clock(Arc::new(ManualClock::new(Nanos(1))))
}

// WITNESS: pool.noticed, pool-worker.sleeps-last
#[test]
fn task_injected_while_both_workers_fall_asleep_is_run() {
    explore(1, || {
        let (rig, mut berths) = parking(2);
        let (one, other) = (berths.remove(0), berths.remove(0));
        let worker = thread::spawn({
            let rig = rig.clone();
            move || work(other, &rig)
        });
        let producer = thread::spawn({
            let rig = rig.clone();
            move || {
                let inner = rig.clone();
                rig.spawn(async move { inner.shared.stop() }).detach();
            }
        });
        work(one, &rig);
        worker.join().unwrap();
        producer.join().unwrap();
    });
}

// WITNESS: pool.noticed, pool-worker.sleeps-last
#[test]
fn task_injected_while_the_only_worker_falls_asleep_is_run() {
    explore(3, || {
        let (rig, mut berths) = parking(1);
        let producer = thread::spawn({
            let rig = rig.clone();
            move || {
                let inner = rig.clone();
                rig.spawn(async move { inner.shared.stop() }).detach();
            }
        });
        work(berths.remove(0), &rig);
        producer.join().unwrap();
    });
}

// WITNESS: pool.noticed
#[test]
fn second_task_of_a_busy_worker_is_noticed_when_the_turn_ends() {
    explore(1, || {
        let (rig, mut berths) = parking(2);
        let (busy, other) = (berths.remove(0), berths.remove(0));
        let sleeper = thread::spawn({
            let rig = rig.clone();
            move || work(other, &rig)
        });
        let _clock = stand_still();
        let (mut worker, _lane) = busy.settle();
        let _seated = Seated::sit(worker.desk());
        let parker = Parker::new();
        let unparker = parker.unparker();
        // One of the two keeps its worker until the other has run: somebody else has to come.
        rig.spawn(async move { parker.park() }).detach();
        let last = rig.clone();
        let second = async move {
            unparker.unpark();
            last.shared.stop();
        };
        rig.spawn(second).detach();
        worker.desk().settle(&rig.shared);
        drive(&mut worker, &rig.shared);
        sleeper.join().unwrap();
    });
}

// WITNESS: pool.rescued, watchdog.harmless
#[test]
fn tasks_that_are_rescued_from_a_worker_that_is_not_stuck_are_run_once_each() {
    explore(2, || {
        let (rig, mut berths) = parking(1);
        let _clock = stand_still();
        let (mut worker, _lane) = berths.remove(0).settle();
        let _resident = rig.enter();
        let _seated = Seated::sit(worker.desk());
        let (completer, event) = completion::<()>();
        let (done, both) = completion::<()>();
        // One in the slot, one in the queue; the model ends when both have run.
        let woken = rig.spawn(async move {
            assert!(event.await.is_ok());
            done.complete(()).is_ok()
        });
        let _step = worker.step(Nanos(1));
        let last = rig.clone();
        let queued = rig.spawn(async move {
            let both = both.await;
            last.shared.stop();
            both.is_ok()
        });
        assert!(completer.complete(()).is_ok());
        let rescuer = thread::spawn({
            let rig = rig.clone();
            move || rig.shared.rescue(0, &Local::new())
        });
        drive(&mut worker, &rig.shared);
        rescuer.join().unwrap();
        assert!(woken.is_finished() && queued.is_finished(), "pool.rescued");
    });
}

// WITNESS: pool-worker.searching
#[test]
fn stop_racing_the_sleep_ends_the_worker_which_is_no_searcher_then() {
    explore(3, || {
        let (rig, mut berths) = parking(1);
        let other = thread::spawn({
            let rig = rig.clone();
            move || rig.shared.stop()
        });
        work(berths.remove(0), &rig);
        other.join().unwrap();
        assert_eq!(rig.shared.idle.counts(), (0, 0), "pool-worker.searching");
    });
}

// WITNESS: pool-end.not-itself
#[test]
fn pool_that_is_left_to_itself_ends_when_its_last_task_has() {
    explore(1, || {
        let (rig, mut berths) = parking(2);
        let (one, other) = (berths.remove(0), berths.remove(0));
        let worker = thread::spawn({
            let rig = rig.clone();
            move || work(other, &rig)
        });
        let inner = rig.clone();
        // What a worker does in whose task the pool is dropped.
        rig.spawn(async move {
            let shared = &inner.shared;
            for lane in [Lane::Tasks, Lane::Cleanup] {
                shared.registry.close(lane);
                shared.registry.tasks(lane).iter().for_each(TaskRef::abort);
            }
            shared.stop_when_empty();
        })
        .detach();
        work(one, &rig);
        worker.join().unwrap();
    });
}
