//! The executors of one thread, and those whose tasks borrow.

use super::{At, Boxed, Cell, ENDS, End, check, is_there};
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver, Turn, Until};
use mainspring_core::task::{TaskInfo, yield_now};
use mainspring_executor::{Executor, LocalExecutor, ShutdownReport};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What both kinds have.
trait Subject: Sized + 'static {
    fn make() -> Self;
    fn spawn(&self, task: Boxed);
    fn tasks(&self) -> Vec<TaskInfo>;
    fn settle(&self, is_settled: impl Fn(&Self) -> bool);
    fn shutdown(&self, limit: Duration) -> ShutdownReport;
}

impl Subject for LocalExecutor {
    fn make() -> Self {
        Self::new()
    }

    fn spawn(&self, task: Boxed) {
        self.spawn_local(task).detach();
    }

    fn tasks(&self) -> Vec<TaskInfo> {
        Self::tasks(self)
    }

    fn settle(&self, is_settled: impl Fn(&Self) -> bool) {
        while !is_settled(self) {
            let _ = self.tick();
        }
    }

    fn shutdown(&self, limit: Duration) -> ShutdownReport {
        Self::shutdown(self, limit)
    }
}

impl Subject for Executor<'static> {
    fn make() -> Self {
        Self::new()
    }

    fn spawn(&self, task: Boxed) {
        Executor::spawn(self, task).detach();
    }

    fn tasks(&self) -> Vec<TaskInfo> {
        Executor::tasks(self)
    }

    fn settle(&self, is_settled: impl Fn(&Self) -> bool) {
        self.run(async {
            while !is_settled(self) {
                yield_now().await;
            }
        });
    }

    fn shutdown(&self, limit: Duration) -> ShutdownReport {
        Executor::shutdown(self, limit)
    }
}

/// Ends its executor when it is dropped, and tells how that went.
struct Late<S: Subject>(S, mpsc::Sender<ShutdownReport>);

impl<S: Subject> Drop for Late<S> {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.shutdown(Duration::from_millis(50)));
    }
}

thread_local! {
    static LATE: RefCell<Option<Box<dyn std::any::Any>>> = const { RefCell::new(None) };
}

/// An executor with two tasks that are where they are to be.
fn populated<S: Subject>(cell: &Cell, at: At) -> S {
    let subject = S::make();
    for _ in 0..2 {
        subject.spawn(cell.task(at));
    }
    subject.settle(|subject| subject.tasks().iter().all(|info| is_there(at, info)));
    cell.wait_for_stuck(if at == At::Job { 2 } else { 0 });
    subject
}

fn end<S: Subject>(cell: &Cell, at: At, how: End) -> Option<ShutdownReport> {
    let there = || populated::<S>(cell, at);
    match how {
        End::Drop => {
            drop(there());
            None
        }
        End::Zero => Some(there().shutdown(Duration::ZERO)),
        End::Fifty => Some(there().shutdown(Duration::from_millis(50))),
        // Neither leaves its thread while it is in use: the other thread has it, and is told.
        End::OtherThread => {
            let (told, tells) = mpsc::channel::<()>();
            let cell = cell.clone();
            let other = thread::spawn(move || {
                let there = populated::<S>(&cell, at);
                let _ = tells.recv();
                there.shutdown(Duration::ZERO)
            });
            told.send(()).expect("it waits");
            Some(other.join().expect("no panic"))
        }
        End::InsideTask => {
            let inner = there();
            let outer = LocalExecutor::new();
            let task = outer.spawn_local(async move { drop(inner) });
            outer.block_on(task).expect("no panic");
            None
        }
        End::ThreadLocal => {
            let (say, said) = mpsc::channel();
            let cell = cell.clone();
            let thread = thread::spawn(move || {
                LATE.set(Some(Box::new(Late(populated::<S>(&cell, at), say))));
            });
            assert!(thread.join().is_ok());
            Some(said.recv().expect("it returns"))
        }
    }
}

fn at<S: Subject>(at: At) {
    for how in ENDS {
        let cell = Cell::default();
        if let Some(report) = end::<S>(&cell, at, how) {
            check(&report, at, 2, how);
        }
        assert_eq!(cell.left(), if at == At::Job { 2 } else { 0 }, "{how:?}");
        cell.release();
    }
}

/// Blocks its thread when it is dropped, until somebody who saw that lets it go.
struct Blocks(Cell, Arc<AtomicBool>);

impl Drop for Blocks {
    fn drop(&mut self) {
        let (gate, is_released) = (Arc::clone(&self.0.gate), Arc::clone(&self.1));
        let other = thread::spawn(move || {
            is_released.store(true, SeqCst);
            gate.open();
        });
        self.0.gate.pass();
        assert!(other.join().is_ok());
    }
}

/// The thread is the executor's: its end waits for a destructor, and for nothing afterwards.
fn stuck<S: Subject>() {
    for how in ENDS {
        let cell = Cell::default();
        let is_released = Arc::new(AtomicBool::new(false));
        let subject = || {
            let subject = S::make();
            let blocks = Blocks(cell.clone(), Arc::clone(&is_released));
            subject.spawn(Box::pin(async move {
                let _blocks = blocks;
                super::locked().await;
            }));
            subject.settle(|subject| subject.tasks().iter().all(|info| is_there(At::Lock, info)));
            subject
        };
        let report = match how {
            End::Drop | End::OtherThread => {
                drop(subject());
                None
            }
            End::Zero => Some(subject().shutdown(Duration::ZERO)),
            End::Fifty => Some(subject().shutdown(Duration::from_millis(50))),
            End::InsideTask => {
                let inner = subject();
                let outer = LocalExecutor::new();
                let task = outer.spawn_local(async move { drop(inner) });
                outer.block_on(task).expect("no panic");
                None
            }
            End::ThreadLocal => {
                let (say, said) = mpsc::channel();
                let (cell, is_released) = (cell.clone(), Arc::clone(&is_released));
                let thread = thread::spawn(move || {
                    let subject = S::make();
                    let blocks = Blocks(cell, is_released);
                    subject.spawn(Box::pin(async move {
                        let _blocks = blocks;
                        super::locked().await;
                    }));
                    let is_there = |info: &TaskInfo| is_there(At::Lock, info);
                    subject.settle(|subject| subject.tasks().iter().all(is_there));
                    LATE.set(Some(Box::new(Late(subject, say))));
                });
                assert!(thread.join().is_ok());
                Some(said.recv().expect("it returns"))
            }
        };
        assert!(is_released.load(SeqCst), "{how:?}: the destructor was left");
        if let Some(report) = report {
            check(&report, At::Lock, 1, how);
        }
    }
}

/// A driver that says when its thread waits without a limit.
struct Tells(ThreadDriver, &'static AtomicBool);

impl Driver for Tells {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        if until == Until::Forever {
            self.1.store(true, SeqCst);
        }
        self.0.park(until)
    }

    fn peek(&self) -> bool {
        self.0.peek()
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        self.0.handle()
    }
}

// WITNESS: executor-end.all
#[test]
fn borrowing_shutdown_waits_for_a_stuck_poll_without_limit() {
    static WAITS: AtomicBool = AtomicBool::new(false);
    let cell = Cell::default();
    let is_released = AtomicBool::new(false);
    let executor = Executor::new();
    executor.spawn(cell.task(At::Stuck)).detach();
    let (stop, stopped) = mainspring_core::completion::<()>();
    thread::scope(|scope| {
        scope.spawn(|| executor.run(stopped));
        cell.wait_for_stuck(1);
        scope.spawn(|| {
            // Nothing but the stuck poll is left to wait for, and no time either.
            while !WAITS.load(SeqCst) {
                thread::yield_now();
            }
            is_released.store(true, SeqCst);
            cell.gate.open();
        });
        let driver = Box::new(Tells(ThreadDriver::new(), &WAITS));
        let report = executor.shutdown_with(driver, Duration::ZERO);
        let has_waited = is_released.load(SeqCst);
        WAITS.store(true, SeqCst);
        assert!(has_waited, "executor-end.all: {report}");
        assert_eq!(executor.len(), 0);
        assert!(!report.is_leaking());
        let _ = stop.complete(());
    });
    assert_eq!(cell.left(), 0);
}

#[test]
fn two_who_end_a_borrowing_executor_both_return() {
    for _ in 0..50 {
        let executor = Executor::new();
        for _ in 0..10 {
            executor.spawn(std::future::pending::<()>()).detach();
        }
        let dropped = thread::scope(|scope| {
            let end = || executor.shutdown(Duration::ZERO).dropped.len();
            let other = scope.spawn(end);
            end() + other.join().expect("no panic")
        });
        assert_eq!((dropped, executor.len()), (10, 0));
    }
}

macro_rules! cells {
    ($($name:ident $subject:ty, $at:ident)*) => {$(
        #[test]
        fn $name() {
            at::<$subject>(At::$at);
        }
    )*};
}

cells! {
    local_in_a_timer LocalExecutor, Timer
    local_in_a_lock LocalExecutor, Lock
    local_in_a_blocking_job LocalExecutor, Job
    local_in_a_yield_loop LocalExecutor, YieldLoop
    local_panicking LocalExecutor, Panic
    borrowing_in_a_timer Executor<'static>, Timer
    borrowing_in_a_lock Executor<'static>, Lock
    borrowing_in_a_blocking_job Executor<'static>, Job
    borrowing_in_a_yield_loop Executor<'static>, YieldLoop
    borrowing_panicking Executor<'static>, Panic
}

#[test]
fn local_stuck_in_a_destructor() {
    stuck::<LocalExecutor>();
}

#[test]
fn borrowing_stuck_in_a_destructor() {
    stuck::<Executor<'static>>();
}
