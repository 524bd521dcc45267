//! Aborts against the first run, which begins with a load.

use super::model;
use crate::sync::Arc;
use crate::task::JoinHandle;
use crate::task::tests::support::{Letter, Queue, poll_once, spawn};
use loom::thread;
use std::task::Poll;

/// Says in its destructor whether it saw the letter.
struct Reads(Arc<Letter>, Arc<Letter>);

impl Drop for Reads {
    fn drop(&mut self) {
        if self.0.read() == 1 {
            self.1.write();
        }
    }
}

/// A task that waits for ever, and the letter that whoever aborts it writes before.
struct Doomed {
    queue: Arc<Queue>,
    join: JoinHandle<()>,
    letter: Arc<Letter>,
    seen: Arc<Letter>,
}

impl Doomed {
    fn new() -> Self {
        let queue = Queue::new();
        let (letter, seen) = (Letter::new(), Letter::new());
        let reads = Reads(Arc::clone(&letter), Arc::clone(&seen));
        let join = spawn(&queue, async move {
            let _reads = reads;
            std::future::pending::<()>().await;
        });
        Self {
            queue,
            join,
            letter,
            seen,
        }
    }

    fn end(mut self) {
        self.queue.run_all();
        assert_eq!(
            self.seen.read(),
            1,
            "task.wake: dropped before the abort was seen"
        );
        let Poll::Ready(Err(error)) = poll_once(&mut self.join) else {
            panic!("task.one-poller: the abort was lost");
        };
        assert!(error.is_cancelled());
    }
}

// The destructor of an aborted future sees what the aborting thread wrote.
// WITNESS: task.wake, task.future-once
#[test]
fn abort_racing_run_drops_the_future_once() {
    model(|| {
        let mut doomed = Doomed::new();
        let letter = Arc::clone(&doomed.letter);
        let join = doomed.join;
        let aborter = thread::spawn(move || {
            letter.write();
            join.abort();
            join
        });
        doomed.queue.run_all();
        doomed.join = aborter.join().unwrap();
        doomed.end();
    });
}

// The first run begins with a load, so it has to be the spawned thread's as well.
// WITNESS: task.wake, task.one-poller
#[test]
fn first_run_racing_an_abort_drops_the_future_once() {
    model(|| {
        let doomed = Doomed::new();
        let queue = Arc::clone(&doomed.queue);
        let worker = thread::spawn(move || {
            queue.run_all();
        });
        doomed.letter.write();
        doomed.join.abort();
        worker.join().unwrap();
        doomed.end();
    });
}
