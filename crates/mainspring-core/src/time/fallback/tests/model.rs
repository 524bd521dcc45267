//! What the models of entries and of the fallback share.

use crate::time::fallback::Fallback;
use crate::time::fallback::turn::wake;
use crate::time::{Nanos, Timers, TimersRef};
use crate::wake_batch::WakeBatch;

/// Timers whose thread is the model's business.
pub(in crate::time) fn named() -> (&'static Fallback, TimersRef) {
    let fallback: &'static Fallback = Box::leak(Box::new(Fallback::new(|| Ok(()))));
    let timers: &'static dyn Timers = fallback;
    (fallback, TimersRef::new(Box::leak(Box::new(timers))))
}

/// The half of a turn that does not sleep.
pub(in crate::time) fn fire(fallback: &Fallback, now: Nanos) -> usize {
    let mut due = WakeBatch::new();
    fallback.state.lock().fire_due(now, &mut due);
    wake(&mut due)
}

/// What a wheel does whose runtime ends.
pub(in crate::time) fn shut_down(fallback: &Fallback) {
    let mut state = fallback.state.lock();
    while let Some((_, entry)) = state.armed.pop() {
        // SAFETY: [entry.linked] linked, hence armed; unlinked now, under the lock.
        drop(unsafe { entry.evict() });
    }
}
