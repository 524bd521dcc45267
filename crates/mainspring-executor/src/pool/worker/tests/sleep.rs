//! Falling asleep and being woken, step by step.

use super::script::{Log, Stepped, workers};
use crate::pool::tests::rig::{Rig, spawn_on};
use crate::pool::worker::Doze;
use crate::worker::Step;
use mainspring_core::completion;
use mainspring_core::driver::Until;

fn sleep(worker: &mut Stepped) {
    assert_eq!(worker.step(), Step::Idle);
    assert_eq!(worker.here(|worker| worker.doze()), Doze::Sleep);
}

fn counts(rig: &Rig) -> (usize, usize) {
    rig.shared.idle.counts()
}

// WITNESS: pool-worker.sleeps-last
#[test]
fn worker_that_has_something_to_run_does_not_fall_asleep() {
    let (rig, mut workers) = workers(2);
    let log = Log::default();
    let (completer, event) = completion::<()>();
    rig.spawn(async move { event.await.is_ok() }).detach();
    workers[0].run();
    let note = |log: &Log| {
        let log = log.clone();
        async move { log.note(1) }
    };
    let lane = workers[0].lane.clone();
    let ways: [&mut dyn FnMut(&mut Stepped); 4] = [
        &mut |_| rig.spawn(note(&log)).detach(),
        &mut |worker| worker.here(|_| rig.spawn(note(&log)).detach()),
        &mut |_| spawn_on(&lane, note(&log)).detach(),
        &mut |worker| worker.script.is_ready.set(true),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        assert_eq!(workers[0].step(), Step::Idle);
        way(&mut workers[0]);
        assert_eq!(
            workers[0].here(|worker| worker.doze()),
            Doze::Again,
            "pool-worker.sleeps-last: way {number}"
        );
        workers[0].script.is_ready.set(false);
        workers[0].run();
    }
    // The slot.
    assert_eq!(workers[0].step(), Step::Idle);
    workers[0].here(|_| completer.complete(())).unwrap();
    assert_eq!(workers[0].here(|worker| worker.doze()), Doze::Again);
    workers[0].run();
    // Another's queue.
    workers[1].here(|_| rig.spawn(note(&log)).detach());
    assert_eq!(workers[0].here(|worker| worker.doze()), Doze::Again);
    workers[0].run();
    assert_eq!(log.len(), 4);
    sleep(&mut workers[0]);
}

// WITNESS: pool-worker.searching, idle.chosen
#[test]
fn chosen_worker_searches_until_it_has_found_something() {
    let (rig, mut workers) = workers(2);
    workers.iter_mut().for_each(sleep);
    assert_eq!(counts(&rig), (2, 0));
    rig.spawn(async {}).detach();
    assert_eq!(counts(&rig), (1, 1));
    // Nobody else is woken while one searches.
    rig.spawn(async {}).detach();
    assert_eq!(counts(&rig), (1, 1));
    let unparked: Vec<usize> = workers
        .iter()
        .map(|worker| worker.script.unparks())
        .collect();
    assert_eq!(unparked, [1, 0]);
    workers[0].here(|worker| {
        let _now = worker.park(Until::Forever);
        worker.wake_up();
    });
    workers[0].script.is_ready.set(true);
    // It found one of two, and hands on before it runs that.
    assert_eq!(workers[0].step(), Step::Busy);
    assert_eq!(counts(&rig), (0, 1), "idle.handed-on");
    assert_eq!(workers[1].script.unparks(), 1, "idle.handed-on");
    workers[1].here(|worker| worker.wake_up());
    workers[1].run();
    workers[0].script.is_ready.set(false);
    workers[0].run();
    workers.iter_mut().for_each(sleep);
    assert_eq!(counts(&rig), (2, 0), "pool-worker.searching");
}

// WITNESS: pool-worker.searching
#[test]
fn worker_that_wakes_by_itself_does_not_search() {
    let (rig, mut workers) = workers(2);
    workers.iter_mut().for_each(sleep);
    workers[0].here(|worker| {
        let _now = worker.park(Until::Forever);
        worker.wake_up();
    });
    assert_eq!(counts(&rig), (1, 0), "pool-worker.searching");
    sleep(&mut workers[0]);
}

// B052. WITNESS: pool-worker.searching
#[test]
fn worker_that_leaves_while_it_searches_is_counted_no_more() {
    let (rig, mut workers) = workers(2);
    assert_eq!(workers[0].step(), Step::Idle);
    assert_eq!(counts(&rig), (0, 1));
    workers[0].here(|worker| worker.leave());
    assert_eq!(counts(&rig), (0, 0), "pool-worker.searching");
}

// WITNESS: pool.noticed
#[test]
fn second_task_of_a_queue_wakes_another_worker_and_the_first_does_not() {
    let (rig, mut workers) = workers(2);
    sleep(&mut workers[1]);
    workers[0].here(|_| rig.spawn(async {}).detach());
    assert_eq!(workers[1].script.unparks(), 0, "it is the next to run");
    workers[0].here(|_| rig.spawn(async {}).detach());
    assert_eq!(workers[1].script.unparks(), 1, "pool.noticed");
    workers.iter_mut().for_each(|worker| _ = worker.run());
}

// WITNESS: pool.noticed
#[test]
fn what_is_left_at_the_end_of_a_turn_is_noticed() {
    let (rig, mut workers) = workers(2);
    workers[0].here(|_| (0..4).for_each(|_| rig.spawn(async {}).detach()));
    // Falls asleep after it has been looked for, as if it had missed the pushes.
    let _look = rig.shared.idle.fall_asleep(1, false);
    workers[0].script.is_ready.set(true);
    assert_eq!(workers[0].step(), Step::Busy);
    assert_eq!(workers[1].script.unparks(), 1, "pool.noticed");
    workers[1].here(|worker| worker.wake_up());
    workers.iter_mut().for_each(|worker| _ = worker.run());
}

// WITNESS: pool.noticed
#[test]
fn what_a_thief_has_not_come_to_is_noticed_as_well() {
    let (rig, mut workers) = workers(3);
    workers[0].here(|_| (0..8).for_each(|_| rig.spawn(async {}).detach()));
    workers[1].script.is_ready.set(true);
    assert_eq!(workers[1].step(), Step::Busy);
    let _look = rig.shared.idle.fall_asleep(2, false);
    assert_eq!(workers[1].step(), Step::Busy);
    assert_eq!(workers[2].script.unparks(), 1, "pool.noticed");
    workers[2].here(|worker| worker.wake_up());
    workers[1].script.is_ready.set(false);
    workers.iter_mut().for_each(|worker| _ = worker.run());
}

// WITNESS: desk.current
#[test]
fn desk_is_current_while_somebody_sits_at_it_and_for_its_pool_only() {
    let (rig, mut workers) = workers(2);
    let (other, _others) = super::script::workers(1);
    let current = |rig: &Rig| crate::pool::desk::current_worker(&rig.shared);
    assert_eq!(current(&rig), None);
    let rig_seen = rig.clone();
    workers[1].here(|_| {
        assert_eq!((current(&rig_seen), current(&other)), (Some(1), None));
        // A task of another pool that is woken here goes to that one's injector.
        other.spawn(async {}).detach();
        assert_eq!(other.shared.injected(), 1);
    });
    assert_eq!(current(&rig), None, "desk.current");
    let mut others = _others;
    others[0].run();
}
