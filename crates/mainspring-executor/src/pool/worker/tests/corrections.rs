//! Rows 4, 5 and 7: a worker beside the queues as they are printed.

use super::script::{Log, workers};
use mainspring_core::AtomicWaker;
use mainspring_core::budget;
use mainspring_core::task::{self, JoinHandle, SchedulerRef, yield_now};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

/// The queues as they are usually printed.
mod printed {
    use mainspring_core::task::{Runnable, Schedule, WakeCause};
    use std::collections::VecDeque;
    use std::sync::Mutex;

    /// The owner pops where it pushes.
    #[derive(Default)]
    pub(super) struct Stack(Mutex<Vec<Runnable>>);

    /// What was woken last, a spent budget's task included, runs next, without a bound.
    #[derive(Default)]
    pub(super) struct NewestFirst {
        slot: Mutex<Option<Runnable>>,
        queue: Mutex<VecDeque<Runnable>>,
    }

    pub(super) trait Next: Schedule + Default {
        fn next(&self) -> Option<Runnable>;
    }

    impl Schedule for Stack {
        fn schedule(&self, runnable: Runnable, _why: WakeCause) {
            self.0.lock().unwrap().push(runnable);
        }
    }

    impl Next for Stack {
        fn next(&self) -> Option<Runnable> {
            self.0.lock().unwrap().pop()
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

    impl Next for NewestFirst {
        fn next(&self) -> Option<Runnable> {
            let newest = self.slot.lock().unwrap().take();
            newest.or_else(|| self.queue.lock().unwrap().pop_front())
        }
    }
}

/// Who spawns: the printed form, or the shipped one.
type Spawn<'a> = &'a dyn Fn(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) -> JoinHandle<()>;

fn as_printed<S: printed::Next>(log: &Log, scene: impl Fn(Spawn<'_>, &Log)) -> Vec<u32> {
    let queue = Arc::new(S::default());
    let scheduler = SchedulerRef::from(Arc::clone(&queue));
    scene(
        &|future| {
            let (runnable, handle) = task::create(future, scheduler.clone());
            runnable.schedule();
            handle
        },
        log,
    );
    while let Some(runnable) = queue.next() {
        let _ran = runnable.run();
    }
    log.take()
}

fn as_shipped(log: &Log, scene: impl Fn(Spawn<'_>, &Log)) -> Vec<u32> {
    let (rig, mut workers) = workers(1);
    workers[0].here(|_| scene(&|future| rig.spawn(future), log));
    workers[0].run();
    log.take()
}

/// A task that yields, and one that has waited longer.
fn yielder_and_neighbour(spawn: Spawn<'_>, log: &Log) {
    let (yielder, neighbour) = (log.clone(), log.clone());
    spawn(Box::pin(async move { neighbour.note(2) })).detach();
    spawn(Box::pin(async move {
        for _ in 0..10 {
            yielder.note(1);
            yield_now().await;
        }
    }))
    .detach();
}

// CORRECTION: 4
#[test]
fn task_that_yields_does_not_run_before_one_that_waited() {
    let log = Log::default();
    let order = as_printed::<printed::Stack>(&log, yielder_and_neighbour);
    assert_eq!(order.last(), Some(&2), "the printed form was fair");
    let order = as_shipped(&log, yielder_and_neighbour);
    assert_eq!(order.first(), Some(&2), "{order:?}");
}

/// Two tasks that wake each other a hundred times, and a third.
fn ping_pong(spawn: Spawn<'_>, log: &Log) {
    let wakers = Arc::new([AtomicWaker::new(), AtomicWaker::new()]);
    for who in 0..2 {
        let (wakers, log) = (Arc::clone(&wakers), log.clone());
        let mut rounds = 0;
        spawn(Box::pin(poll_fn(move |cx| {
            log.note(who);
            wakers[who as usize].register(cx.waker());
            wakers[1 - who as usize].wake();
            rounds += 1;
            if rounds == 100 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })))
        .detach();
    }
    let log = log.clone();
    spawn(Box::pin(async move { log.note(2) })).detach();
}

// B028.
// CORRECTION: 5
#[test]
fn pair_that_wakes_each_other_lets_a_third_task_run_after_three_polls() {
    let log = Log::default();
    let third = |order: Vec<u32>| order.iter().position(|who| *who == 2);
    let printed = third(as_printed::<printed::NewestFirst>(&log, ping_pong));
    assert!(
        printed >= Some(100),
        "the printed form was fair: {printed:?}"
    );
    // Both are polled once from the queue, then three times at most from the slot.
    let shipped = third(as_shipped(&log, ping_pong));
    assert!(shipped <= Some(5), "{shipped:?}");
}

/// A task that only its budget stops, and its neighbour.
fn greedy_and_neighbour(spawn: Spawn<'_>, log: &Log) {
    let (greedy, neighbour) = (log.clone(), log.clone());
    let mut rounds = 0;
    spawn(Box::pin(poll_fn(move |cx| {
        while let Poll::Ready(unit) = budget::poll_proceed(cx) {
            unit.spend();
        }
        greedy.note(1);
        rounds += 1;
        if rounds == 10 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })))
    .detach();
    spawn(Box::pin(async move { neighbour.note(2) })).detach();
}

// B034.
// CORRECTION: 7
#[test]
fn spent_budget_yields_to_the_neighbour_on_a_worker() {
    let log = Log::default();
    let order = as_printed::<printed::NewestFirst>(&log, greedy_and_neighbour);
    assert_eq!(order.last(), Some(&2), "the printed form was fair");
    let order = as_shipped(&log, greedy_and_neighbour);
    assert_eq!(order[..2], [1, 2], "{order:?}");
}
