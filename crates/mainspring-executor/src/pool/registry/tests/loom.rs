//! The registry while a lane is being closed.

use crate::pool::registry::{OnAdmit, Registry};
use loom::thread;
use mainspring_core::park::Parker;
use mainspring_core::spawn::Lane;
use mainspring_core::sync::Arc;
use mainspring_core::task::{self, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause};
use std::task::{Context, Poll, Waker};

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

struct Listed(Arc<Registry>);

impl Schedule for Listed {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        drop(runnable);
    }

    fn retire(&self, task: &TaskRef) {
        self.0.retire(Lane::Tasks, task);
    }
}

/// Spawns a task that ends at its first poll.
fn spawn(registry: &Arc<Registry>) -> (OnAdmit, Runnable) {
    let scheduler = SchedulerRef::from(Arc::new(Listed(registry.clone())));
    let (runnable, handle) = task::create(async {}, scheduler);
    handle.detach();
    // SAFETY: [registry.listed] `Listed` retires it from here.
    let admitted = unsafe { registry.admit(Lane::Tasks, runnable.task()) };
    (admitted, runnable)
}

/// Waits as a shutdown does.
fn wait(registry: &Registry) {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(parker.unparker()));
    let mut cx = Context::from_waker(&waker);
    while registry.poll_empty(Lane::Tasks, &mut cx) == Poll::Pending {
        parker.park();
    }
}

// WITNESS: registry.closed, registry.told, registry.listed
#[test]
fn task_admitted_while_the_lane_closes_is_waited_for_or_refused() {
    explore(3, || {
        let registry = Arc::new(Registry::new(1));
        let other = thread::spawn({
            let registry = registry.clone();
            move || {
                let (admitted, runnable) = spawn(&registry);
                match admitted {
                    OnAdmit::Listed => drop(runnable.run()),
                    OnAdmit::Refused => drop(runnable),
                }
            }
        });
        registry.close(Lane::Tasks);
        wait(&registry);
        assert_eq!(registry.len(Lane::Tasks), 0, "registry.closed");
        let (admitted, runnable) = spawn(&registry);
        assert_eq!(admitted, OnAdmit::Refused, "registry.closed");
        drop(runnable);
        other.join().unwrap();
        assert_eq!(registry.len(Lane::Tasks), 0, "registry.closed");
    });
}

// WITNESS: registry.told
#[test]
fn last_two_that_end_at_the_same_time_tell_who_waits() {
    explore(2, || {
        let registry = Arc::new(Registry::new(1));
        let threads = [0, 1].map(|_| {
            let (admitted, runnable) = spawn(&registry);
            assert_eq!(admitted, OnAdmit::Listed);
            thread::spawn(move || runnable.run())
        });
        registry.close(Lane::Tasks);
        wait(&registry);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), task::Ran::Complete);
        }
    });
}

// WITNESS: registry.listed
#[test]
fn task_that_is_listed_is_found_while_others_come_and_go() {
    loom::model(|| {
        let registry = Arc::new(Registry::new(1));
        let (admitted, kept) = spawn(&registry);
        assert_eq!(admitted, OnAdmit::Listed);
        let other = thread::spawn({
            let registry = registry.clone();
            move || {
                let (admitted, runnable) = spawn(&registry);
                assert_eq!(admitted, OnAdmit::Listed);
                runnable.run()
            }
        });
        let id = kept.id();
        let tasks = registry.tasks(Lane::Tasks);
        assert!(tasks.iter().any(|task| task.id() == id), "registry.listed");
        drop(tasks);
        assert_eq!(other.join().unwrap(), task::Ran::Complete);
        assert_eq!(kept.run(), task::Ran::Complete);
        assert_eq!(registry.len(Lane::Tasks), 0);
    });
}
