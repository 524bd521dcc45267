//! The thread that sweeps up when a pool ends while some of its workers are stuck.
//!
//! What stands in the slot of a stuck worker is out of the thieves' reach, and what stands in the
//! injector of a pool whose workers are all stuck is out of everybody's. Both are shared tasks that
//! any thread may drop, so one is started that takes them from wherever they are. It has no driver
//! and no queue, so nothing is stranded if a destructor keeps it, too.

use super::PoolHandle;
use super::hub::Hub;
use super::shared::Shared;
use mainspring_core::task::Runnable;
use mainspring_core::{poll, time};
use std::time::Duration;

/// How long it waits when it finds nothing: nobody tells it that there is something.
const REST: Duration = Duration::from_millis(5);

/// The thread's body: until the pool stops.
pub(super) fn serve(hub: &Hub) {
    let _here = PoolHandle::new(hub.clone()).enter();
    let shared = hub.shared();
    while !shared.is_stopping() {
        match next(shared) {
            Some(runnable) => {
                poll::begin_turn(time::now());
                // A shared task is at home everywhere.
                let _ran = runnable.run();
            }
            None => std::thread::park_timeout(REST),
        }
    }
}

/// A shared task, from wherever one stands.
pub(super) fn next(shared: &Shared) -> Option<Runnable> {
    let of_workers = || {
        let mut remotes = shared.remotes.iter();
        // CLAIM: [slot.owned] [deque.once] swapped out, or stolen, by one.
        remotes.find_map(|remote| remote.slot.take().or_else(|| remote.queue.steal_one()))
    };
    shared.pop_injected().or_else(of_workers)
}
