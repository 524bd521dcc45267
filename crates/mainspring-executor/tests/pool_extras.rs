//! Sets, names and values of tasks on a pool.

use mainspring_core::task::yield_now;
use mainspring_executor::{JoinSet, Pool, TaskBuilder, task_local};
use std::future::pending;

task_local! {
    static NUMBER: usize;
}

#[test]
fn ten_thousand_tasks_of_a_pool_keep_their_values_and_are_joined_once() {
    const TASKS: usize = 10_000;
    let pool = Pool::builder().workers(3).build().unwrap();
    let seen = pool.block_on(async {
        let mut set = JoinSet::new();
        for n in 0..TASKS {
            set.spawn(NUMBER.scope(n, async {
                for _ in 0..NUMBER.get() % 5 {
                    yield_now().await;
                }
                NUMBER.get()
            }));
        }
        let mut seen = vec![false; TASKS];
        while let Some(result) = set.join_next().await {
            let n = result.unwrap();
            assert!(!std::mem::replace(&mut seen[n], true), "{n} twice");
        }
        seen
    });
    assert!(seen.into_iter().all(|seen| seen));
}

#[test]
fn named_tasks_of_a_pool_are_aborted_by_a_shutdown_of_their_set() {
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.block_on(async {
        let mut set = JoinSet::new();
        for n in 0..100 {
            let task = async move {
                assert_ne!(n, 50, "on purpose");
                pending::<()>().await;
            };
            let builder = TaskBuilder::new().name(format!("task {n}"));
            set.insert(builder.spawn(task));
        }
        // The one that panics ends by itself.
        let first = set.join_next().await.unwrap().unwrap_err();
        assert!(first.is_panic() && first.task_name() == Some("task 50"));
        assert_eq!((set.shutdown().await.len(), set.len()), (0, 0));
    });
}
