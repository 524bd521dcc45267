//! The shards from many threads.

use crate::pool::registry::{OnAdmit, Registry};
use mainspring_core::spawn::Lane;
use mainspring_core::task::{self, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause};
use std::sync::Arc;
use std::thread;

struct Listed(Arc<Registry>);

impl Schedule for Listed {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        drop(runnable);
    }

    fn retire(&self, task: &TaskRef) {
        self.0.retire(Lane::Tasks, task);
    }
}

// WITNESS: registry.listed, registry.closed
#[test]
fn tasks_of_several_threads_are_all_listed_until_they_end() {
    let registry = Arc::new(Registry::new(2));
    let threads = [0, 1, 2].map(|_| {
        let registry = Arc::clone(&registry);
        thread::spawn(move || {
            let scheduler = SchedulerRef::from(Arc::new(Listed(Arc::clone(&registry))));
            // More than one block of numbers.
            let tasks = (0..1_500).map(|_| {
                let (runnable, handle) = task::create(async {}, scheduler.clone());
                handle.detach();
                // SAFETY: [registry.listed] `Listed` retires it from here.
                let admitted = unsafe { registry.admit(Lane::Tasks, runnable.task()) };
                assert_eq!(admitted, OnAdmit::Listed);
                runnable
            });
            tasks.collect::<Vec<_>>()
        })
    });
    let runnables = threads.map(|thread| thread.join().expect("no panic"));
    assert_eq!(registry.len(Lane::Tasks), 4_500);
    assert_eq!(registry.tasks(Lane::Tasks).len(), 4_500);
    assert_eq!(registry.len(Lane::Cleanup), 0);
    for (number, runnable) in runnables.into_iter().flatten().enumerate() {
        let _ran = runnable.run();
        if number % 500 == 0 {
            assert_eq!(registry.tasks(Lane::Tasks).len(), 4_499 - number);
        }
    }
    registry.close(Lane::Tasks);
    let scheduler = SchedulerRef::from(Arc::new(Listed(Arc::clone(&registry))));
    let (late, handle) = task::create(async {}, scheduler);
    // SAFETY: [registry.listed] as above.
    let admitted = unsafe { registry.admit(Lane::Tasks, late.task()) };
    assert_eq!(admitted, OnAdmit::Refused, "registry.closed");
    drop(late);
    assert!(handle.is_finished());
}
