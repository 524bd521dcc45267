use super::support::{Queue, poll_once, scheduler};
use crate::task::{self, Ran};
use std::task::Poll;

#[test]
fn spawned_task_runs_and_its_output_is_joined() {
    let queue = Queue::new();
    let (runnable, mut join) = task::create(async { 6 * 7 }, scheduler(&queue));
    queue.spawn(runnable);
    assert!(poll_once(&mut join).is_pending());
    assert_eq!(queue.run_one(), Some(Ran::Complete));
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(42))));
    assert_eq!(queue.listed(), 0);
}
