//! What the extras cost: counted by an allocator.

use mainspring_core::task::yield_now;
use mainspring_executor::{JoinSet, LocalExecutor, task_local};
use mainspring_testkit::{CountingAlloc, Heap};
use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Waker};

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

task_local! {
    static ID: u64;
}

fn heap() -> Heap {
    Heap::now().expect("the counting allocator is installed")
}

#[test]
fn set_gives_its_memory_back_after_a_burst_though_one_task_stays() {
    const BURST: usize = 10_000;
    let executor = LocalExecutor::new();
    executor.block_on(async {
        let mut set = JoinSet::new();
        set.spawn_local(pending::<()>());
        for _ in 0..3 {
            set.spawn_local(async {});
            assert!(set.join_next().await.is_some());
        }
        let before = heap();
        for _ in 0..BURST {
            set.spawn_local(async { yield_now().await });
        }
        assert!(set.try_join_next().is_none());
        assert!(heap().since(before).blocks >= 2 * BURST.cast_signed());
        for _ in 0..BURST {
            assert!(set.join_next().await.is_some());
        }
        assert_eq!(set.len(), 1);
        let left = heap().since(before);
        // 24 bytes for each of the 64 handles that a set may keep room for, and a little for the
        // executor's own.
        assert!(
            left.bytes <= 64 * 24 + 1_024 && left.blocks <= 4,
            "{left:?}"
        );
    });
}

#[test]
fn member_that_has_ended_costs_no_allocation_beyond_its_task() {
    let executor = LocalExecutor::new();
    executor.block_on(async {
        let mut set = JoinSet::new();
        // Room for the handle, and whatever else is made at the first use.
        set.spawn_local(async {});
        yield_now().await;
        assert!(set.join_next().await.is_some());
        let before = heap();
        set.spawn_local(async {});
        assert_eq!(heap().since(before).blocks, 1, "the task");
        yield_now().await;
        assert!(set.join_next().await.is_some());
        assert_eq!(heap().since(before), Heap::default());
        set.spawn_local(async {});
        assert!(set.join_next().await.is_some());
        assert_eq!(heap().since(before), Heap::default());
    });
}

#[test]
fn set_that_goes_with_tasks_in_it_leaves_nothing() {
    let executor = LocalExecutor::new();
    executor.block_on(yield_now());
    let burst = || {
        executor.block_on(async {
            let mut set = JoinSet::new();
            for n in 0..100 {
                set.spawn_local(async move {
                    if n % 2 == 0 {
                        pending::<()>().await;
                    }
                });
            }
            assert!(set.try_join_next().is_none());
            yield_now().await;
            drop(set);
            while !executor.is_empty() {
                yield_now().await;
            }
        });
    };
    burst();
    let before = heap();
    burst();
    assert_eq!(heap().since(before), Heap::default());
}

#[test]
fn scope_allocates_nothing() {
    let mut cx = Context::from_waker(Waker::noop());
    let before = heap();
    let mut scope = pin!(ID.scope(1, async {
        yield_now().await;
        ID.sync_scope(2, || ID.get()) + ID.get()
    }));
    assert!(scope.as_mut().poll(&mut cx).is_pending());
    assert!(scope.as_mut().poll(&mut cx).is_ready());
    assert_eq!(heap().since(before), Heap::default());
}
