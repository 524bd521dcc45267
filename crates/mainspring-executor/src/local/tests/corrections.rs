//! Row 7: a spent budget that yields to nobody.

use crate::LocalExecutor;
use mainspring_core::budget;
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The scheduler as it is usually printed: the task woken last runs next.
mod printed {
    use mainspring_core::task::{Runnable, Schedule, WakeCause};
    use std::collections::VecDeque;
    use std::sync::Mutex;

    #[derive(Default)]
    pub(super) struct NewestFirst {
        slot: Mutex<Option<Runnable>>,
        queue: Mutex<VecDeque<Runnable>>,
    }

    impl NewestFirst {
        pub(super) fn next(&self) -> Option<Runnable> {
            let newest = self.slot.lock().unwrap().take();
            newest.or_else(|| self.queue.lock().unwrap().pop_front())
        }
    }

    impl Schedule for NewestFirst {
        fn schedule(&self, runnable: Runnable, why: WakeCause) {
            if why == WakeCause::Spawn {
                self.queue.lock().unwrap().push_back(runnable);
                return;
            }
            let older = self.slot.lock().unwrap().replace(runnable);
            self.queue.lock().unwrap().extend(older);
        }
    }
}

/// Never waits for anything: only its budget stops it.
fn greedy(rounds: &Rc<Cell<u32>>) -> impl Future<Output = ()> + use<> {
    let rounds = Rc::clone(rounds);
    poll_fn(move |cx| {
        while let Poll::Ready(unit) = budget::poll_proceed(cx) {
            unit.spend();
        }
        rounds.set(rounds.get() + 1);
        if rounds.get() == 10 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
}

// CORRECTION: 7
#[test]
fn spent_budget_yields_to_the_neighbour() {
    use mainspring_core::task::{self, SchedulerRef};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    // As printed: ten rounds of the greedy task before its neighbour's first.
    let scheduler = Arc::new(printed::NewestFirst::default());
    let reference = SchedulerRef::from(Arc::clone(&scheduler));
    let rounds = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&rounds);
    let greedy_task = poll_fn(move |cx| {
        while let Poll::Ready(unit) = budget::poll_proceed(cx) {
            unit.spend();
        }
        if counted.fetch_add(1, Relaxed) == 9 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let (first, _greedy) = task::create(greedy_task, reference.clone());
    let (second, neighbour) = task::create(async move { rounds.load(Relaxed) }, reference);
    first.schedule();
    second.schedule();
    while let Some(runnable) = scheduler.next() {
        let _ = runnable.run();
    }
    assert_eq!(
        crate::block_on(neighbour).ok(),
        Some(10),
        "the printed form was fair"
    );

    // As shipped: one.
    let executor = LocalExecutor::new();
    let rounds = Rc::new(Cell::new(0));
    let greedy_task = executor.spawn_local(greedy(&rounds));
    let neighbour = executor.spawn_local(async move { rounds.get() });
    assert_eq!(executor.block_on(neighbour).ok(), Some(1));
    assert!(executor.block_on(greedy_task).is_ok());
}
