//! The executor's cross-thread paths: wakes and arrivals racing with its sleep and its end.
//!
//! A whole executor is in each of them, so that they are explored up to three preemptions; without
//! a bound they end too, after minutes.

use crate::{LocalExecutor, spawn_local};
use loom::thread;
use mainspring_core::completion;
use std::rc::Rc;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

// WITNESS: local.no-sleeper, local.listed
#[test]
fn task_completed_by_another_thread_is_run_however_the_executor_sleeps() {
    explore(|| {
        let executor = LocalExecutor::new();
        let (completer, completion) = completion::<u32>();
        let other = thread::spawn(move || completer.complete(5));
        let sum = executor.block_on(async move {
            let local = Rc::new(2);
            let task = spawn_local(async move { completion.await.map_or(0, |n| n + *local) });
            task.await.unwrap_or(0)
        });
        assert_eq!(sum, 7);
        other.join().unwrap().unwrap();
    });
}

// WITNESS: local.no-sleeper
#[test]
fn arrival_racing_the_sleep_is_run() {
    explore(|| {
        let executor = LocalExecutor::new();
        let home = executor.home();
        let (completer, completion) = completion::<u32>();
        let other = thread::spawn(move || {
            home.spawn(move || async move {
                let _ = completer.complete(3);
            })
            .detach();
        });
        assert_eq!(executor.block_on(completion), Ok(3));
        other.join().unwrap();
    });
}

// WITNESS: local.home-only
#[test]
fn arrival_racing_the_end_is_run_or_cancelled_and_drops_its_closure_once() {
    explore(|| {
        let executor = LocalExecutor::new();
        let home = executor.home();
        let (completer, mut completion) = completion::<u32>();
        let other = thread::spawn(move || {
            home.spawn(move || async move {
                let _kept = completer;
                std::future::pending::<()>().await;
            })
            .detach();
        });
        drop(executor);
        other.join().unwrap();
        let left = completion.try_take();
        assert_eq!(
            left,
            Err(mainspring_core::handshake::completion::TryTakeError::Dropped)
        );
    });
}
