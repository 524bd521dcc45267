//! The slot, whose owner puts and takes and whose rescuer takes.

use crate::pool::remote::Slot;
use crate::pool::tests::rig::{Rig, parking};
use loom::thread;
use mainspring_core::completion;
use mainspring_core::sync::Arc;
use mainspring_core::task::{self, Runnable, Schedule, SchedulerRef, WakeCause};

/// Nobody wakes these tasks.
struct Nowhere;

impl Schedule for Nowhere {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        drop(runnable);
    }
}

fn scheduler() -> SchedulerRef {
    SchedulerRef::from(Arc::new(Nowhere))
}

/// A task that counts its poll, by ending.
fn runnable(scheduler: &SchedulerRef) -> (Runnable, task::JoinHandle<u32>) {
    task::create(async { 1 }, scheduler.clone())
}

fn run(runnable: Option<Runnable>) -> usize {
    let ran = runnable.map(Runnable::run);
    ran.iter().len()
}

// WITNESS: slot.owned, slot.hand
#[test]
fn put_racing_take_by_another_thread_is_taken_once() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let scheduler = scheduler();
        let other = thread::spawn({
            let slot = slot.clone();
            move || run(slot.take())
        });
        // Made after the other began, which so sees it through the slot alone.
        let (first, handle) = runnable(&scheduler);
        assert!(slot.put(first).is_none());
        let here = run(slot.take());
        let there = other.join().unwrap();
        assert_eq!(
            here + there,
            1,
            "slot.owned: taken {here} times and {there}"
        );
        assert!(handle.is_finished());
    });
}

// WITNESS: slot.hand, slot.owned
#[test]
fn task_that_another_put_replaces_is_handed_over_whole() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let scheduler = scheduler();
        let other = thread::spawn({
            let (slot, scheduler) = (slot.clone(), scheduler.clone());
            move || {
                let (runnable, handle) = runnable(&scheduler);
                handle.detach();
                run(slot.put(runnable))
            }
        });
        let (mine, handle) = runnable(&scheduler);
        handle.detach();
        let here = run(slot.put(mine));
        let there = other.join().unwrap();
        assert!(here + there <= 1, "slot.owned");
        let left = run(slot.take());
        assert_eq!(here + there + left, 2, "slot.owned: one was lost");
    });
}

// WITNESS: slot.owned
#[test]
fn slot_that_goes_cancels_what_stands_in_it() {
    loom::model(|| {
        let slot = Slot::new();
        let (completer, mut completion) = completion::<u32>();
        let (runnable, handle) = task::create(
            async move {
                let _kept = completer;
            },
            scheduler(),
        );
        assert!(slot.put(runnable).is_none());
        drop(slot);
        assert!(handle.is_finished());
        assert!(completion.try_take().is_err());
    });
}

// WITNESS: pool.queued-once
#[test]
fn task_that_a_rescuer_takes_is_run_by_one_of_two() {
    loom::model(|| {
        let (rig, berths) = parking(1);
        let (mut worker, _lane) = berths.into_iter().next().unwrap().settle();
        let (runnable, handle) = task::create(async { 1 }, scheduler());
        assert!(rig.shared.remotes[0].slot.put(runnable).is_none());
        let rescuer = rig.clone();
        let other = thread::spawn(move || rescue(&rescuer));
        let _step = worker.step(mainspring_core::time::Nanos(1));
        other.join().unwrap();
        assert!(handle.is_finished());
    });
}

fn rescue(rig: &Rig) -> usize {
    run(rig.shared.remotes[0].slot.take())
}
