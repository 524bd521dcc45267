//! While the pool ends, and afterwards.

use super::pool;
use mainspring_core::blocking::{self, Blocking};
use mainspring_core::task::{JoinHandle, yield_now};
use mainspring_executor::{Pool, PoolHandle, block_on};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Counts its drops, and the threads where they happen.
#[derive(Clone)]
struct Counted(Arc<Mutex<Vec<ThreadId>>>);

impl Counted {
    fn new() -> (Self, Arc<Mutex<Vec<ThreadId>>>) {
        let drops = Arc::default();
        (Self(Arc::clone(&drops)), drops)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

// B035.
#[test]
fn drop_of_the_pool_ends_all_tasks_at_once() {
    let pool = pool(2);
    let (sender, receiver) = mpsc::channel::<()>();
    let (blocked, is_blocked) = mpsc::channel();
    let (owns, is_owned) = mpsc::channel();
    pool.spawn(async move {
        let _kept = sender;
        let _ = owns.send(());
        pending::<()>().await;
    })
    .detach();
    is_owned.recv().expect("it runs");
    pool.spawn(async move {
        let _ = blocked.send(());
        // Ends when the other task is dropped.
        receiver.recv()
    })
    .detach();
    is_blocked.recv().expect("it runs");
    drop(pool);
}

// B037. WITNESS: lane.home
#[test]
fn pinned_task_is_dropped_at_home_whoever_ends_it() {
    let pool = pool(2);
    let home = pool.spawn_pinned(1, || async { thread::current().id() });
    let home = block_on(home).expect("no panic");
    type End = fn(JoinHandle<()>, Pool) -> Option<Pool>;
    let enders: [End; 3] = [
        |task, pool| {
            task.abort();
            assert!(block_on(task).is_err());
            Some(pool)
        },
        |task, pool| {
            drop(task.abort_on_drop());
            Some(pool)
        },
        |task, pool| {
            drop(task);
            drop(pool);
            None
        },
    ];
    let mut kept = Some(pool);
    let mut count = 0;
    let (counted, drops) = Counted::new();
    for end in enders {
        let pool = kept.take().expect("only the last drops it");
        let counted = counted.clone();
        let (told, runs) = mpsc::channel();
        let task = pool.spawn_pinned(1, move || async move {
            let _kept = counted;
            let _ = told.send(());
            pending::<()>().await;
        });
        runs.recv().expect("it runs");
        kept = end(task, pool);
        count += 1;
        while drops.lock().unwrap().len() < count {
            thread::yield_now();
        }
        assert_eq!(drops.lock().unwrap().last(), Some(&home), "lane.home");
    }
    drop(counted);
}

// B038.
#[test]
fn abort_from_anywhere_is_an_abort() {
    thread_local! {
        static LATE: RefCell<Option<AbortOnExit>> = const { RefCell::new(None) };
    }
    struct AbortOnExit(mainspring_core::task::AbortHandle);
    impl Drop for AbortOnExit {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let (first, other) = (pool(2), pool(1));
    let sleeping = || first.spawn(pending::<()>());
    let tasks = [sleeping(), sleeping(), sleeping()];
    let aborts = tasks.each_ref().map(JoinHandle::abort_handle);
    let [plain, foreign, late] = aborts.clone();
    assert!(thread::spawn(move || plain.abort()).join().is_ok());
    other
        .block_on(other.spawn(async move { foreign.abort() }))
        .expect("no panic");
    let thread = thread::spawn(move || LATE.set(Some(AbortOnExit(late))));
    assert!(thread.join().is_ok());
    for task in tasks {
        assert!(block_on(task).is_err_and(|error| error.is_cancelled()));
    }
    drop(first);
    for abort in aborts {
        abort.abort();
        assert!(abort.is_finished());
    }
}

/// Spawns another when it is dropped.
struct Spawns(PoolHandle, Counted);

impl Drop for Spawns {
    fn drop(&mut self) {
        let counted = self.1.clone();
        self.0.spawn(async move { drop(counted) }).detach();
    }
}

// B040. WITNESS: registry.closed, pool-end.all
#[test]
fn spawns_racing_the_end_are_run_or_refused() {
    for _ in 0..50 {
        let pool = pool(2);
        let (counted, drops) = Counted::new();
        let start = Arc::new(Barrier::new(5));
        let threads = [0, 1, 2, 3].map(|_| {
            let (handle, counted) = (pool.handle(), counted.clone());
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                for n in 0..25 {
                    let spawns = Spawns(handle.clone(), counted.clone());
                    let task = async move {
                        let _kept = spawns;
                        if n % 2 == 0 {
                            pending::<()>().await;
                        }
                    };
                    handle.spawn(task).detach();
                }
            })
        });
        start.wait();
        drop(pool);
        for thread in threads {
            assert!(thread.join().is_ok());
        }
        drop(counted);
        // A hundred tasks, what each of them has spawned, each thread's own and ours.
        assert_eq!(drops.lock().unwrap().len(), 205);
    }
}

// B041.
#[test]
fn end_does_not_wait_for_a_running_job() {
    let ends: [fn(Pool); 3] = [
        |pool| {
            let report = pool.shutdown(Duration::ZERO);
            assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
        },
        |pool| {
            let report = pool.shutdown(Duration::from_millis(20));
            assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
        },
        drop,
    ];
    for end in ends {
        let pool = pool(1);
        let (release, held) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let mut work = Some(move || {
            let _ = begun.send(());
            let _ = held.recv();
        });
        let job = pool.block_on(poll_fn(|_| {
            let work = work.take().expect("polled once");
            Poll::Ready(blocking::run(Blocking::Syscall, work))
        }));
        has_begun.recv().expect("it runs");
        end(pool);
        // The job goes on all the same.
        release.send(()).expect("it waits for this");
        assert!(block_on(job).is_ok());
    }
}

// B043.
#[test]
fn tasks_that_own_their_wakers_leak_nothing() {
    let pool = pool(2);
    let (counted, drops) = Counted::new();
    let (polled, all_polled) = mpsc::channel();
    for _ in 0..1_000 {
        let (counted, polled) = (counted.clone(), polled.clone());
        let slot: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let task = poll_fn(move |cx| {
            let _kept = &counted;
            slot.lock().unwrap().push(cx.waker().clone());
            let _ = polled.send(());
            Poll::<()>::Pending
        });
        pool.spawn(task).detach();
    }
    assert_eq!(all_polled.iter().take(1_000).count(), 1_000);
    drop(pool);
    assert_eq!(drops.lock().unwrap().len(), 1_000);
    drop(counted);
}

// B044.
#[test]
fn pool_and_handles_in_thread_locals_end_with_their_thread() {
    type Kept<T> = RefCell<Option<T>>;
    thread_local! {
        static FIRST: Kept<(PoolHandle, JoinHandle<()>)> = const { RefCell::new(None) };
        static POOL: Kept<Pool> = const { RefCell::new(None) };
        static LAST: Kept<(PoolHandle, JoinHandle<()>)> = const { RefCell::new(None) };
    }
    for is_pool_first in [true, false] {
        let (counted, drops) = Counted::new();
        let inner = counted.clone();
        let thread = thread::spawn(move || {
            let pool = pool(1);
            let wait = |counted: Counted| async move {
                let _kept = counted;
                pending::<()>().await;
            };
            let first = (pool.handle(), pool.spawn(wait(inner.clone())));
            let last = (pool.handle(), pool.spawn(wait(inner)));
            // The thread has a seat, too. Destructors run in the order of the first uses.
            pool.block_on(yield_now());
            if is_pool_first {
                POOL.set(Some(pool));
                FIRST.set(Some(first));
                LAST.set(Some(last));
            } else {
                FIRST.set(Some(first));
                POOL.set(Some(pool));
                LAST.set(Some(last));
            }
        });
        assert!(thread.join().is_ok());
        assert_eq!(drops.lock().unwrap().len(), 2);
        drop(counted);
    }
}

// B047.
#[test]
fn wakers_held_elsewhere_outlive_the_pool() {
    for _ in 0..100 {
        let pool = pool(2);
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let (polled, all_polled) = mpsc::channel();
        for n in 0..6 {
            let (wakers, polled) = (Arc::clone(&wakers), polled.clone());
            let task = poll_fn(move |cx| {
                wakers.lock().unwrap().push(cx.waker().clone());
                let _ = polled.send(());
                Poll::<()>::Pending
            });
            match n % 2 {
                0 => pool.spawn(task).detach(),
                _ => pool.spawn_pinned(n / 2 % 2, || task).detach(),
            }
        }
        assert_eq!(all_polled.iter().take(6).count(), 6);
        let start = Arc::new(Barrier::new(2));
        let taken = std::mem::take(&mut *wakers.lock().unwrap());
        let other = thread::spawn({
            let start = Arc::clone(&start);
            move || {
                start.wait();
                for waker in taken {
                    waker.wake_by_ref();
                    waker.wake();
                }
            }
        });
        start.wait();
        drop(pool);
        assert!(other.join().is_ok());
    }
}

// B052. WITNESS: idle.counted, pool-worker.searching
#[test]
fn gauges_are_zero_after_the_end() {
    for round in 0..50 {
        let pool = pool(3);
        for _ in 0..round {
            pool.spawn(yield_now()).detach();
        }
        let handle = pool.handle();
        let _report = pool.shutdown(Duration::from_millis(1));
        let metrics = handle.metrics();
        let gauges = (
            metrics.tasks,
            metrics.injected,
            metrics.asleep,
            metrics.searching,
        );
        assert_eq!(gauges, (0, 0, 0, 0), "round {round}");
        assert!(metrics.workers.iter().all(|worker| worker.queued == 0));
        let spawned = handle.spawn(async {});
        assert!(spawned.is_finished(), "refused, and not forgotten");
        assert_eq!(handle.metrics().tasks, 0);
    }
}
