//! Several workers on one thread, stepped in an order that a seed draws, beside an oracle.
//!
//! A worker that sleeps is stepped again only when it was unparked or its driver has an event, as
//! on a thread of its own: a wake-up that is lost leaves something in a queue when nobody moves any
//! more. What concerns a lane and comes from elsewhere comes from another thread, for this one is
//! the home of all lanes.

use super::script::{Stepped, workers};
use crate::pool::tests::rig::{Rig, spawn_on};
use crate::pool::worker::Doze;
use crate::queue::local::Local;
use crate::worker::Step;
use mainspring_core::driver::Until;
use mainspring_core::poll;
use mainspring_core::random::{self, Random};
use mainspring_core::spawn::Lane;
use mainspring_core::task::{JoinHandle, TaskRef};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// How a task ended, as its future saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    Panicked,
    Dropped,
}

/// What the tasks of one run share.
struct World {
    rig: Rig,
    /// Wakers of tasks that wait, old ones among them.
    board: Mutex<Vec<Waker>>,
    /// Those of local tasks.
    local_board: Mutex<Vec<Waker>>,
    /// A task each: every end that it came to.
    ends: Mutex<Vec<Vec<End>>>,
}

impl World {
    fn enrol(&self) -> usize {
        let mut ends = self.ends.lock().unwrap();
        ends.push(Vec::new());
        ends.len() - 1
    }

    fn spawn(self: &Arc<Self>, random: &mut Random) -> JoinHandle<()> {
        self.rig.spawn(self.actor(random, false))
    }

    fn actor(self: &Arc<Self>, random: &mut Random, is_local: bool) -> Actor {
        Actor {
            number: self.enrol(),
            moves: random.below(12),
            random: random.fork(),
            world: Arc::clone(self),
            is_local,
            end: End::Dropped,
        }
    }

    /// Takes a waker off the board.
    fn waker(&self, random: &mut Random) -> Option<Waker> {
        draw(&mut self.board.lock().unwrap(), random)
    }
}

fn draw<T>(from: &mut Vec<T>, random: &mut Random) -> Option<T> {
    let at = random.below(from.len() as u32) as usize;
    (!from.is_empty()).then(|| from.swap_remove(at))
}

/// A task that does as its dice say.
struct Actor {
    number: usize,
    moves: u32,
    random: Random,
    world: Arc<World>,
    is_local: bool,
    end: End,
}

impl Future for Actor {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        while this.moves > 0 {
            this.moves -= 1;
            match this.random.below(20) {
                0..4 => {
                    poll::note_yield();
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                4..6 => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                6..12 => {
                    let world = &this.world;
                    let board = match this.is_local {
                        true => &world.local_board,
                        false => &world.board,
                    };
                    board.lock().unwrap().push(cx.waker().clone());
                    return Poll::Pending;
                }
                12..16 => {
                    if let Some(waker) = this.world.waker(&mut this.random) {
                        waker.wake();
                    }
                }
                16..18 if this.moves > 1 => {
                    this.moves /= 2;
                    this.world.spawn(&mut this.random).detach();
                }
                18 if this.random.below(8) == 0 => {
                    this.end = End::Panicked;
                    // Without the hook, which would print a page.
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                _ => {}
            }
        }
        this.end = End::Finished;
        Poll::Ready(())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.world.ends.lock().unwrap()[self.number].push(self.end);
        match self.random.below(12) {
            0 => {
                if let Some(waker) = self.world.waker(&mut self.random) {
                    waker.wake();
                }
            }
            // Refused when the lane is closed.
            1 if self.moves > 0 => self.world.spawn(&mut self.random).detach(),
            2 if !std::thread::panicking() => std::panic::resume_unwind(Box::new("on purpose")),
            _ => {}
        }
    }
}

/// Does something on another thread, and waits for it.
fn elsewhere(act: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(act).join()).expect("it does not panic");
}

struct Sim {
    world: Arc<World>,
    workers: Vec<Stepped>,
    is_asleep: Vec<bool>,
    handles: Vec<JoinHandle<()>>,
}

impl Sim {
    fn new(many: usize) -> Self {
        let (rig, workers) = workers(many);
        let world = World {
            rig,
            board: Mutex::default(),
            local_board: Mutex::default(),
            ends: Mutex::default(),
        };
        Self {
            world: Arc::new(world),
            is_asleep: vec![false; many],
            workers,
            handles: Vec::new(),
        }
    }

    /// One round of a worker's loop. False if it sleeps on.
    fn round(&mut self, index: usize) -> bool {
        let worker = &mut self.workers[index];
        let is_called = worker.script.unparks() > 0 || !worker.script.events.borrow().is_empty();
        if self.is_asleep[index] && !is_called {
            return false;
        }
        let was_asleep = std::mem::replace(&mut self.is_asleep[index], false);
        self.is_asleep[index] = worker.here(|worker| {
            if was_asleep {
                let _now = worker.park(Until::Forever);
                worker.wake_up();
            }
            let now = worker.park(Until::Now);
            worker.step(now) == Step::Idle && worker.doze() == Doze::Sleep
        });
        true
    }

    /// Until nobody moves any more.
    fn settle(&mut self, random: &mut Random) {
        let many = self.workers.len();
        for round in 0.. {
            let first = random.below(many as u32) as usize;
            let moved = (0..many).filter(|n| self.round((first + n) % many)).count();
            if moved == 0 {
                break;
            }
            assert!(round < 100_000, "somebody always has something to do");
        }
        let shared = &self.world.rig.shared;
        assert_eq!(shared.injected(), 0, "idle.no-lost-work: injected");
        assert!(!shared.has_shared_work(), "idle.no-lost-work: queued");
        for (worker, remote) in self.workers.iter().zip(&shared.remotes) {
            assert!(remote.slot.is_empty(), "idle.no-lost-work: in a slot");
            assert!(!worker.lane.has_work(), "lane.no-sleeper: in a lane");
        }
        assert_eq!(shared.idle.counts(), (many, 0), "idle.counted");
    }

    fn act(&mut self, random: &mut Random) {
        let index = random.below(self.workers.len() as u32) as usize;
        let world = Arc::clone(&self.world);
        let is_awake = !self.is_asleep[index];
        match random.below(22) {
            0..7 => {
                let _moved = self.round(index);
            }
            7..9 => self.handles.push(world.spawn(random)),
            9..11 if is_awake => {
                let spawned = self.workers[index].here(|_| world.spawn(random));
                self.handles.push(spawned);
            }
            11 if is_awake => {
                let actor = world.actor(random, true);
                // Not `Send`.
                let here = Rc::new(());
                let lane = self.workers[index].lane.clone();
                let local = async move {
                    actor.await;
                    drop(here);
                };
                self.handles.push(spawn_on(&lane, local));
            }
            12..14 => {
                if let Some(waker) = world.waker(random) {
                    waker.wake_by_ref();
                }
            }
            14..16 => {
                let waker = draw(&mut world.local_board.lock().unwrap(), random);
                elsewhere(|| waker.into_iter().for_each(Waker::wake));
            }
            16..18 => {
                let waker = world.waker(random);
                self.workers[index].script.events.borrow_mut().extend(waker);
            }
            18 => {
                let at = random.below(self.handles.len().max(1) as u32) as usize;
                if let Some(handle) = self.handles.get(at) {
                    elsewhere(|| handle.abort());
                }
            }
            // Whether or not it is stuck.
            19..21 => {
                let shared = &self.world.rig.shared;
                elsewhere(|| _ = shared.rescue(index, &Local::new()));
            }
            _ => drop(draw(&mut self.handles, random)),
        }
    }

    /// Ends every task, and counts.
    fn end(mut self, random: &mut Random) {
        self.settle(random);
        let registry = &self.world.rig.shared.registry;
        registry.close(Lane::Tasks);
        elsewhere(|| {
            registry.tasks(Lane::Tasks).iter().for_each(TaskRef::abort);
        });
        self.settle(random);
        let registry = &self.world.rig.shared.registry;
        assert_eq!(registry.len(Lane::Tasks), 0, "pool-end.all");
        for handle in &self.handles {
            assert!(handle.is_finished(), "a handle waits for ever");
        }
        let results = self.handles.drain(..).map(crate::block_on);
        let odd = results.filter(|result| {
            let is_told =
                |error: &mainspring_core::task::JoinError| error.is_cancelled() || error.is_panic();
            !result.as_ref().err().is_none_or(is_told)
        });
        assert_eq!(odd.count(), 0);
        self.world.board.lock().unwrap().clear();
        self.world.local_board.lock().unwrap().clear();
        let ends = self.world.ends.lock().unwrap();
        for (number, ends) in ends.iter().enumerate() {
            assert_eq!(ends.len(), 1, "task {number} ended as {ends:?}");
        }
    }
}

// WITNESS: pool.rescued, watchdog.harmless
// WITNESS: pool.queued-once, pool.noticed, idle.no-lost-work, lane.no-sleeper, pool-end.all
#[test]
fn any_order_of_steps_loses_no_task_and_ends_each_once() {
    for _ in 0..120 {
        mainspring_testkit::seeded(|random| {
            let _seeded = random::enter(random.next_u64());
            let mut sim = Sim::new(1 + random.below(4) as usize);
            for _ in 0..300 {
                sim.act(random);
            }
            sim.end(random);
        });
    }
}
