//! The set over real tasks.

use crate::{JoinSet, LocalExecutor, TaskBuilder, spawn_local};
use futures_core::Stream;
use mainspring_core::park::Parker;
use mainspring_core::spawn::{Boxed, Spawn, Spawner};
use mainspring_core::task::{JoinError, yield_now};
use mainspring_core::{CancelSafe, Completer, budget, completion};
use mainspring_testkit::{Script, Turn, block_on, drop_everywhere};
use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn poll_with<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Counts its drops.
struct Counted(Rc<Cell<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// Adds `count` tasks that give the number they are sent.
fn gated(set: &mut JoinSet<usize>, count: usize) -> Vec<Completer<usize>> {
    (0..count)
        .map(|_| {
            let (gate, opened) = completion();
            set.spawn_local(async { opened.await.unwrap_or(usize::MAX) });
            gate
        })
        .collect()
}

#[test]
fn results_come_in_the_order_of_the_ends() {
    let order = LocalExecutor::new().block_on(async {
        let mut set = JoinSet::new();
        let gates = gated(&mut set, 4);
        assert!(set.try_join_next().is_none());
        let mut gates: Vec<_> = gates.into_iter().map(Some).collect();
        for at in [2, 0, 3, 1] {
            let gate: Completer<usize> = gates[at].take().unwrap();
            gate.complete(at).unwrap();
            yield_now().await;
        }
        let mut order = Vec::new();
        while let Some(result) = set.join_next().await {
            order.push(result.unwrap());
        }
        order
    });
    assert_eq!(order, [2, 0, 3, 1]);
}

#[test]
fn empty_set_is_over_and_goes_on_when_something_is_added() {
    LocalExecutor::new().block_on(async {
        let mut set = JoinSet::new();
        assert!(set.join_next().await.is_none());
        set.spawn(async { 1 });
        assert_eq!((set.len(), set.is_empty()), (1, false));
        assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
        assert!(set.join_next().await.is_none() && set.try_join_next().is_none());
    });
}

#[test]
fn ten_thousand_tasks_give_each_its_result_once() {
    const TASKS: usize = 10_000;
    LocalExecutor::new().block_on(async {
        let mut set = JoinSet::new();
        for n in 0..TASKS {
            set.spawn_local(async move {
                for _ in 0..n % 7 {
                    yield_now().await;
                }
                n
            });
        }
        let mut seen = vec![false; TASKS];
        while let Some(result) = set.join_next().await {
            let n = result.unwrap();
            assert!(!std::mem::replace(&mut seen[n], true), "{n} twice");
        }
        assert!(seen.into_iter().all(|seen| seen));
    });
}

/// Runs each future on a thread of its own.
struct Threads;

impl Spawn for Threads {
    fn spawn(&self, mut future: Boxed) {
        std::thread::spawn(move || {
            let parker = Parker::new();
            let waker = Waker::from(Arc::new(parker.unparker()));
            while poll_with(future.as_mut(), &waker).is_pending() {
                parker.park();
            }
        });
    }
}

// WITNESS: ready.not-lost, ready.push, ready.again
#[test]
fn tasks_of_a_foreign_executor_are_joined_on_a_plain_thread() {
    let spawner = Spawner::new(Threads);
    for _ in 0..20 {
        let mut set = JoinSet::new();
        let gates: Vec<_> = (0..8_u64)
            .map(|n| {
                let (gate, opened) = completion();
                set.spawn_on(&spawner, async move { opened.await.unwrap_or(0) + n });
                gate
            })
            .collect();
        let opener = std::thread::spawn(move || {
            for gate in gates {
                gate.complete(100).unwrap();
            }
        });
        let mut sum = 0;
        while let Some(result) = block_on(set.join_next()) {
            sum += result.unwrap();
        }
        assert_eq!(sum, 828);
        opener.join().unwrap();
    }
}

#[test]
fn panics_and_aborts_are_results_and_name_their_tasks() {
    LocalExecutor::new().block_on(async {
        let mut set = JoinSet::new();
        let panics = set.spawn_local(async { resume_unwind(Box::new("on purpose")) });
        let aborted = set.spawn_local(pending::<u8>());
        let line = line!() - 1;
        aborted.abort();
        let mut errors = Vec::new();
        while let Some(result) = set.join_next().await {
            errors.push(result.unwrap_err());
        }
        errors.sort_by_key(JoinError::is_cancelled);
        assert!(errors[0].is_panic() && errors[0].task_id() == panics.id());
        assert!(errors[1].is_cancelled() && errors[1].task_id() == aborted.id());
        let place = (errors[1].spawned_at().file(), errors[1].spawned_at().line());
        assert_eq!(place, (file!(), line));
    });
}

// Those that ended before the abort keep their outputs, before and after they were waited for.
#[test]
fn abort_ends_what_has_not_ended() {
    LocalExecutor::new().block_on(async {
        for waits_first in [false, true] {
            let mut set = JoinSet::new();
            let gates = gated(&mut set, 10);
            if waits_first {
                assert!(set.try_join_next().is_none());
            }
            let mut late = Vec::new();
            for (n, gate) in gates.into_iter().enumerate() {
                match n % 2 {
                    0 => gate.complete(n).unwrap(),
                    _ => late.push(gate),
                }
            }
            yield_now().await;
            set.abort_all();
            // Too late: their futures are gone, or go unpolled.
            for gate in late {
                let _ = gate.complete(0);
            }
            let results = set.join_all().await;
            let outputs = results.iter().filter_map(|result| result.as_ref().ok());
            assert_eq!(outputs.sum::<usize>(), 2 + 4 + 6 + 8);
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 5);
        }
    });
}

// B181
#[test]
fn drop_aborts_all_and_detach_lets_them_go_on() {
    let executor = LocalExecutor::new();
    let (drops, ends) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    executor.block_on(async {
        let fill = |set: &mut JoinSet<()>| {
            for _ in 0..3 {
                let (counted, ends) = (Counted(Rc::clone(&drops)), Rc::clone(&ends));
                set.spawn_local(async move {
                    let _counted = counted;
                    yield_now().await;
                    yield_now().await;
                    ends.set(ends.get() + 1);
                });
            }
        };
        let mut set = JoinSet::new();
        fill(&mut set);
        assert!(set.try_join_next().is_none());
        drop(set);
        yield_now().await;
        assert_eq!((drops.get(), ends.get()), (3, 0));
        let mut set = JoinSet::new();
        fill(&mut set);
        assert!(set.try_join_next().is_none());
        set.detach_all();
        assert!(set.is_empty() && set.join_next().await.is_none());
        fill(&mut set);
        for _ in 0..5 {
            yield_now().await;
        }
        assert_eq!((drops.get(), ends.get()), (9, 6));
        assert_eq!(set.join_all().await.len(), 3);
    });
}

#[test]
fn shutdown_waits_for_every_future_and_tells_of_panics_alone() {
    let drops = Rc::new(Cell::new(0));
    LocalExecutor::new().block_on(async {
        let mut set = JoinSet::new();
        for n in 0..30 {
            let counted = Counted(Rc::clone(&drops));
            set.spawn_local(async move {
                let _counted = counted;
                match n % 3 {
                    0 => resume_unwind(Box::new("on purpose")),
                    1 => n,
                    _ => pending().await,
                }
            });
        }
        yield_now().await;
        let panics = set.shutdown().await;
        assert_eq!((panics.len(), drops.get(), set.len()), (10, 30, 0));
        assert!(panics.iter().all(JoinError::is_panic));
    });
}

#[test]
fn join_next_dropped_wherever_it_waits_loses_nothing() {
    let dropped = LocalExecutor::new().block_on(drop_everywhere(async |points| {
        let mut set = JoinSet::new();
        let gates = Cell::new(gated(&mut set, 4));
        // A second poll of the same wait: one gate in two turns.
        let turns = Cell::new(0);
        let open = |turn| {
            turns.set(turns.get() + 1);
            if turn == Turn::Dropped || turns.get() % 2 == 0 {
                return;
            }
            let mut left = gates.take();
            if let Some(gate) = left.pop() {
                let n = left.len();
                gate.complete(n).unwrap();
            }
            gates.set(left);
        };
        let mut seen = Vec::new();
        while seen.len() < 4 {
            match points.run_with("join_next", set.join_next(), open).await {
                Some(result) => seen.push(result.unwrap().unwrap()),
                None => yield_now().await,
            }
            if turns.get() % 2 == 1 {
                open(Turn::Waits);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3], "lost");
        assert!(set.join_next().await.is_none());
    }));
    assert!(dropped.points() >= 4, "{dropped}");
}

#[test]
fn waker_goes_with_the_future_that_registered_it() {
    let executor = LocalExecutor::new();
    let mut set = JoinSet::new();
    set.insert(executor.spawn_local(pending::<()>()));
    let (waker, tally) = Script::new().waker();
    let mut joining = Box::pin(set.join_next());
    assert!(poll_with(joining.as_mut(), &waker).is_pending());
    assert_eq!((tally.live(), tally.woken()), (2, 0));
    drop(joining);
    assert_eq!(tally.live(), 1, "a waker was left behind");
    drop(set);
    executor.block_on(yield_now());
    assert_eq!(tally.woken(), 0);
}

// WITNESS: ready.not-lost
#[test]
fn latest_waker_is_woken_and_once_for_many_ends() {
    let executor = LocalExecutor::new();
    let mut set = JoinSet::new();
    let gates = executor.block_on(async { gated(&mut set, 3) });
    let (first, first_tally) = Script::new().waker();
    let (second, tally) = Script::new().waker();
    let mut joining = pin!(set.join_next());
    assert!(poll_with(joining.as_mut(), &first).is_pending());
    assert!(poll_with(joining.as_mut(), &second).is_pending());
    for gate in gates {
        gate.complete(5).unwrap();
    }
    executor.block_on(yield_now());
    assert_eq!((first_tally.woken(), tally.woken()), (0, 1));
    assert!(matches!(
        poll_with(joining.as_mut(), &second),
        Poll::Ready(Some(Ok(5)))
    ));
}

#[test]
fn burst_is_registered_over_several_polls() {
    let executor = LocalExecutor::new();
    let mut set: JoinSet<_> = (0..1_000)
        .map(|_| executor.spawn_local(pending::<()>()))
        .collect();
    let (waker, tally) = Script::new().waker();
    for _ in 0..3 {
        let woken = tally.woken();
        assert!(poll_with(pin!(set.join_next()), &waker).is_pending());
        assert_eq!(tally.woken(), woken + 1, "it has to be polled again");
    }
    assert!(poll_with(pin!(set.join_next()), &waker).is_pending());
    assert_eq!(
        tally.woken(),
        3,
        "all are registered: nothing is left to do"
    );
}

#[test]
fn joins_count_in_the_budget_and_a_spent_one_loses_none() {
    LocalExecutor::new().block_on(async {
        let mut set: JoinSet<_> = (0..500).map(|n| spawn_local(async move { n })).collect();
        yield_now().await;
        let task = spawn_local(async move {
            let mut polls = 0;
            let mut joining = pin!(async {
                let mut joined = 0;
                while set.join_next().await.is_some() {
                    joined += 1;
                }
                joined
            });
            let joined = poll_fn(|cx| {
                polls += 1;
                joining.as_mut().poll(cx)
            })
            .await;
            (polls, joined)
        });
        // 128 a poll.
        assert_eq!(task.await.unwrap(), (4, 500));
        let mut set: JoinSet<_> = (0..3).map(|n| spawn_local(async move { n })).collect();
        assert!(set.try_join_next().is_none());
        yield_now().await;
        let task = spawn_local(async move {
            while !budget::is_spent() {
                budget::consume();
            }
            let mut taken = 0;
            while set.try_join_next().is_some() {
                taken += 1;
            }
            taken
        });
        assert_eq!(task.await.unwrap(), 3);
    });
}

#[test]
fn stream_gives_what_join_next_gives() {
    LocalExecutor::new().block_on(async {
        let mut set: JoinSet<_> = (0..3).map(|n| spawn_local(async move { n })).collect();
        set.extend([spawn_local(async { 3 })]);
        assert_eq!(set.size_hint(), (4, Some(4)));
        let mut sum = 0;
        while let Some(result) = poll_fn(|cx| Pin::new(&mut set).poll_next(cx)).await {
            sum += result.unwrap();
        }
        assert_eq!((sum, set.size_hint()), (6, (0, Some(0))));
    });
}

#[test]
fn outside_an_executor_the_future_comes_back_or_the_panic_says_what_to_do() {
    let mut set = JoinSet::new();
    let future = set.try_spawn(async { 4 }).unwrap_err();
    assert_eq!(block_on(future), 4);
    let mut local = JoinSet::new();
    let future = local
        .try_spawn_local(std::future::ready(Rc::new(5)))
        .unwrap_err();
    assert_eq!(*block_on(future), 5);
    assert!(set.is_empty() && local.is_empty());
    let mut spawn: Box<dyn FnMut()> = Box::new(move || drop(set.spawn(async { 1 })));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut spawn));
    let text = panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(
        text.starts_with("MS0001: `spawn` was called outside"),
        "{text}"
    );
}

#[test]
fn waiting_task_says_that_it_joins() {
    let executor = LocalExecutor::new();
    executor.block_on(async {
        let mut set = JoinSet::new();
        set.spawn_local(pending::<()>());
        TaskBuilder::new()
            .name("joiner")
            .spawn_local(async move { set.join_next().await.is_some() })
            .detach();
        yield_now().await;
        yield_now().await;
    });
    let lines: Vec<_> = executor.tasks().iter().map(ToString::to_string).collect();
    let joiner = lines
        .iter()
        .find(|line| line.contains("\"joiner\""))
        .unwrap();
    assert!(joiner.contains("waiting for Join"), "{joiner}");
}

#[test]
fn set_is_send_and_its_future_cancel_safe() {
    fn is_send<T: Send + Sync>(_: &T) {}
    fn is_safe<T: CancelSafe + Send>(_: &T) {}
    let mut set = JoinSet::<u8>::new();
    is_send(&set);
    is_safe(&set.join_next());
    assert_eq!(format!("{set:?}"), "JoinSet { len: 0, .. }");
}
