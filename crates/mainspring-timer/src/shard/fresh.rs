//! In models every shard is new: what one execution leaves must not reach the next.

use super::Shard;
use mainspring_core::time::{Timers, TimersRef};

pub(super) fn take() -> (&'static Shard, TimersRef) {
    let shard: &'static Shard = Box::leak(Box::new(Shard::new()));
    let timers: &'static dyn Timers = shard;
    (shard, TimersRef::new(Box::leak(Box::new(timers))))
}

pub(super) fn give_back(_shard: &'static Shard, _timers: TimersRef) {}
