//! What is done with a pool from anywhere.

use super::hub::{self, Hub};
use super::{Metrics, desk, seat};
use crate::block_on::refuse_inside_a_poll;
use mainspring_core::blocking::BlockingGroup;
use mainspring_core::context::{Entered, Slot};
use mainspring_core::spawn::{self, Lane, Spawner};
use mainspring_core::sync::thread_local;
use mainspring_core::task::{JoinHandle, TaskInfo};
use mainspring_core::{blocking, shutdown};
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

thread_local! {
    /// The pool that this thread works for, or blocks on.
    static CURRENT: Slot<PoolHandle> = const { Slot::new() };
}

/// A handle to a [`Pool`](super::Pool) that any thread may hold: it spawns and looks.
///
/// It does not keep the pool running: what is spawned after the pool has ended is cancelled at
/// once.
#[derive(Clone)]
pub struct PoolHandle {
    hub: Hub,
}

impl PoolHandle {
    pub(super) fn new(hub: Hub) -> Self {
        Self { hub }
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// What is current wherever tasks of the pool are polled or dropped, or its users block.
    pub(super) fn enter(&self) -> Entered {
        spawn::enter(self.hub.spawner())
            .and(shutdown::enter(&self.hub.controller().signal()))
            .and(blocking::enter(self.hub.blocking()))
            .and(Entered::new(&CURRENT, Arc::new(self.clone())))
    }

    /// The pool whose worker this thread is, or that is blocked on here.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with(|slot| slot.with(|pool| pool.cloned()))
    }

    /// Spawns a task. On a worker it stands in that worker's queue, where others may take it;
    /// elsewhere it goes to whoever is free.
    ///
    /// Dropping the handle detaches the task. One allocation.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.hub.spawn(future)
    }

    /// Spawns a task that stays on one worker: `make` is called there, and its future, which need
    /// not be `Send`, is polled and dropped there only.
    ///
    /// A pinned task is not served while its worker is busy with another's poll.
    ///
    /// # Panics
    ///
    /// With `MS0015` if there is no such worker.
    #[track_caller]
    pub fn spawn_pinned<M, F>(&self, worker: usize, make: M) -> JoinHandle<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        match self.hub.spawn_pinned(worker, make) {
            Some(handle) => handle,
            None => hub::no_such_worker(worker, self.workers()),
        }
    }

    /// Runs `future` on the calling thread until it is ready, beside the pool: what it spawns runs
    /// on the workers.
    ///
    /// The future need be neither `Send` nor `'static`. The thread waits in a driver of its own,
    /// made at its first call here and kept. Sockets and timers that the future uses are served by
    /// this thread while it is in here. After the pool has ended what the future spawns is
    /// cancelled at once.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. With `MS0011` if a driver
    /// is not to be had; [`try_block_on`](Self::try_block_on) is the form that returns the error.
    /// What `future` panics with is passed on.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self.try_block_on(future) {
            Ok(output) => output,
            // PANIC: documented above.
            Err(error) => panic!(
                "MS0011: the calling thread's driver cannot be built: {error}; use `try_block_on` \
                 to handle that (docs/errors.md)"
            ),
        }
    }

    /// As [`block_on`](Self::block_on), for whoever can do something about a driver that is not to
    /// be had.
    ///
    /// # Errors
    ///
    /// What the driver's maker says; the future has not been polled then.
    ///
    /// # Panics
    ///
    /// With `MS0002` inside a task or another `block_on` of the family. What `future` panics with
    /// is passed on.
    #[track_caller]
    pub fn try_block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        refuse_inside_a_poll();
        seat::block_on(self.hub.seats(), self, future)
    }

    /// A handle through which any code spawns `Send` futures and cleanups, knowing of core alone.
    #[must_use]
    pub fn spawner(&self) -> Spawner {
        self.hub.spawner().clone()
    }

    /// The pool's jobs on the blocking pool, for who submits some from a thread that is none of the
    /// pool's: its shutdown waits for them.
    #[must_use]
    pub fn blocking(&self) -> BlockingGroup {
        self.hub.blocking().clone()
    }

    /// How many tasks have not ended, cleanups not counted. Takes each of the registry's locks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hub.shared().registry.len(Lane::Tasks)
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.hub.shared().workers()
    }

    /// The number of the worker whose thread this is, if it is one of this pool's.
    #[must_use]
    pub fn current_worker(&self) -> Option<usize> {
        desk::current_worker(self.hub.shared())
    }

    /// What the pool was called when it was built.
    #[must_use]
    pub fn name(&self) -> &str {
        self.hub.name()
    }

    /// Every task that has not ended. See [`Pool::tasks`](super::Pool::tasks).
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.infos(Lane::Tasks)
    }

    pub(super) fn infos(&self, lane: Lane) -> Vec<TaskInfo> {
        self.hub.shared().registry.infos(lane)
    }

    /// What the workers have done since they started.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let shared = self.hub.shared();
        let (asleep, searching) = shared.idle.counts();
        let remotes = shared.remotes.iter();
        Metrics {
            workers: remotes
                .map(|remote| remote.counters.metrics(remote.queue.len()))
                .collect(),
            tasks: shared.registry.len(Lane::Tasks),
            injected: shared.injected(),
            asleep,
            searching,
            stalls: shared.stalls.count(),
        }
    }
}

impl fmt::Debug for PoolHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolHandle")
            .field("name", &self.name())
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}
