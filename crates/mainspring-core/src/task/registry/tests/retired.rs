//! A task leaves its executor's registry before its memory can go.

use crate::task::tests::support::{Queue, spawn};

// WITNESS: task.registry
#[test]
fn task_that_ended_is_no_longer_listed_however_it_ended() {
    let queue = Queue::new();
    let listed = || queue.with_registry(|registry| registry.len());
    let kept = spawn(&queue, std::future::pending::<()>());
    for end in 0..3 {
        let join = spawn(&queue, async move { assert_ne!(end, 1, "on purpose") });
        if end == 2 {
            join.abort();
        }
        assert_eq!(listed(), 2);
        let _ran = queue.run_all();
        assert!(join.is_finished());
        assert_eq!(
            listed(),
            1,
            "task.registry: a task that ended is still listed"
        );
    }
    kept.abort();
    let _ran = queue.run_all();
    assert_eq!(listed(), 0);
}
