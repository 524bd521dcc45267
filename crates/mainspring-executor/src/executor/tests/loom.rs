use crate::executor::shared::{Scheduler, Shared, SharedRef};
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::spawn::Lane;
use mainspring_core::sync::{Arc, loom_crate, thread};
use mainspring_core::task::{self, SchedulerRef};

fn spawn_one(shared: &SharedRef) {
    let scheduler = SchedulerRef::from(Arc::new(Scheduler {
        shared: shared.clone(),
        lane: Lane::Tasks,
    }));
    let (runnable, handle) = task::create(async {}, scheduler);
    shared.launch(Lane::Tasks, runnable);
    drop(handle);
}

// WITNESS: executor.noticed, executor.dekker
#[test]
fn push_racing_sleep_is_seen_or_wakes() {
    loom_crate::model(|| {
        let shared = Shared::new();
        let other = thread::spawn({
            let shared = shared.clone();
            move || spawn_one(&shared)
        });
        let mut driver = ThreadDriver::new();
        let runnable = loop {
            if let Some(runnable) = shared.queue.pop() {
                break runnable;
            }
            let sleeper = shared.fall_asleep(&driver.handle());
            if shared.queue.is_empty() {
                let turn = driver.park(Until::Forever);
                assert!(turn.is_ok());
            }
            shared.wake_up(sleeper);
        };
        let _ran = runnable.run();
        other.join().unwrap();
    });
}
