//! The steps of a shutdown, and what its report says.

use crate::{LocalExecutor, spawn_local};
use mainspring_core::blocking::{self, Blocking, BlockingTask};
use mainspring_core::task::yield_now;
use mainspring_core::wait::WaitKind;
use mainspring_core::{completion, shutdown, spawn};
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// Far more than any step here takes.
const AMPLE: Duration = Duration::from_secs(60);

#[test]
fn task_that_listens_to_the_signal_ends_by_itself() {
    let executor = LocalExecutor::new();
    let said = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&said);
    drop(executor.spawn_local(async move {
        let signal = shutdown::signal();
        signal.requested().await;
        log.borrow_mut().push("told");
        yield_now().await;
        log.borrow_mut().push("ended");
    }));
    let _ = executor.tick();
    let report = executor.shutdown(AMPLE);
    assert!(report.is_clean(), "{report}");
    assert_eq!(*said.borrow(), ["told", "ended"]);
    assert!(
        report.took < AMPLE / 2,
        "it waited although everything had ended"
    );
}

#[test]
fn task_that_does_not_end_is_dropped_and_named_with_what_it_waits_for() {
    let executor = LocalExecutor::new();
    let (_completer, never) = completion::<()>();
    let line = line!() + 1;
    let task = executor.spawn_local(never);
    let _ = executor.tick();
    let report = executor.shutdown(Duration::ZERO);
    assert_eq!(report.dropped.len(), 1);
    assert_eq!(report.dropped[0].spawned_at.line(), line);
    assert_eq!(
        report.dropped[0].waits_for.map(|reason| reason.kind),
        Some(WaitKind::Completion)
    );
    assert!(
        report.to_string().contains("waiting for Completion"),
        "{report}"
    );
    assert!(crate::block_on(task).is_err_and(|error| error.is_cancelled()));
}

#[test]
fn task_that_waits_outside_the_family_is_named_without_an_invented_wait() {
    let executor = LocalExecutor::new();
    let task = executor.spawn_local(pending::<()>());
    let _ = executor.tick();
    let report = executor.shutdown(Duration::ZERO);
    assert_eq!(report.dropped[0].waits_for, None);
    let text = report.to_string();
    assert!(
        text.contains(&format!("\ndropped task {} ", task.id())),
        "{text}"
    );
    assert!(
        text.ends_with("waiting for something outside the family"),
        "{text}"
    );
}

// WITNESS: local.closed
#[test]
fn nothing_is_spawned_after_the_shutdown_began() {
    let executor = LocalExecutor::new();
    let refused = Rc::new(Cell::new(false));
    let seen = Rc::clone(&refused);
    drop(executor.spawn_local(async move {
        shutdown::signal().requested().await;
        let late = spawn_local(pending::<()>()).await;
        seen.set(late.is_err_and(|error| error.is_cancelled()));
    }));
    let _ = executor.tick();
    assert!(executor.shutdown(AMPLE).is_clean());
    assert!(refused.get());
    let spawned = executor.spawner().spawn(async {});
    assert!(crate::block_on(spawned).is_err());
}

/// Defers a cleanup when it is dropped.
struct Deferred(mpsc::Sender<u32>);

impl Drop for Deferred {
    fn drop(&mut self) {
        let sender = self.0.clone();
        let spawner = spawn::current().expect("the executor is current while it drops its tasks");
        drop(spawner.spawn_cleanup(
            async move {
                yield_now().await;
                let _ = sender.send(7);
            },
            AMPLE,
        ));
    }
}

#[test]
fn cleanup_deferred_by_a_dropped_task_runs_before_the_end() {
    let (sender, receiver) = mpsc::channel();
    let executor = LocalExecutor::new();
    let deferred = Deferred(sender);
    drop(executor.spawn_local(async move {
        let _kept = deferred;
        pending::<()>().await;
    }));
    let _ = executor.tick();
    // Longer than no time at all: the grace is half of it.
    let report = executor.shutdown(Duration::from_secs(2));
    assert_eq!(report.dropped.len(), 1);
    assert!(report.unfinished_cleanups.is_empty(), "{report}");
    assert_eq!(receiver.recv(), Ok(7));
}

#[test]
fn cleanup_that_does_not_end_is_dropped_at_the_deadline_and_named() {
    let executor = LocalExecutor::new();
    drop(executor.spawner().spawn_cleanup(pending::<()>(), AMPLE));
    let report = executor.shutdown(Duration::ZERO);
    assert_eq!(report.unfinished_cleanups.len(), 1);
    assert!(!report.is_clean());
}

#[test]
fn cleanups_are_no_tasks_to_whoever_counts_them() {
    let executor = LocalExecutor::new();
    drop(executor.spawner().spawn_cleanup(pending::<()>(), AMPLE));
    let _ = executor.tick();
    assert!(executor.is_empty());
    assert!(executor.tasks().is_empty());
}

/// Submits a blocking job as a task of the executor would.
fn submit<T: Send + 'static>(
    executor: &LocalExecutor,
    work: impl FnOnce() -> T + Send + 'static,
) -> BlockingTask<T> {
    let mut work = Some(work);
    executor.block_on(poll_fn(|_| {
        let work = work.take().expect("polled once");
        Poll::Ready(blocking::run(Blocking::Syscall, work))
    }))
}

#[test]
fn running_job_is_waited_for_and_one_that_goes_on_is_named() {
    let executor = LocalExecutor::new();
    let (release, held) = mpsc::channel::<()>();
    let (started, begun) = mpsc::channel();
    let job = submit(&executor, move || {
        let _ = started.send(());
        held.recv()
    });
    assert!(begun.recv().is_ok());
    let report = executor.shutdown(Duration::ZERO);
    assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
    release.send(()).expect("the job receives it");
    assert!(
        crate::block_on(job).is_ok(),
        "an abandoned job's result was lost"
    );

    let executor = LocalExecutor::new();
    let (release, held) = mpsc::channel::<()>();
    let job = submit(&executor, move || held.recv());
    let other = thread::spawn(move || release.send(()));
    let report = executor.shutdown(AMPLE);
    assert!(report.abandoned_jobs.is_empty(), "{report}");
    assert!(other.join().is_ok());
    drop(job);
}

#[test]
fn second_shutdown_has_nothing_to_do() {
    let executor = LocalExecutor::new();
    drop(executor.spawn_local(pending::<()>()));
    assert_eq!(executor.shutdown(Duration::ZERO).dropped.len(), 1);
    let again = executor.shutdown(AMPLE);
    assert!(again.is_clean(), "{again}");
}

#[test]
fn spawner_of_the_executor_works_from_other_threads() {
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    let other = thread::spawn(move || {
        let task = spawner.spawn(async { thread::current().id() });
        crate::block_on(task)
    });
    let seen = loop {
        let _ = executor.tick();
        if other.is_finished() {
            break other.join();
        }
    };
    assert_eq!(seen.ok().and_then(Result::ok), Some(thread::current().id()));
}
