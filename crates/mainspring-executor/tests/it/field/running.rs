//! While the pool runs.

use super::pool;
use mainspring_core::completion;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver, Turn, Until};
use mainspring_core::task::yield_now;
use mainspring_executor::{LocalExecutor, Pool, block_on, spawn, spawn_local};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

// B026.
#[test]
fn others_go_on_while_one_worker_is_stuck() {
    let pool = pool(4);
    let (release, held) = mpsc::channel::<()>();
    let (stuck, is_stuck) = mpsc::channel();
    let (done, all_done) = mpsc::channel();
    let inner = done.clone();
    let task = pool.spawn(async move {
        // These stand in the queue of the worker that is about to be stuck.
        for n in 0..10 {
            let done = inner.clone();
            spawn(async move {
                yield_now().await;
                let _ = done.send(n);
            })
            .detach();
        }
        let _ = stuck.send(());
        held.recv()
    });
    is_stuck.recv().expect("it runs");
    for n in 10..20 {
        let done = done.clone();
        pool.spawn(async move { done.send(n).is_ok() }).detach();
    }
    drop(done);
    let mut seen: Vec<i32> = (0..20).map(|_| all_done.recv().expect("it runs")).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
    release.send(()).expect("it waits for this");
    assert!(block_on(task).is_ok());
}

// B029: what was woken last stands in a slot that no thief looks at.
#[test]
fn task_that_a_stuck_worker_has_woken_is_run_by_another() {
    for workers in [1, 2, 4] {
        let pool = Pool::builder().workers(workers).on_stall(|_| {}).build();
        let pool = pool.expect("threads");
        for _ in 0..5 {
            let (completer, event) = completion::<u32>();
            let (tell, told) = mpsc::channel();
            let (park, parked) = mpsc::channel();
            let woken = pool.spawn(async move {
                let _ = park.send(());
                let _ = tell.send(event.await);
            });
            parked.recv().expect("it runs");
            let wakes = pool.spawn(async move {
                assert!(completer.complete(7).is_ok());
                told.recv()
            });
            assert_eq!(block_on(wakes).ok(), Some(Ok(Ok(7))));
            assert!(block_on(woken).is_ok());
        }
    }
}

struct Flag(AtomicUsize);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

// B031.
#[test]
fn yield_by_hand_wakes_at_once() {
    let pool = pool(1);
    let task = pool.spawn(async {
        let flag = Arc::new(Flag(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut yielding = pin!(yield_now());
        let polled = yielding.as_mut().poll(&mut Context::from_waker(&waker));
        // Before this poll is over: what blocks now would wait for it.
        (polled.is_pending(), flag.0.load(Relaxed))
    });
    assert_eq!(block_on(task).ok(), Some((true, 1)));
}

/// Counts how often it is parked.
struct Counting(ThreadDriver, Arc<AtomicUsize>);

impl Driver for Counting {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        self.1.fetch_add(1, Relaxed);
        self.0.park(until)
    }
    fn peek(&self) -> bool {
        self.0.peek()
    }
    fn handle(&self) -> Arc<dyn DriverHandle> {
        self.0.handle()
    }
}

fn counting(workers: usize) -> (Pool, Arc<AtomicUsize>) {
    let parks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&parks);
    let pool = Pool::builder()
        .workers(workers)
        .driver(move |_| Ok(Box::new(Counting(ThreadDriver::new(), Arc::clone(&counted))) as _))
        .build();
    (pool.expect("threads"), parks)
}

// B032.
#[test]
fn short_block_ons_look_at_the_driver_each_time() {
    let (pool, parks) = counting(1);
    pool.block_on(async {});
    let before = parks.load(Relaxed);
    for _ in 0..100 {
        pool.block_on(async {});
    }
    assert!(parks.load(Relaxed) - before >= 100);
    // Nor does a root that wakes itself keep the driver from being looked at.
    let before = parks.load(Relaxed);
    pool.block_on(async {
        for _ in 0..100 {
            yield_now().await;
        }
    });
    assert!(parks.load(Relaxed) - before >= 100);
}

// B049.
#[test]
fn idle_pool_parks_and_stays_there() {
    let (pool, parks) = counting(3);
    block_on(pool.spawn(yield_now())).expect("no panic");
    // The last to run something says that it sleeps before it is parked.
    while pool.metrics().asleep < 3 {
        thread::yield_now();
    }
    let before = parks.load(Relaxed);
    // SLEEP: orders nothing; it is the time in which nothing has to happen.
    thread::sleep(Duration::from_millis(100));
    let during = parks.load(Relaxed) - before;
    assert!(during <= 3, "an idle pool was parked {during} times");
    assert_eq!(pool.metrics().asleep, 3);
}

// B050.
#[test]
fn two_pools_and_a_local_executor_interleave() {
    let (first, second) = (pool(2), pool(1));
    let (one, two) = (first.handle(), second.handle());
    let local = LocalExecutor::new();
    let sum = local.block_on(async {
        let here = spawn_local(async { 1 });
        let there = one.spawn({
            let one = one.clone();
            async move {
                let far = two.spawn(async move {
                    // Back on the first, by way of the second's worker.
                    let near = one.spawn(async { (spawn_local(async { 10 }).await).unwrap_or(0) });
                    near.await.unwrap_or(0) + 100
                });
                far.await.unwrap_or(0) + 1_000
            }
        });
        here.await.unwrap_or(0) + there.await.unwrap_or(0)
    });
    assert_eq!(sum, 1_111);
    // Blocked on inside of each other, one after the other.
    let nested = first.block_on(async { second.spawn(async { 7 }).await });
    assert_eq!(nested.ok(), Some(7));
    drop(first);
    assert_eq!(second.block_on(second.spawn(async { 8 })).ok(), Some(8));
}
