//! A lane's inbox beside a worker that falls asleep.

use crate::pool::desk::Seated;
use crate::pool::tests::rig::{parking, spawn_on};
use crate::pool::thread::drive;
use loom::thread;
use mainspring_core::completion;
use mainspring_core::task::{self, SchedulerRef};
use mainspring_core::time::{self, ManualClock, Nanos};
use std::rc::Rc;
use std::sync::Arc;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let _clock = time::enter_clock(Arc::new(ManualClock::new(Nanos(1))));
        model();
    });
}

// WITNESS: lane.no-sleeper, lane.home, lane.brief
#[test]
fn local_task_woken_by_another_thread_is_run_however_its_worker_sleeps() {
    explore(|| {
        let (rig, mut berths) = parking(1);
        let (mut worker, lane) = berths.remove(0).settle();
        let (completer, completion) = completion::<u32>();
        let (here, shared) = (Rc::new(2), rig.shared.clone());
        let task = spawn_on(&lane, async move {
            let sum = completion.await.map_or(0, |n| n + *here);
            shared.stop();
            sum
        });
        let other = thread::spawn(move || completer.complete(5));
        let _seated = Seated::sit(worker.desk());
        drive(&mut worker, &rig.shared);
        other.join().unwrap().unwrap();
        assert!(task.is_finished());
    });
}

// WITNESS: lane.no-sleeper
#[test]
fn task_pinned_by_another_thread_is_run_however_its_worker_sleeps() {
    explore(|| {
        let (rig, mut berths) = parking(1);
        let (mut worker, lane) = berths.remove(0).settle();
        let shared = rig.shared.clone();
        let other = thread::spawn(move || {
            let scheduler = SchedulerRef::local(lane.clone());
            let pinned = async move { shared.stop() };
            // SAFETY: [pool-hub.packed] what the future holds is `Send`.
            let (runnable, handle) = unsafe { task::create_local_unchecked(pinned, scheduler) };
            handle.detach();
            assert!(lane.launch(runnable).is_none());
        });
        let _seated = Seated::sit(worker.desk());
        drive(&mut worker, &rig.shared);
        other.join().unwrap();
    });
}
