//! What a stuck worker keeps, what it does not, and who hears of it.

use super::{At, Cell};
use mainspring_core::blocking::{self, Blocking};
use mainspring_core::driver::{Driver, ThreadDriver};
use mainspring_core::task::yield_now;
use mainspring_core::{shutdown, spawn};
use mainspring_executor::{Pool, PoolHandle, ShutdownReport, block_on};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

const AMPLE: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(50);

/// For so long nothing has to happen before somebody is given up.
const PATIENCE: Duration = Duration::from_millis(400);

/// Without a watchdog, which would see to what stands behind a stuck task before the end does.
fn pool(workers: usize) -> Pool {
    let builder = Pool::builder().workers(workers).patience(PATIENCE);
    builder.stall_threshold(None).build().expect("threads")
}

/// The one worker wakes a task into its slot, spawns one into its queue, and is stuck then.
// WITNESS: pool-end.all, slot.owned
#[test]
fn tasks_in_line_behind_a_stuck_one_are_dropped() {
    let cell = Cell::default();
    let pool = pool(1);
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let (token, slot) = (cell.token(), Arc::clone(&waker));
    let woken = poll_fn(move |cx| {
        let _kept = &token;
        *slot.lock().unwrap() = Some(cx.waker().clone());
        Poll::<()>::Pending
    });
    pool.spawn(woken).detach();
    let (token, stuck) = (cell.token(), cell.task(At::Stuck));
    let blocks = async move {
        let waker = loop {
            let taken = waker.lock().unwrap().take();
            match taken {
                Some(waker) => break waker,
                None => yield_now().await,
            }
        };
        mainspring_executor::spawn(async move {
            let _kept = token;
            pending::<()>().await;
        })
        .detach();
        waker.wake();
        stuck.await;
    };
    pool.spawn(blocks).detach();
    cell.wait_for_stuck(1);
    let report = pool.shutdown(SHORT);
    assert_eq!(
        (report.dropped.len(), report.stuck.len()),
        (2, 1),
        "{report}"
    );
    assert!(report.stranded.is_empty(), "{report}");
    assert_eq!(cell.left(), 1, "{report}");
    let said = report.to_string();
    assert!(
        said.contains("being polled, which does not return"),
        "{said}"
    );
    assert!(said.contains("the thread pool-0 and its driver"), "{said}");
    drop(pool);
    cell.release();
}

/// Defers a cleanup when it is dropped.
struct Defers(mpsc::Sender<&'static str>);

impl Drop for Defers {
    fn drop(&mut self) {
        let say = self.0.clone();
        let cleanup = async move {
            yield_now().await;
            let _ = say.send("cleaned");
        };
        let spawner = spawn::current().expect("the pool's, wherever it is dropped");
        spawner.spawn_cleanup(cleanup, AMPLE).detach();
    }
}

#[test]
fn cleanup_of_a_task_behind_a_stuck_one_runs() {
    let cell = Cell::default();
    let pool = Pool::builder()
        .workers(1)
        .grace(Duration::ZERO)
        .build()
        .expect("threads");
    let (say, said) = mpsc::channel();
    let defers = Defers(say);
    let task = pool.spawn(async move {
        let _kept = defers;
        pending::<()>().await;
    });
    while pool.tasks().iter().any(|info| info.polls == 0) {
        thread::yield_now();
    }
    pool.spawn(cell.task(At::Stuck)).detach();
    cell.wait_for_stuck(1);
    let report = pool.shutdown(Duration::from_secs(2));
    assert!(report.unfinished_cleanups.is_empty(), "{report}");
    assert_eq!(said.try_recv(), Ok("cleaned"), "{report}");
    assert!(block_on(task).is_err_and(|error| error.is_cancelled()));
    cell.release();
}

/// Blocks the thread that drops it.
struct Blocks(Cell);

impl Drop for Blocks {
    fn drop(&mut self) {
        self.0.stuck.fetch_add(1, SeqCst);
        self.0.gate.pass();
    }
}

#[test]
fn destructor_that_does_not_return_is_stuck_and_named() {
    let cell = Cell::default();
    let pool = pool(2);
    let (blocks, token) = (Blocks(cell.clone()), cell.token());
    let line = line!() + 1;
    let task = pool.spawn(async move {
        let _kept = (token, blocks);
        pending::<()>().await;
    });
    while pool.tasks().iter().any(|info| info.polls == 0) {
        thread::yield_now();
    }
    let report = pool.shutdown(SHORT);
    assert_eq!(
        (report.dropped.len(), report.stuck.len()),
        (0, 1),
        "{report}"
    );
    assert_eq!(report.stuck[0].spawned_at.line(), line);
    assert_eq!(report.left_threads.len(), 1, "{report}");
    // The second end has nothing to say about it, and does not wait for it.
    drop(pool);
    cell.release();
    assert!(block_on(task).is_err());
}

#[test]
fn shutdown_that_comes_later_finds_what_has_come_back() {
    let cell = Cell::default();
    let pool = pool(2);
    pool.spawn(cell.task(At::Stuck)).detach();
    cell.wait_for_stuck(1);
    let report = pool.shutdown(Duration::ZERO);
    assert_eq!(
        (report.stuck.len(), report.left_threads.len()),
        (1, 1),
        "{report}"
    );
    let report = pool.shutdown(Duration::ZERO);
    assert_eq!(
        (report.stuck.len(), report.left_threads.len()),
        (1, 1),
        "{report}"
    );
    cell.release();
    // It is off the list before its token is gone; its thread ends a little later.
    while !pool.shutdown(Duration::ZERO).is_clean() {
        thread::yield_now();
    }
    assert_eq!(pool.metrics().tasks, 0);
}

// WITNESS: limits.hastened, limits.earliest
#[test]
fn second_shutdown_with_less_patience_hastens_the_first() {
    let pool = Arc::new(pool(2));
    pool.spawn(pending::<()>()).detach();
    let signal = pool.block_on(async { shutdown::signal() });
    let patient = thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.shutdown(AMPLE)
    });
    while !signal.is_requested() {
        thread::yield_now();
    }
    let second = pool.shutdown(Duration::ZERO);
    let first = patient.join().expect("no panic");
    // Whoever had the lock has dropped it.
    assert_eq!(first.dropped.len() + second.dropped.len(), 1);
    assert!(first.took < AMPLE / 2);
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Ends its pool when it is dropped.
struct Late(Arc<Pool>, mpsc::Sender<ShutdownReport>);

impl Drop for Late {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.shutdown(SHORT));
    }
}

/// The thread is being waited for by the first end, and ends the pool once more.
// WITNESS: crew.joined
#[test]
fn thread_local_of_a_worker_may_end_the_pool_while_the_pool_ends() {
    let (say, said) = mpsc::channel();
    let pool = Arc::new(pool(2));
    for worker in [0, 1] {
        let late = Late(Arc::clone(&pool), say.clone());
        let keep = pool.spawn_pinned(worker, move || async move { LATE.set(Some(late)) });
        block_on(keep).expect("no panic");
    }
    drop(say);
    let report = pool.shutdown(AMPLE);
    assert!(report.is_clean(), "{report}");
    drop(pool);
    assert_eq!(said.iter().filter(ShutdownReport::is_clean).count(), 2);
}

#[test]
fn shutdown_inside_a_task_is_refused_and_ends_nothing() {
    let pool = Arc::new(pool(2));
    let inner = Arc::clone(&pool);
    let task = pool.spawn(async move { inner.shutdown(AMPLE).is_clean() });
    let error = block_on(task).expect_err("it would wait for itself");
    let payload = error.into_panic();
    let said = payload.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| payload.downcast_ref::<&str>().copied());
    assert!(
        said.is_some_and(|said| said.starts_with("MS0002")),
        "{said:?}"
    );
    assert_eq!(block_on(pool.spawn(async { 7 })).ok(), Some(7));
}

// WITNESS: crew.joined, crew.goodbye
#[test]
fn hook_that_does_not_return_keeps_nobody_for_longer_than_the_patience() {
    let cell = Cell::default();
    let gate = Arc::clone(&cell.gate);
    let pool = Pool::builder()
        .workers(2)
        .patience(SHORT)
        .on_thread_stop(move |worker| {
            if worker == 1 {
                gate.pass();
            }
        })
        .build()
        .expect("threads");
    let report = pool.shutdown(Duration::ZERO);
    assert!(
        report.stuck.is_empty() && report.stranded.is_empty(),
        "{report}"
    );
    let left: Vec<_> = report.left_threads.iter().map(|left| left.worker).collect();
    assert_eq!(left, [Some(1)], "{report}");
    drop(pool);
    cell.release();
}

#[test]
fn driver_that_does_not_go_is_left_behind_with_its_thread() {
    struct Clings(ThreadDriver, Cell);
    impl Driver for Clings {
        fn park(
            &mut self,
            until: mainspring_core::driver::Until,
        ) -> std::io::Result<mainspring_core::driver::Turn> {
            self.0.park(until)
        }
        fn peek(&self) -> bool {
            self.0.peek()
        }
        fn handle(&self) -> Arc<dyn mainspring_core::driver::DriverHandle> {
            self.0.handle()
        }
    }
    impl Drop for Clings {
        fn drop(&mut self) {
            self.1.gate.pass();
        }
    }
    let cell = Cell::default();
    let theirs = cell.clone();
    let (left, leaves) = mpsc::channel();
    let pool = Pool::builder()
        .workers(1)
        .patience(SHORT)
        .on_left_behind(move |report| drop(left.send(report.clone())))
        .driver(move |_| Ok(Box::new(Clings(ThreadDriver::new(), theirs.clone()))))
        .build()
        .expect("threads");
    drop(pool);
    let report = leaves.recv().expect("it is told");
    assert_eq!(report.left_threads.len(), 1, "{report}");
    cell.release();
}

/// A name look-up that hangs, say. The shutdown has an hour and does not take it.
#[test]
fn job_that_may_be_abandoned_holds_nobody_up_and_is_named() {
    let cell = Cell::default();
    let pool = pool(2);
    let (token, gate) = (cell.token(), Arc::clone(&cell.gate));
    let (begun, begins) = mpsc::channel();
    let line = line!() + 2;
    let look_up = async move {
        let job = blocking::run(Blocking::Abandonable, move || {
            let _kept = token;
            let _ = begun.send(());
            gate.pass();
        });
        job.detach();
    };
    block_on(pool.spawn(look_up)).expect("no panic");
    begins.recv().expect("it runs");
    let report = pool.shutdown(AMPLE);
    assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
    assert_eq!(report.abandoned_jobs[0].submitted_at.line(), line);
    assert!(report.took < AMPLE / 2);
    assert!(!report.is_leaking() && !report.is_clean(), "{report}");
    cell.release();
}

#[test]
fn jobs_that_have_not_begun_are_refused_and_named() {
    let cell = Cell::default();
    let pool = pool(1);
    blocking::set_thread_limit(Blocking::Compute, 1);
    let group = pool.handle().blocking();
    let (begun, begins) = mpsc::channel();
    let gate = Arc::clone(&cell.gate);
    let first = group.run(Blocking::Compute, move || {
        let _ = begun.send(());
        gate.pass();
    });
    begins.recv().expect("it runs");
    let token = cell.token();
    let line = line!() + 1;
    let second = group.run(Blocking::Compute, move || drop(token));
    let report = pool.shutdown(Duration::ZERO);
    let refused: Vec<_> = (report.refused_jobs.iter())
        .map(|job| job.submitted_at.line())
        .collect();
    assert_eq!(refused, [line], "{report}");
    assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
    assert_eq!(cell.left(), 0, "refused, and not forgotten");
    assert!(block_on(second).is_err());
    cell.gate.open();
    assert!(block_on(first).is_ok());
}

#[test]
fn cleanup_that_overruns_its_own_limit_is_in_the_report() {
    let pool = pool(1);
    let spawner = pool.handle().spawner();
    let task = pool.spawn(async move {
        shutdown::signal().requested().await;
        let line = line!() + 1;
        let cleanup = spawner.spawn_cleanup(pending::<()>(), Duration::from_millis(1));
        cleanup.detach();
        line
    });
    let report = pool.shutdown(AMPLE);
    let line = block_on(task).expect("no panic");
    assert_eq!(report.overran_cleanups.len(), 1, "{report}");
    assert_eq!(report.overran_cleanups[0].spawned_at.line(), line);
    assert!(report.unfinished_cleanups.is_empty() && report.took < AMPLE / 2);
    assert!(
        report.to_string().contains("after its limit of 1ms"),
        "{report}"
    );
}

#[test]
fn grace_is_the_builders_and_the_rest_is_for_cleanups() {
    let (say, said) = mpsc::channel();
    let pool = Pool::builder()
        .workers(1)
        .grace(Duration::ZERO)
        .build()
        .expect("threads");
    let defers = Defers(say);
    pool.spawn(async move {
        let _kept = defers;
        pending::<()>().await;
    })
    .detach();
    while pool.tasks().iter().any(|info| info.polls == 0) {
        thread::yield_now();
    }
    // With half of it for the task this would take an hour.
    let report = pool.shutdown(2 * AMPLE);
    assert_eq!(
        (report.dropped.len(), said.recv()),
        (1, Ok("cleaned")),
        "{report}"
    );
}

/// Spawns and wakes from four threads while the pool shuts down, twice.
#[test]
fn spawns_and_wakes_that_race_two_shutdowns_are_run_or_dropped() {
    for _ in 0..20 {
        let cell = Cell::default();
        let pool = Arc::new(pool(2));
        let told = Arc::new(AtomicUsize::new(0));
        let race = |handle: PoolHandle| {
            let (cell, told) = (cell.clone(), Arc::clone(&told));
            move || {
                for n in 0..50 {
                    let (token, told) = (cell.token(), Arc::clone(&told));
                    let task = handle.spawn(async move {
                        let _kept = token;
                        if n % 2 == 0 {
                            shutdown::signal().requested().await;
                        }
                        yield_now().await;
                        told.fetch_add(1, SeqCst);
                    });
                    if n % 3 == 0 {
                        task.abort();
                    }
                }
            }
        };
        let racers = [0; 4].map(|_| thread::spawn(race(pool.handle())));
        let enders = [0, 20].map(|limit_ms| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.shutdown(Duration::from_millis(limit_ms)))
        });
        for ender in enders {
            assert!(!ender.join().expect("no panic").is_leaking());
        }
        for racer in racers {
            assert!(racer.join().is_ok());
        }
        assert_eq!((cell.left(), pool.len()), (0, 0));
        assert!(told.load(SeqCst) <= 200);
    }
}
