//! Who the root future of a `block_on` is, whichever executor's.

use mainspring_core::poll::{self, TaskStamp};
use mainspring_core::task;
use mainspring_executor::{Executor, LocalExecutor, Pool, block_on};
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::task::Poll;

/// What a root sees of itself in two polls.
fn looks_twice() -> impl Future<Output = [TaskStamp; 2]> + Send {
    let mut before = None;
    poll_fn(move |cx| {
        assert_eq!(task::current_id(), None, "a root is no task");
        let now = poll::stamp().expect("a root has a record of its polls");
        if let Some(before) = before.replace(now) {
            return Poll::Ready([before, now]);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

#[test]
fn root_future_has_one_number_in_all_its_polls_and_another_in_each_call() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let local = LocalExecutor::new();
    let roots = [
        block_on(looks_twice()),
        block_on(looks_twice()),
        local.block_on(looks_twice()),
        local.block_on(looks_twice()),
        Executor::new().run(looks_twice()),
        pool.block_on(looks_twice()),
        pool.block_on(looks_twice()),
    ];
    for [first, second] in roots {
        assert_eq!(first.task, second.task);
        assert_ne!(first.polls, second.polls);
    }
    let numbers: HashSet<u64> = roots.iter().map(|[first, _]| first.task).collect();
    assert_eq!(numbers.len(), roots.len());
}
