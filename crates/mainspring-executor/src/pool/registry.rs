//! All tasks of a pool, in shards.
//!
//! Task numbers are drawn in blocks a thread, so a shard is chosen by the block: threads that spawn
//! at the same time meet in one lock as rarely as there are more shards than threads.
//!
//! # Invariants
//!
//! - **registry.listed** — a task is in its shard from before its first poll until it is retired.
//! - **registry.closed** — after `close` a lane admits nothing: the flag is looked at under the
//!   lock under which a task is listed. What was admitted before is listed, so whoever ends the
//!   lane reaches it.
//! - **registry.told** — whoever waits for a closed lane to be empty registers, then looks; who
//!   takes the last task of a closed lane off looks, then wakes.

use crossbeam_utils::CachePadded;
use mainspring_core::AtomicWaker;
use mainspring_core::spawn::Lane;
use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::task::{self, TaskInfo, TaskRef, TaskState};
use mainspring_core::time;
use std::task::{Context, Poll};

/// How many numbers of tasks follow each other in one thread: core's block.
const BLOCK: u64 = 1024;

/// How many shards there are at most.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const SHARDS_MAX: usize = 1 << 14;
/// Numbers of tasks go on from one execution of a model to the next: another shard each time.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const SHARDS_MAX: usize = 1;

#[derive(Default)]
struct Lanes {
    tasks: task::Registry,
    cleanups: task::Registry,
    is_closed: [bool; 2],
}

impl Lanes {
    fn lane(&mut self, lane: Lane) -> &mut task::Registry {
        match lane {
            Lane::Tasks => &mut self.tasks,
            Lane::Cleanup => &mut self.cleanups,
        }
    }
}

fn index(lane: Lane) -> usize {
    match lane {
        Lane::Tasks => 0,
        Lane::Cleanup => 1,
    }
}

/// Whether a new task was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refused task has to be cancelled"]
pub(crate) enum OnAdmit {
    /// It is listed.
    Listed,
    /// Its lane is closed.
    Refused,
}

/// The shards.
pub(crate) struct Registry {
    shards: Box<[CachePadded<Mutex<Lanes>>]>,
    /// Some lane is closed: whoever retires a task may have to tell somebody.
    is_ending: AtomicBool,
    emptied: AtomicWaker,
}

impl Registry {
    /// Shards for so many threads that spawn.
    pub(crate) fn new(workers: usize) -> Self {
        let shards = (4 * workers).next_power_of_two().min(SHARDS_MAX);
        Self {
            shards: (0..shards).map(|_| CachePadded::default()).collect(),
            is_ending: AtomicBool::new(false),
            emptied: AtomicWaker::new(),
        }
    }

    #[inline]
    fn shard(&self, task: &TaskRef) -> &Mutex<Lanes> {
        self.shard_of(task.id().as_u64())
    }

    #[inline]
    fn shard_of(&self, id: u64) -> &Mutex<Lanes> {
        &self.shards[(id / BLOCK) as usize & (self.shards.len() - 1)]
    }

    /// Lists a new task.
    ///
    /// # Safety
    ///
    /// The task is new, and its scheduler retires it from this registry and this lane.
    #[inline]
    pub(crate) unsafe fn admit(&self, lane: Lane, task: &TaskRef) -> OnAdmit {
        let mut lanes = self.shard(task).lock();
        if lanes.is_closed[index(lane)] {
            return OnAdmit::Refused;
        }
        // SAFETY: [registry.listed] the caller's contract.
        unsafe { lanes.lane(lane).insert(task) };
        OnAdmit::Listed
    }

    /// Takes a task off. One that was refused is in none.
    #[inline]
    pub(crate) fn retire(&self, lane: Lane, task: &TaskRef) {
        let mut lanes = self.shard(task).lock();
        // SAFETY: [registry.listed] no other registry ever lists it.
        unsafe { lanes.lane(lane).remove(task) };
        drop(lanes);
        if self.is_ending.load(Relaxed) {
            // CLAIM: [registry.told] after the task is off.
            self.emptied.wake();
        }
    }

    /// From now on the lane admits nothing.
    pub(crate) fn close(&self, lane: Lane) {
        // Before the locks: a task that is retired after its shard was closed sees it.
        self.is_ending.store(true, Relaxed);
        for shard in &self.shards {
            // CLAIM: [registry.closed] under the lock.
            shard.lock().is_closed[index(lane)] = true;
        }
    }

    /// How many tasks of a lane have not ended.
    pub(crate) fn len(&self, lane: Lane) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.lock().lane(lane).len())
            .sum()
    }

    /// Every task of a lane that has not ended; of those that one thread spawned, the newest first.
    pub(crate) fn tasks(&self, lane: Lane) -> Vec<TaskRef> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            let mut lanes = shard.lock();
            let listed = lanes.lane(lane);
            tasks.reserve(listed.len());
            tasks.extend(listed.iter().map(|task| (*task).clone()));
        }
        tasks
    }

    /// What the tasks of a lane are at.
    pub(crate) fn infos(&self, lane: Lane) -> Vec<TaskInfo> {
        let now = time::now();
        self.tasks(lane).iter().map(|task| task.info(now)).collect()
    }

    /// Aborts every task of a closed lane, and says what they were. Each goes to its scheduler, and
    /// is dropped where that has it polled.
    pub(crate) fn abort(&self, lane: Lane) -> Vec<TaskInfo> {
        let now = time::now();
        let abort = |task: TaskRef| {
            let info = task.info(now);
            task.abort();
            // One that has just ended by itself was not dropped.
            (info.state != TaskState::Complete).then_some(info)
        };
        self.tasks(lane).into_iter().filter_map(abort).collect()
    }

    /// The task with this number, of either lane, if it has not ended. Walks one shard, under its
    /// lock.
    pub(crate) fn find(&self, id: u64) -> Option<TaskRef> {
        let mut lanes = self.shard_of(id).lock();
        [Lane::Tasks, Lane::Cleanup].into_iter().find_map(|lane| {
            let mut listed = lanes.lane(lane).iter();
            let found = listed.find(|task| task.id().as_u64() == id);
            found.map(|task| (*task).clone())
        })
    }

    /// Ready when a closed lane is empty. One waiter at a time.
    pub(crate) fn poll_empty(&self, lane: Lane, cx: &mut Context<'_>) -> Poll<()> {
        // CLAIM: [registry.told] registered before the look.
        self.emptied.register(cx.waker());
        if self.len(lane) == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[cfg(test)]
mod tests;
