//! Tasks that run where the model says, and what their ends leave behind.

use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use mainspring_core::task::{self, JoinHandle, Runnable, Schedule, SchedulerRef, WakeCause};
use std::sync::Arc;

/// Has room for the one runnable of one task.
pub(super) struct Slot(Mutex<Option<Runnable>>);

impl Schedule for Slot {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        let before = self.0.lock().replace(runnable);
        assert!(before.is_none(), "task.runnable: two of one task");
    }
}

pub(super) type SlotRef = mainspring_core::sync::Arc<Slot>;

/// A task that runs when [`run`] is called with its slot.
pub(super) fn spawn<F>(future: F) -> (SlotRef, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let slot = SlotRef::new(Slot(Mutex::new(None)));
    let (runnable, join) = task::create(future, SchedulerRef::from(SlotRef::clone(&slot)));
    runnable.schedule();
    (slot, join)
}

pub(super) fn run(slot: &SlotRef) {
    let runnable = slot.0.lock().take();
    if let Some(runnable) = runnable {
        let _ran = runnable.run();
    }
}

/// What a waker's thread leaves for the look that it asks for, with no ordering of its own.
pub(super) struct Letters(AtomicUsize);

impl Letters {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    pub(super) fn write(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self) -> usize {
        self.0.load(Relaxed)
    }
}
