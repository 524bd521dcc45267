//! A whole pool under random schedules: workers, their lanes, the injector, the idle word and the
//! registry, with threads from outside that spawn, wake and abort until the pool ends.

use crate::pool::desk::Seated;
use crate::pool::lane::LaneRef;
use crate::pool::sweep;
use crate::pool::tests::rig::{Berth, Rig, parking};
use crate::pool::thread::drive;
use mainspring_core::random;
use mainspring_core::spawn::Lane;
use mainspring_core::sync::{Mutex, below, block_on, explore, thread};
use mainspring_core::task::{self, AbortHandle, JoinHandle, SchedulerRef, TaskRef, yield_now};
use mainspring_core::time::{self, ManualClock, Nanos};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};

/// What everybody shares.
struct World {
    rig: Rig,
    lanes: Mutex<Vec<LaneRef>>,
    board: Mutex<Vec<Waker>>,
    aborts: Mutex<Vec<AbortHandle>>,
    /// No steps of the schedule.
    spawned: AtomicUsize,
    ended: AtomicUsize,
    /// Those among the waiting that any worker may run, and that have not ended.
    shared: AtomicUsize,
}

/// Counts the end of the future that holds it.
struct Alive(Arc<World>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
        if below(4) == 0 {
            self.0.wake();
        }
    }
}

/// Counts a task that any worker may run.
struct Shared(Arc<World>);

impl Shared {
    fn new(world: &Arc<World>) -> Self {
        world.shared.fetch_add(1, Relaxed);
        Self(Arc::clone(world))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.0.shared.fetch_sub(1, Relaxed);
    }
}

impl World {
    fn alive(self: &Arc<Self>) -> Alive {
        self.spawned.fetch_add(1, Relaxed);
        Alive(Arc::clone(self))
    }

    /// Wakes somebody. Nothing happens to a waker under the lock.
    fn wake(&self) {
        let waker = self.board.lock().pop();
        waker.into_iter().for_each(Waker::wake);
    }

    fn abort(&self) {
        let abort = self.aborts.lock().pop();
        abort.iter().for_each(AbortHandle::abort);
    }

    /// A task that ends by itself, and says whether its children have.
    fn steady(self: &Arc<Self>, generations: u32) -> JoinHandle<bool> {
        let (alive, world) = (self.alive(), Arc::clone(self));
        self.rig.spawn(async move {
            let _alive = alive;
            let mut is_whole = true;
            for _ in 0..below(3) {
                match below(3) {
                    0 if generations > 0 => {
                        let child = world.steady(generations - 1);
                        is_whole &= child.await.unwrap_or(false);
                    }
                    1 => world.wake(),
                    _ => yield_now().await,
                }
            }
            is_whole
        })
    }

    /// A task that waits for a wake which may never come.
    fn waiting(self: &Arc<Self>) -> impl Future<Output = ()> + use<> {
        let (alive, world) = (self.alive(), Arc::clone(self));
        let mut waits = below(3);
        poll_fn(move |cx| {
            let _ = &alive;
            if waits == 0 {
                return Poll::Ready(());
            }
            waits -= 1;
            let waker = cx.waker().clone();
            world.board.lock().push(waker);
            Poll::Pending
        })
    }

    /// Spawns a waiting task, on a lane perhaps.
    fn leave_one(self: &Arc<Self>) {
        let lane = {
            let lanes = self.lanes.lock();
            let at = below(2 * lanes.len() as u32 + 1) as usize;
            lanes.get(at).cloned()
        };
        let waiting = self.waiting();
        let handle = match lane {
            None => {
                let shared = Shared::new(self);
                self.rig.spawn(async move {
                    let _shared = shared;
                    waiting.await;
                })
            }
            Some(lane) => {
                let scheduler = SchedulerRef::local(lane.clone());
                // SAFETY: [pool-hub.packed] what the future holds is `Send`.
                let (runnable, handle) =
                    unsafe { task::create_local_unchecked(waiting, scheduler) };
                if let Some(refused) = lane.launch(runnable) {
                    // SAFETY: [pool-hub.packed] any thread may drop it.
                    unsafe { refused.cancel_unchecked() };
                }
                handle
            }
        };
        let abort = handle.abort_handle();
        self.aborts.lock().push(abort);
    }
}

/// A worker on its way to its thread.
struct Sent(Berth);

// SAFETY: the threads of an execution are one thread of the operating system.
unsafe impl Send for Sent {}

impl Sent {
    fn work(self, world: &World) {
        // The schedule decides everything else.
        let _clock = time::enter_clock(Arc::new(ManualClock::new(Nanos(1))));
        let _seeded = random::enter(1);
        let (mut worker, lane) = self.0.settle();
        world.lanes.lock().push(lane);
        let _resident = world.rig.enter();
        let _seated = Seated::sit(worker.desk());
        drive(&mut worker, &world.rig.shared);
    }
}

/// Runs `outside` beside so many workers, then ends the pool, and counts.
fn pool(workers: usize, outside: impl Fn(&Arc<World>) + Clone + Send + Sync + 'static) {
    explore(move || {
        let (rig, berths) = parking(workers);
        let world = Arc::new(World {
            rig,
            lanes: Mutex::default(),
            board: Mutex::default(),
            aborts: Mutex::default(),
            spawned: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
        });
        let start = |berth| {
            let (sent, world) = (Sent(berth), Arc::clone(&world));
            thread::spawn(move || sent.work(&world))
        };
        let workers: Vec<_> = berths.into_iter().map(start).collect();
        let outsiders: Vec<_> = (0..2)
            .map(|_| {
                let (outside, world) = (outside.clone(), Arc::clone(&world));
                thread::spawn(move || outside(&world))
            })
            .collect();
        for outsider in outsiders {
            outsider.join().unwrap();
        }
        let shared = &world.rig.shared;
        shared.registry.close(Lane::Tasks);
        let tasks = shared.registry.tasks(Lane::Tasks);
        tasks.iter().for_each(TaskRef::abort);
        drop(tasks);
        block_on(poll_fn(|cx| shared.registry.poll_empty(Lane::Tasks, cx)));
        shared.stop();
        for worker in workers {
            worker.join().unwrap();
        }
        check(&world);
        world.lanes.lock().clear();
        let board = std::mem::take(&mut *world.board.lock());
        board.into_iter().for_each(Waker::wake);
    });
}

fn check(world: &World) {
    let shared = &world.rig.shared;
    assert_eq!(world.ended.load(Relaxed), world.spawned.load(Relaxed));
    assert_eq!(shared.injected(), 0, "pool.queued-once: injected");
    assert!(!shared.has_shared_work(), "pool.queued-once");
    assert_eq!(shared.idle.counts(), (0, 0), "idle.counted");
}

// WITNESS: pool.noticed, idle.no-lost-work
#[test]
fn tasks_spawned_from_outside_end_without_anybody_asking_twice() {
    pool(3, |world| {
        for _ in 0..below(4) {
            assert_eq!(block_on(world.steady(2)).ok(), Some(true));
        }
    });
}

// WITNESS: pool.queued-once, registry.told, lane.no-sleeper
#[test]
fn whatever_outsiders_do_every_task_ends_once() {
    pool(2, |world| {
        for _ in 0..below(8) {
            match below(5) {
                0 => drop(world.steady(1)),
                1 | 2 => world.leave_one(),
                3 => world.wake(),
                _ => world.abort(),
            }
        }
    });
}

/// A poll that does not return before it is told to.
#[derive(Default)]
struct Stuck {
    is_running: AtomicUsize,
    is_free: AtomicUsize,
    /// How many threads have left the pool.
    left: AtomicUsize,
}

fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

// WITNESS: pool-end.all, slot.owned, pool.queued-once
#[test]
fn pool_ends_without_its_stuck_worker_and_that_ends_afterwards() {
    explore(|| {
        let workers = 1 + below(2) as usize;
        let (rig, berths) = parking(workers);
        let world = Arc::new(World {
            rig,
            lanes: Mutex::default(),
            board: Mutex::default(),
            aborts: Mutex::default(),
            spawned: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
        });
        let stuck = Arc::new(Stuck::default());
        let start = |berth| {
            let (sent, world, stuck) = (Sent(berth), Arc::clone(&world), Arc::clone(&stuck));
            thread::spawn(move || {
                sent.work(&world);
                stuck.left.fetch_add(1, Relaxed);
            })
        };
        let threads: Vec<_> = berths.into_iter().map(start).collect();
        until(|| world.lanes.lock().len() == workers);
        for _ in 0..below(4) {
            world.leave_one();
        }
        let (inner, theirs) = (Arc::clone(&stuck), Arc::clone(&world));
        let blocks = async move {
            // Into the slot and the queue of the worker that will not come to them.
            theirs.wake();
            theirs.leave_one();
            inner.is_running.fetch_add(1, Relaxed);
            until(|| inner.is_free.load(Relaxed) == 1);
        };
        world.rig.spawn(blocks).detach();
        until(|| stuck.is_running.load(Relaxed) == 1);
        let shared = &world.rig.shared;
        shared.registry.close(Lane::Tasks);
        let tasks = shared.registry.tasks(Lane::Tasks);
        tasks.iter().for_each(TaskRef::abort);
        drop(tasks);
        let spare = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let shared = &world.rig.shared;
                while !shared.is_stopping() {
                    match sweep::next(shared) {
                        Some(runnable) => drop(runnable.run()),
                        None => thread::yield_now(),
                    }
                }
            })
        };
        // Everything but the stuck one, and what is at home with it, which nobody else may drop.
        until(|| world.shared.load(Relaxed) == 0);
        shared.stop();
        spare.join().unwrap();
        until(|| stuck.left.load(Relaxed) == workers - 1);
        stuck.is_free.fetch_add(1, Relaxed);
        for thread in threads {
            thread.join().unwrap();
        }
        check(&world);
        assert_eq!(shared.registry.len(Lane::Tasks), 0, "pool-end.all");
        world.lanes.lock().clear();
        let board = std::mem::take(&mut *world.board.lock());
        board.into_iter().for_each(Waker::wake);
    });
}
