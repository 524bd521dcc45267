//! The pool, with one, two and eight workers.

use super::{At, Cell, ENDS, End, check, is_there};
use mainspring_executor::{LocalExecutor, Pool, ShutdownReport};
use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A pool that tells what it leaves behind when it is dropped.
fn pool(workers: usize, patience: Duration, left: mpsc::Sender<ShutdownReport>) -> Pool {
    Pool::builder()
        .workers(workers)
        .patience(patience)
        .on_left_behind(move |report| drop(left.send(report.clone())))
        .build()
        .expect("threads")
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Ends its pool when it is dropped, and tells how that went.
struct Late(Pool, mpsc::Sender<ShutdownReport>);

impl Drop for Late {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.shutdown(Duration::from_millis(50)));
    }
}

/// Ends the pool. The report, where there is one.
fn end(pool: Pool, how: End, at: At) -> Option<ShutdownReport> {
    match how {
        End::Drop => {
            drop(pool);
            None
        }
        End::Zero => Some(pool.shutdown(Duration::ZERO)),
        End::Fifty => Some(pool.shutdown(Duration::from_millis(50))),
        End::OtherThread => {
            let other = thread::spawn(move || pool.shutdown(Duration::ZERO));
            Some(other.join().expect("no panic"))
        }
        // A stuck worker may be the only one.
        End::InsideTask if at == At::Stuck => {
            let outer = LocalExecutor::new();
            let task = outer.spawn_local(async move { drop(pool) });
            outer.block_on(task).expect("no panic");
            None
        }
        End::InsideTask => {
            let handle = pool.handle();
            let task = handle.spawn(async move { drop(pool) });
            mainspring_executor::block_on(task).expect("no panic");
            None
        }
        End::ThreadLocal => {
            let (say, said) = mpsc::channel();
            let thread = thread::spawn(move || LATE.set(Some(Late(pool, say))));
            assert!(thread.join().is_ok());
            Some(said.recv().expect("it returns"))
        }
    }
}

/// All of a pool's tasks at the same place.
fn at(workers: usize, at: At) {
    for how in ENDS {
        let cell = Cell::default();
        let (left, leaves) = mpsc::channel();
        let pool = pool(workers, Duration::from_secs(3_600), left);
        let many = 2 + workers;
        for _ in 0..2 {
            pool.spawn(cell.task(at)).detach();
        }
        for worker in 0..workers {
            let task = cell.task(at);
            pool.spawn_pinned(worker, move || task).detach();
        }
        while !pool.tasks().iter().all(|info| is_there(at, info)) {
            thread::yield_now();
        }
        let jobs = if at == At::Job { many } else { 0 };
        cell.wait_for_stuck(jobs);
        if let Some(report) = end(pool, how, at) {
            check(&report, at, many, how);
            assert_eq!(cell.left(), jobs, "{how:?}: {report}");
        } else if how == End::Drop {
            assert_eq!(cell.left(), jobs, "{how:?}");
        }
        // The pool, and with it who would tell of something left, has gone.
        assert!(leaves.recv().is_err(), "{at:?} {how:?}");
        assert_eq!(cell.left(), jobs, "{how:?}");
        cell.release();
    }
}

/// Some workers are stuck, and others of the pool's tasks wait for a timer: two that are shared and
/// one that is at home on each worker.
fn stuck(workers: usize) {
    let ends = ENDS.into_iter();
    for (how, stuck) in ends.flat_map(|how| [(how, 1), (how, workers)]) {
        let cell = Cell::default();
        let (left, leaves) = mpsc::channel();
        let pool = pool(workers, Duration::from_millis(400), left);
        for worker in 0..workers {
            let task = cell.task(At::Timer);
            pool.spawn_pinned(worker, move || task).detach();
            if worker < 2 {
                pool.spawn(cell.task(At::Timer)).detach();
            }
        }
        while !pool.tasks().iter().all(|info| is_there(At::Timer, info)) {
            thread::yield_now();
        }
        for worker in 0..stuck {
            let task = cell.task(At::Stuck);
            pool.spawn_pinned(worker, move || task).detach();
        }
        cell.wait_for_stuck(stuck);
        let report = end(pool, how, At::Stuck);
        let report = match report {
            Some(report) => report,
            None => leaves.recv().expect("something is left behind"),
        };
        assert_eq!(report.stuck.len(), stuck, "{how:?}: {report}");
        assert_eq!(report.stranded.len(), stuck, "{how:?}: {report}");
        assert_eq!(report.left_threads.len(), stuck, "{how:?}: {report}");
        assert_eq!(cell.left(), 2 * stuck, "{how:?}: {report}");
        let mut named = report.left_threads.iter().map(|thread| thread.worker);
        assert!(
            (0..stuck).all(|worker| named.next() == Some(Some(worker))),
            "{report}"
        );
        assert!(report.stranded.iter().all(|info| is_there(At::Timer, info)));
        assert_eq!(
            report.dropped.len(),
            workers.min(2) + workers - stuck,
            "{how:?}: {report}"
        );
        assert!(
            report.dropped.iter().all(|info| is_there(At::Timer, info)),
            "{report}"
        );
        // What was left behind ends when it can.
        cell.release();
    }
}

macro_rules! cells {
    ($($workers:literal $name:ident)*) => {$(
        mod $name {
            use super::{At, at};

            #[test]
            fn in_a_timer() {
                at($workers, At::Timer);
            }

            #[test]
            fn in_a_lock() {
                at($workers, At::Lock);
            }

            #[test]
            fn in_a_blocking_job() {
                at($workers, At::Job);
            }

            #[test]
            fn in_a_yield_loop() {
                at($workers, At::YieldLoop);
            }

            #[test]
            fn panicking() {
                at($workers, At::Panic);
            }
        }
    )*};
}

cells! {
    1 one_worker
    2 two_workers
    8 eight_workers
}

// Not in the macro above: a witness is found by its name.

#[test]
fn one_worker_stuck_in_a_poll() {
    stuck(1);
}

// WITNESS: pool-end.all, pool-end.returns, pool-end.not-itself, crew.goodbye
#[test]
fn two_workers_stuck_in_a_poll() {
    stuck(2);
}

#[test]
fn eight_workers_stuck_in_a_poll() {
    stuck(8);
}
