//! A whole pool under random schedules: workers, their lanes, the injector, the idle word and the
//! registry, with threads from outside that spawn, wake and abort until the pool ends.

use crate::pool::desk::Seated;
use crate::pool::lane::LaneRef;
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
            None => self.rig.spawn(waiting),
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
