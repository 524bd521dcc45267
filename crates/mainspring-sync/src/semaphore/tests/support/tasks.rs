//! An executor that is driven by hand.

use mainspring_core::task::{self, JoinHandle, Runnable, Schedule, SchedulerRef, WakeCause};
use std::collections::VecDeque;
// DOOR: the tests' own, which no model explores.
use std::sync::{Arc, Mutex};

/// Tasks that are run by hand, in the order in which they were woken.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<VecDeque<Runnable>>);

impl Schedule for Tasks {
    fn schedule(&self, runnable: Runnable, _: WakeCause) {
        self.0.lock().unwrap().push_back(runnable);
    }
}

impl Tasks {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, join) = task::create(future, SchedulerRef::from(Arc::clone(self)));
        runnable.schedule();
        join
    }

    pub(crate) fn run_until_idle(&self) {
        loop {
            let next = self.0.lock().unwrap().pop_front();
            let Some(runnable) = next else { return };
            let _ = runnable.run();
        }
    }
}
