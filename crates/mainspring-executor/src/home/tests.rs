use crate::{LocalExecutor, block_on};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

// WITNESS: home.packed, home.pinned
#[test]
fn future_made_at_home_lives_at_home() {
    let executor = LocalExecutor::new();
    let home = executor.home();
    let here = thread::current().id();
    let (done, finished) = mpsc::channel();
    let other = thread::spawn(move || {
        let task = home.spawn(move || async move {
            let local = Rc::new(Cell::new(thread::current().id()));
            mainspring_core::task::yield_now().await;
            local.get()
        });
        let seen = block_on(task);
        let _ = done.send(());
        seen
    });
    executor.block_on(async {
        while finished.try_recv().is_err() {
            mainspring_core::task::yield_now().await;
        }
    });
    assert_eq!(other.join().ok().and_then(Result::ok), Some(here));
}

// WITNESS: home.packed
#[test]
fn spawn_after_the_executor_is_gone_is_cancelled_and_drops_what_it_was_given() {
    let executor = LocalExecutor::new();
    let home = executor.home();
    drop(executor);
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = Counted(Arc::clone(&drops));
    let other = thread::spawn(move || {
        let task = home.spawn(move || async move {
            let _kept = counted;
        });
        block_on(task)
    });
    let result = other.join().expect("spawning never panics");
    assert!(result.is_err_and(|error| error.is_cancelled()));
    assert_eq!(drops.load(Relaxed), 1);
}

#[test]
fn run_calls_the_job_over_there_and_brings_its_value_back() {
    let executor = LocalExecutor::new();
    let home = executor.home();
    let here = thread::current().id();
    let other = thread::spawn(move || block_on(home.run(|| thread::current().id())));
    let seen = loop {
        let _ = executor.tick();
        if other.is_finished() {
            break other.join();
        }
    };
    assert_eq!(seen.ok().and_then(Result::ok), Some(here));
}

// WITNESS: home.packed
#[test]
fn job_that_panics_over_there_is_an_error_here() {
    let executor = LocalExecutor::new();
    let task = executor.home().run(|| panic!("on purpose"));
    let error = executor.block_on(task).expect_err("the job panicked");
    assert!(error.is_panic());
}

#[test]
fn spawns_racing_the_drop_of_the_executor_all_end_and_drop_everything() {
    for _ in 0..200 {
        let executor = LocalExecutor::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (home, drops) = (executor.home(), Arc::clone(&drops));
                thread::spawn(move || {
                    for _ in 0..10 {
                        let counted = Counted(Arc::clone(&drops));
                        drop(home.spawn(move || async move {
                            let _kept = counted;
                            std::future::pending::<()>().await;
                        }));
                    }
                })
            })
            .collect();
        let _ = executor.tick();
        drop(executor);
        for other in threads {
            assert!(other.join().is_ok());
        }
        assert_eq!(
            drops.load(Relaxed),
            20,
            "local.home-only: lost or dropped twice"
        );
    }
}
