use crate::sync::Arc;
use crate::task::schedule::{Block, PURSE};
use crate::task::tests::support::{Queue, scheduler};
use crate::task::{Ran, SchedulerRef, create};
use std::sync::atomic::Ordering::Relaxed;

fn counted(scheduler: &SchedulerRef) -> usize {
    let block: &Block = scheduler.block();
    block.count.load(Relaxed)
}

// WITNESS: scheduler.purse
#[test]
fn worker_spawns_and_runs_without_touching_the_shared_count() {
    let queue = Queue::new();
    let scheduler = scheduler(&queue);
    let resident = scheduler.enter();
    drop(scheduler.clone());
    let before = counted(&scheduler);
    for _ in 0..10 * PURSE {
        let (runnable, join) = create(async {}, scheduler.clone());
        join.detach();
        assert_eq!(runnable.run(), Ran::Complete);
    }
    assert_eq!(
        counted(&scheduler),
        before,
        "scheduler.purse: the shared count moved"
    );
    drop(resident);
    assert_eq!(
        counted(&scheduler),
        1,
        "scheduler.purse: references were lost"
    );
}

// WITNESS: scheduler.purse, scheduler.alive
#[test]
fn purse_neither_starves_nor_hoards() {
    let queue = Queue::new();
    let scheduler = scheduler(&queue);
    let resident = scheduler.enter();
    let many: Vec<_> = (0..3 * PURSE).map(|_| scheduler.clone()).collect();
    assert!(counted(&scheduler) > 3 * PURSE);
    drop(many);
    assert!(
        counted(&scheduler) <= 2 * PURSE + 2,
        "scheduler.purse: it hoards"
    );
    drop(scheduler);
    assert_eq!(Arc::strong_count(&queue), 2);
    drop(resident);
    assert_eq!(Arc::strong_count(&queue), 1, "scheduler.alive: never freed");
}

// WITNESS: scheduler.purse, scheduler.alive
#[test]
fn purses_left_in_any_order_give_back_what_they_hold() {
    for first_in_first_out in [true, false] {
        let queues = [Queue::new(), Queue::new()];
        let [one, two] = [0, 1].map(|i| scheduler(&queues[i]));
        let outer = one.enter();
        let inner = two.enter();
        let (mine, other) = (two.clone(), one.clone());
        if first_in_first_out {
            drop(outer);
            drop(two.clone());
            drop(inner);
        } else {
            drop(inner);
            drop(one.clone());
            drop(outer);
        }
        assert_eq!([counted(&one), counted(&two)], [2, 2]);
        drop((mine, other, one, two));
        assert_eq!(queues.map(|queue| Arc::strong_count(&queue)), [1, 1]);
    }
}

// A scheduler that ends while its last purse is left reaches the purses again.
// WITNESS: scheduler.purse
#[test]
fn reference_dropped_by_the_schedulers_own_end_finds_the_purses_whole() {
    struct Nest(Option<SchedulerRef>);
    impl crate::task::Schedule for Nest {
        fn schedule(&self, runnable: crate::task::Runnable, _: crate::task::WakeCause) {
            drop(runnable);
        }
    }
    impl Drop for Nest {
        fn drop(&mut self) {
            drop(self.0.take());
        }
    }
    let queue = Queue::new();
    let inner = scheduler(&queue);
    let inner_resident = inner.enter();
    let nest = SchedulerRef::from(Arc::new(Nest(Some(inner))));
    let resident = nest.enter();
    drop(nest);
    drop(resident);
    drop(inner_resident);
    assert_eq!(Arc::strong_count(&queue), 1);
}
