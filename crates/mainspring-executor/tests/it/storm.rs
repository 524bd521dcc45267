//! Everything at once, on real threads: tasks that spawn, wake, abort, yield, panic and end, local
//! and pinned ones among them, while other threads wake, abort and spawn, and the pool ends in one
//! of several ways in the middle of it.
//!
//! What each thread does is drawn from a seed, which is printed when a storm fails: with
//! `MAINSPRING_SEED=N cargo test -p mainspring-executor --test it storm` the same is drawn. In
//! which order the threads come is the machine's to say. `MAINSPRING_STORM_S=600` goes on for so
//! long.

use mainspring_core::poll;
use mainspring_core::random::Random;
use mainspring_core::task::AbortHandle;
use mainspring_executor::{Pool, PoolHandle, spawn_local};
use std::env;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How long a storm of the ordinary kind goes on.
const USUAL: Duration = Duration::from_secs(2);

/// How many tasks one round has at most.
const TASKS_MAX: usize = 2_000;

fn duration() -> Duration {
    match env::var("MAINSPRING_STORM_S") {
        Ok(text) => Duration::from_secs(text.parse().expect("a number of seconds")),
        Err(_) => USUAL,
    }
}

/// What everybody in one round shares.
struct World {
    pool: PoolHandle,
    board: Mutex<Vec<Waker>>,
    aborts: Mutex<Vec<AbortHandle>>,
    spawned: AtomicUsize,
    finished: AtomicUsize,
    panicked: AtomicUsize,
    dropped: AtomicUsize,
    /// What a task has seen that must not be. (A panic of its own would be contained.)
    faults: Mutex<Vec<&'static str>>,
}

impl World {
    /// How many futures have been dropped.
    fn ended(&self) -> usize {
        let ways = [&self.finished, &self.panicked, &self.dropped];
        ways.map(|way| way.load(Relaxed)).iter().sum()
    }

    fn may_spawn(&self) -> bool {
        let spawned = self.spawned.fetch_add(1, Relaxed);
        if spawned >= TASKS_MAX {
            self.spawned.fetch_sub(1, Relaxed);
        }
        spawned < TASKS_MAX
    }

    fn actor(self: &Arc<Self>, random: &mut Random) -> Actor {
        Actor {
            moves: random.below(20),
            random: random.fork(),
            world: Arc::clone(self),
            is_polled: AtomicBool::new(false),
            home: None,
            is_bound: false,
            is_panicking: false,
        }
    }

    /// Spawns a task of any kind, from any thread.
    fn spawn(self: &Arc<Self>, random: &mut Random) {
        if !self.may_spawn() {
            return;
        }
        let handle = if random.below(4) == 0 {
            let worker = random.below(self.pool.workers() as u32) as usize;
            let actor = self.actor(random);
            self.pool.spawn_pinned(worker, move || actor.bound())
        } else {
            self.pool.spawn(self.actor(random))
        };
        match random.below(3) {
            0 => self.aborts.lock().unwrap().push(handle.abort_handle()),
            1 => drop(handle),
            _ => handle.detach(),
        }
    }

    fn wake(&self, random: &mut Random) {
        let waker = draw(&self.board, random);
        match random.below(2) {
            0 => waker.iter().for_each(Waker::wake_by_ref),
            _ => waker.into_iter().for_each(Waker::wake),
        }
    }

    fn fault(&self, what: &'static str) {
        self.faults.lock().unwrap().push(what);
    }

    fn abort(&self, random: &mut Random) {
        draw(&self.aborts, random)
            .iter()
            .for_each(AbortHandle::abort);
    }
}

fn draw<T>(from: &Mutex<Vec<T>>, random: &mut Random) -> Option<T> {
    let mut from = from.lock().unwrap();
    let at = random.below(from.len() as u32) as usize;
    (!from.is_empty()).then(|| from.swap_remove(at))
}

/// A task that does as its dice say, and notices who polls it.
struct Actor {
    moves: u32,
    random: Random,
    world: Arc<World>,
    is_polled: AtomicBool,
    /// Where it was polled first, if it has to stay there.
    home: Option<ThreadId>,
    is_bound: bool,
    is_panicking: bool,
}

impl Actor {
    /// The same as something that is not `Send`.
    async fn bound(mut self) {
        let here = Rc::new(());
        self.is_bound = true;
        self.await;
        drop(here);
    }

    fn check_home(&mut self) {
        if self.is_bound {
            let here = thread::current().id();
            if *self.home.get_or_insert(here) != here {
                self.world.fault("lane.home: reached from elsewhere");
            }
        }
    }

    /// Panics without the hook, which would print a page.
    fn panic(&mut self) -> ! {
        self.is_panicking = true;
        resume_unwind(Box::new("on purpose"))
    }

    /// One move. Ready if the poll goes on.
    fn act(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let world = Arc::clone(&self.world);
        match self.random.below(24) {
            0..4 => {
                poll::note_yield();
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            4 => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            5..10 => {
                world.board.lock().unwrap().push(cx.waker().clone());
                return Poll::Pending;
            }
            10..14 => world.wake(&mut self.random),
            14 => world.abort(&mut self.random),
            15..18 => world.spawn(&mut self.random),
            18 if world.may_spawn() => {
                let task = world.actor(&mut self.random).bound();
                spawn_local(task).detach();
            }
            19 if self.random.below(20) == 0 => self.panic(),
            20 => (0..self.random.below(2_000)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
        Poll::Ready(())
    }
}

impl Future for Actor {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.is_polled.swap(true, Relaxed) {
            this.world.fault("two threads poll one task");
        }
        this.check_home();
        while this.moves > 0 {
            this.moves -= 1;
            if this.act(cx).is_pending() {
                this.is_polled.store(false, Relaxed);
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        if self.home.is_some() {
            self.check_home();
        }
        let world = Arc::clone(&self.world);
        match self.random.below(16) {
            0 => world.wake(&mut self.random),
            1 => world.abort(&mut self.random),
            2 => world.spawn(&mut self.random),
            _ => {}
        }
        let way = match (self.is_panicking, self.moves) {
            (true, _) => &world.panicked,
            (false, 0) => &world.finished,
            _ => &world.dropped,
        };
        way.fetch_add(1, Relaxed);
        if self.random.below(30) == 0 && !thread::panicking() {
            resume_unwind(Box::new("in a destructor, on purpose"));
        }
    }
}

/// A thread that is none of the pool's and meddles until it is told to stop.
fn meddler(
    world: &Arc<World>,
    mut random: Random,
    stop: &Arc<AtomicU32>,
) -> thread::JoinHandle<()> {
    let (world, stop) = (Arc::clone(world), Arc::clone(stop));
    thread::spawn(move || {
        while stop.load(Relaxed) == 0 {
            match random.below(6) {
                0..3 => world.wake(&mut random),
                3 => world.abort(&mut random),
                4 => world.spawn(&mut random),
                _ => thread::yield_now(),
            }
        }
    })
}

/// How the pool ends.
fn end(pool: Pool, random: &mut Random) {
    let handle = pool.handle();
    match random.below(4) {
        0 => {
            let limit = Duration::from_millis(u64::from(random.below(20)));
            let report = pool.shutdown(limit);
            assert!(report.unfinished_cleanups.is_empty(), "{report}");
        }
        1 => {
            let pool = Arc::new(pool);
            let other = Arc::clone(&pool);
            let thread = thread::spawn(move || other.shutdown(Duration::from_millis(5)));
            let _report = pool.shutdown(Duration::ZERO);
            assert!(thread.join().is_ok(), "of two shutdowns one panicked");
        }
        2 => {
            // By a task of its own, on a worker.
            let task = handle.spawn(async move { drop(pool) });
            let _ended = mainspring_executor::block_on(task);
        }
        _ => drop(pool),
    }
}

/// One round. Everything that was spawned has ended, once, or this does not return.
fn round(random: &mut Random) {
    let workers = 1 + random.below(4) as usize;
    let pool = Pool::builder().workers(workers).build().expect("threads");
    let world = Arc::new(World {
        pool: pool.handle(),
        board: Mutex::default(),
        aborts: Mutex::default(),
        spawned: AtomicUsize::new(0),
        finished: AtomicUsize::new(0),
        panicked: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
        faults: Mutex::default(),
    });
    let stop = Arc::new(AtomicU32::new(0));
    let meddlers = [0, 1].map(|_| meddler(&world, random.fork(), &stop));
    for _ in 0..random.below(200) {
        world.spawn(random);
    }
    for _ in 0..random.below(400) {
        world.wake(random);
    }
    end(pool, random);
    stop.store(1, Relaxed);
    for meddler in meddlers {
        assert!(meddler.join().is_ok(), "a meddler panicked");
    }
    // A pool that its own worker has dropped ends when its last task has; the last ones that the
    // meddlers spawned were refused and have ended with that.
    while world.ended() < world.spawned.load(Relaxed) {
        thread::yield_now();
    }
    check(&world);
}

fn check(world: &World) {
    let faults = world.faults.lock().unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let spawned = world.spawned.load(Relaxed);
    assert_eq!(world.ended(), spawned, "a future was dropped twice");
    let handle = &world.pool;
    // A future is gone a moment before its task is off the list.
    while !handle.tasks().is_empty() {
        thread::yield_now();
    }
    let metrics = handle.metrics();
    assert_eq!((metrics.tasks, metrics.injected), (0, 0));
    for (number, worker) in metrics.workers.iter().enumerate() {
        assert_eq!(worker.queued, 0, "pool.queued-once: with worker {number}");
    }
    let board = std::mem::take(&mut *world.board.lock().unwrap());
    // Wakers outlive the pool, and do nothing.
    board.into_iter().for_each(Waker::wake);
}

// WITNESS: pool.queued-once, pool-end.all, registry.listed, registry.closed, lane.home
#[test]
fn storm_ends_every_task_once() {
    let (began, limit) = (Instant::now(), duration());
    while began.elapsed() < limit {
        mainspring_testkit::seeded(round);
    }
}

// WITNESS: pool.noticed, idle.no-lost-work
#[test]
fn calm_after_each_gust_leaves_nobody_behind() {
    let (began, limit) = (Instant::now(), duration());
    let pool = Pool::builder().workers(3).build().expect("threads");
    while began.elapsed() < limit {
        mainspring_testkit::seeded(|random| gust(&pool, random));
    }
}

/// Few tasks, so that the workers fall asleep again and again, with nobody who would wake them a
/// second time.
fn gust(pool: &Pool, random: &mut Random) {
    let done = Arc::new(AtomicUsize::new(0));
    let many = 1 + random.below(6) as usize;
    let tasks: Vec<_> = (0..many)
        .map(|_| {
            let (done, mut random) = (Arc::clone(&done), random.fork());
            pool.spawn(async move {
                for _ in 0..random.below(3) {
                    let inner = Arc::clone(&done);
                    let task = mainspring_executor::spawn(async move {
                        mainspring_core::task::yield_now().await;
                        inner.fetch_add(1, Relaxed);
                    });
                    assert!(task.await.is_ok());
                }
            })
        })
        .collect();
    for task in tasks {
        assert!(mainspring_executor::block_on(task).is_ok());
    }
}
