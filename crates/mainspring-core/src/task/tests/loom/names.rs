//! The trailer against whoever frees the task.

use super::super::support::{Queue, poll_once, scheduler};
use super::{model, model_three};
use crate::sync::Arc;
use crate::task::{self, JoinHandle, Options, TaskRef};
use crate::time::Nanos;
use loom::thread;

/// A named task that is ready at its first poll, and a reference to it beside its handle.
fn named(queue: &Arc<Queue>) -> (std::sync::Arc<str>, TaskRef, JoinHandle<()>) {
    let name: std::sync::Arc<str> = "named".into();
    let options = Options::new().name(std::sync::Arc::clone(&name));
    let (runnable, join) = task::create_with(async {}, scheduler(queue), options);
    let task = runnable.task().clone();
    queue.accept(runnable);
    (name, task, join)
}

fn holders(name: &std::sync::Arc<str>) -> usize {
    std::sync::Arc::strong_count(name) - 1
}

// Whoever of the three gives up the last reference drops the name, after the others read it.
// WITNESS: task.trailer, task.free
#[test]
fn name_read_by_each_holder_is_dropped_by_the_last() {
    model_three(|| {
        let queue = Queue::new();
        let (name, task, join) = named(&queue);
        let watcher = thread::spawn(move || {
            let info = task.info(Nanos::ZERO);
            assert_eq!(info.name.as_deref(), Some("named"), "task.trailer");
        });
        let joiner = thread::spawn(move || {
            assert_eq!(join.name(), Some("named"), "task.trailer");
        });
        queue.run_all();
        watcher.join().unwrap();
        joiner.join().unwrap();
        assert_eq!(holders(&name), 0, "task.trailer: not dropped with the task");
    });
}

// WITNESS: task.trailer
#[test]
fn name_in_the_error_of_a_task_aborted_while_it_runs_survives_it() {
    model(|| {
        let queue = Queue::new();
        let (name, task, mut join) = named(&queue);
        let aborter = thread::spawn(move || task.abort());
        queue.run_all();
        aborter.join().unwrap();
        queue.run_all();
        let std::task::Poll::Ready(result) = poll_once(&mut join) else {
            panic!("task.one-poller: the join hangs");
        };
        drop(join);
        if let Err(error) = &result {
            assert_eq!(error.task_name(), Some("named"), "task.trailer");
        }
        assert_eq!(holders(&name), usize::from(result.is_err()), "task.trailer");
    });
}
