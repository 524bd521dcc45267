//! The shards of the process that nobody drives at the moment.

use super::Shard;
use mainspring_core::sync::Mutex;
use mainspring_core::time::{Timers, TimersRef};

static FREE: Mutex<Vec<(&'static Shard, TimersRef)>> = Mutex::new(Vec::new());

/// An empty, closed shard: a used one if there is one.
pub(super) fn take() -> (&'static Shard, TimersRef) {
    let used = FREE.lock().pop();
    used.unwrap_or_else(|| {
        let shard: &'static Shard = Box::leak(Box::new(Shard::new()));
        let timers: &'static dyn Timers = shard;
        (shard, TimersRef::new(Box::leak(Box::new(timers))))
    })
}

/// Takes a shard that was closed.
pub(super) fn give_back(shard: &'static Shard, timers: TimersRef) {
    FREE.lock().push((shard, timers));
}
