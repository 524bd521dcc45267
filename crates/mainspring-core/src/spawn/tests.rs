use super::{Boxed, Lane, Launch, LocalSpawner, Overran, Spawn, Spawner};
use crate::microtask::{self, Microtasks};
use crate::task::{
    JoinError, JoinHandle, LocalSchedule, Options, Runnable, Schedule, SchedulerRef, WakeCause,
};
use crate::time::{ManualClock, Nanos, enter_clock};
use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// An executor of the family, as small as can be.
#[derive(Clone)]
struct Small(Arc<Inner>);

struct Inner {
    queue: Mutex<Option<VecDeque<Runnable>>>,
    lanes: Mutex<Vec<Lane>>,
    overran: Mutex<Vec<Overran>>,
    home: ThreadId,
}

impl Schedule for Inner {
    fn schedule(&self, runnable: Runnable, _why: WakeCause) {
        let mut queue = self.queue.lock().unwrap();
        let refused = match &mut *queue {
            Some(queue) => {
                queue.push_back(runnable);
                None
            }
            None => Some(runnable),
        };
        drop(queue);
        drop(refused);
    }
}

// SAFETY: [scheduler.home] one thread made it, and its id is never another's.
unsafe impl LocalSchedule for Inner {
    fn is_home(&self) -> bool {
        self.home == thread::current().id()
    }
}

impl Launch for Small {
    fn scheduler(&self, _lane: Lane) -> SchedulerRef {
        SchedulerRef::local(Arc::clone(&self.0))
    }

    fn launch(&self, runnable: Runnable, lane: Lane) {
        self.0.lanes.lock().unwrap().push(lane);
        runnable.schedule();
    }

    fn overran(&self, overran: Overran) {
        self.0.overran.lock().unwrap().push(overran);
    }
}

impl Small {
    fn new() -> Self {
        Self(Arc::new(Inner {
            queue: Mutex::new(Some(VecDeque::new())),
            lanes: Mutex::default(),
            overran: Mutex::default(),
            home: thread::current().id(),
        }))
    }

    fn pop(&self) -> Option<Runnable> {
        self.0.queue.lock().unwrap().as_mut()?.pop_front()
    }

    fn run_all(&self) {
        while let Some(runnable) = self.pop() {
            let _ran = runnable.run();
        }
    }

    /// Refuses and drops everything from here on.
    fn shut_down(&self) {
        let queue = self.0.queue.lock().unwrap().take();
        drop(queue);
    }
}

/// An executor of somebody else's: boxed futures in a list.
#[derive(Clone, Default)]
struct Foreign(Arc<Mutex<Vec<Boxed>>>);

impl Spawn for Foreign {
    fn spawn(&self, future: Boxed) {
        self.0.lock().unwrap().push(future);
    }
}

impl Foreign {
    /// Polls every future once, and says how many are left.
    fn poll_all(&self) -> usize {
        let futures = std::mem::take(&mut *self.0.lock().unwrap());
        let pending: Vec<_> = futures.into_iter().filter_map(poll_once).collect();
        let mut all = self.0.lock().unwrap();
        all.extend(pending);
        all.len()
    }
}

fn poll_once(mut future: Boxed) -> Option<Boxed> {
    let is_pending = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending();
    is_pending.then_some(future)
}

fn result<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    match Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn spawner_of_ours_is_current_and_launches_in_its_lane() {
    let small = Small::new();
    let spawner = Spawner::of(small.clone());
    let entered = super::enter(&spawner);
    let task = super::current().map(|spawner| spawner.spawn(async { 7 }));
    small.run_all();
    assert_eq!(task.and_then(result).and_then(Result::ok), Some(7));
    assert_eq!(*small.0.lanes.lock().unwrap(), [Lane::Tasks]);
    drop(entered);
    assert!(super::current().is_none());
}

// WITNESS: spawn.cleanup-pinned
#[test]
fn cleanup_that_overruns_is_dropped_and_named() {
    let clock = ManualClock::new(Nanos(1_000));
    let _entered = enter_clock(Arc::new(clock.clone()));
    let small = Small::new();
    let spawner = Spawner::of(small.clone());
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let hanging = spawner.spawn_cleanup(
        async move {
            let _held = held;
            pending::<()>().await;
        },
        Duration::from_secs(3_600),
    );
    let quick = spawner.spawn_cleanup(async { 3 }, Duration::from_secs(3_600));
    let runnable = small.pop();
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(Arc::strong_count(&alive), 2);
    let _ran = runnable.map(Runnable::run);
    small.run_all();
    assert_eq!(Arc::strong_count(&alive), 1, "dropped at its limit");
    let overran = small.0.overran.lock().unwrap().clone();
    assert_eq!(overran.len(), 1);
    assert!(overran[0].spawned_at.file().ends_with("spawn/tests.rs"));
    assert_eq!(result(hanging).and_then(Result::ok), Some(Err(overran[0])));
    assert_eq!(result(quick).and_then(Result::ok), Some(Ok(3)));
    assert_eq!(*small.0.lanes.lock().unwrap(), [Lane::Cleanup; 2]);
}

#[test]
fn executor_that_shut_down_cancels_what_is_spawned() {
    let small = Small::new();
    let spawner = Spawner::of(small.clone());
    let before = spawner.spawn(async { 1 });
    small.shut_down();
    let after = spawner.spawn(async { 2 });
    let is_cancelled = |task: JoinHandle<u8>| {
        result(task)
            .and_then(Result::err)
            .is_some_and(|error: JoinError| error.is_cancelled())
    };
    assert!(is_cancelled(before) && is_cancelled(after));
}

#[test]
fn foreign_executor_carries_tasks_with_handles_panics_and_aborts() {
    let foreign = Foreign::default();
    let spawner = Spawner::new(foreign.clone());
    let (completer, value) = crate::completion();
    let waits = spawner.spawn(value);
    let panics = spawner.spawn(async { panic!("on purpose") });
    let aborted = spawner.spawn(pending::<()>());
    assert_eq!(foreign.poll_all(), 2);
    assert!(
        result(panics)
            .and_then(Result::err)
            .is_some_and(|error| error.is_panic())
    );
    aborted.abort();
    assert!(completer.complete(5).is_ok());
    assert_eq!(foreign.poll_all(), 0);
    assert!(
        result(aborted)
            .and_then(Result::err)
            .is_some_and(|error| error.is_cancelled())
    );
    assert_eq!(
        result(waits).and_then(Result::ok).and_then(Result::ok),
        Some(5)
    );
}

// WITNESS: bridge.closed
#[test]
fn foreign_executor_that_drops_a_carrier_cancels_its_task() {
    let foreign = Foreign::default();
    let spawner = Spawner::new(foreign.clone());
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let unpolled = spawner.spawn(async { 1 });
    let idle = spawner.spawn(async move {
        let _held = held;
        pending::<()>().await;
    });
    let last = foreign.0.lock().unwrap().pop();
    let last = last.and_then(poll_once);
    drop(last);
    foreign.0.lock().unwrap().clear();
    assert_eq!(Arc::strong_count(&alive), 1, "bridge.closed");
    assert!(unpolled.is_finished() && idle.is_finished());
}

#[test]
fn future_of_a_dropped_carrier_may_spawn_in_its_drop() {
    struct Spawns(Spawner);
    impl Drop for Spawns {
        fn drop(&mut self) {
            self.0.spawn(async {}).detach();
        }
    }
    let foreign = Foreign::default();
    let spawner = Spawner::new(foreign.clone());
    let spawns = Spawns(spawner.clone());
    spawner.spawn(async move { drop(spawns) }).detach();
    let first = foreign.0.lock().unwrap().pop();
    drop(first);
    assert_eq!(foreign.0.lock().unwrap().len(), 1);
}

#[test]
fn local_spawner_runs_what_is_not_send() {
    let small = Small::new();
    let _entered = super::enter_local(&LocalSpawner::of(Rc::new(small.clone())));
    let value = Rc::new(4);
    let held = Rc::clone(&value);
    let task = super::current_local().map(|spawner| spawner.spawn_local(async move { *held }));
    small.run_all();
    assert_eq!(task.and_then(result).and_then(Result::ok), Some(4));
}

fn logger(log: &Arc<Mutex<Vec<u32>>>) -> impl Fn(u32) -> Box<dyn FnOnce() + Send> {
    let log = Arc::clone(log);
    move |number| {
        let log = Arc::clone(&log);
        Box::new(move || log.lock().unwrap().push(number))
    }
}

// WITNESS: serial.drained, serial.late
#[test]
fn microtasks_on_a_spawner_run_in_order_and_the_checkpoint_last() {
    let small = Small::new();
    let _entered = super::enter(&Spawner::of(small.clone()));
    let log = Arc::new(Mutex::new(Vec::new()));
    let entry = logger(&log);
    let home = microtask::current().expect("a spawner is current");
    home.at_checkpoint(entry(100));
    let (again, nested) = (home.clone(), entry(99));
    home.queue(move || again.queue_boxed(nested));
    for number in 0..98 {
        home.queue(entry(number));
    }
    assert!(log.lock().unwrap().is_empty(), "never inside queue");
    small.run_all();
    let expected: Vec<_> = (0..98).chain([99, 100]).collect();
    assert_eq!(*log.lock().unwrap(), expected);
}

// WITNESS: serial.drained
#[test]
fn microtask_that_panics_does_not_stop_the_others() {
    let small = Small::new();
    let spawner = Spawner::of(small.clone());
    let home = Microtasks::on(&spawner);
    let log = Arc::new(Mutex::new(Vec::new()));
    let entry = logger(&log);
    home.queue(entry(1));
    home.queue(|| panic!("on purpose"));
    home.queue(entry(2));
    small.run_all();
    assert_eq!(*log.lock().unwrap(), [1, 2]);
}

// WITNESS: serial.drained
#[test]
fn microtasks_of_an_executor_that_shut_down_are_dropped() {
    let small = Small::new();
    let spawner = Spawner::of(small.clone());
    let home = Microtasks::on(&spawner);
    let alive = Arc::new(());
    let (first, second, itself) = (Arc::clone(&alive), Arc::clone(&alive), home.clone());
    home.queue(move || drop((first, itself)));
    small.shut_down();
    assert_eq!(
        Arc::strong_count(&alive),
        2,
        "the queue of a dead executor keeps its jobs"
    );
    home.queue(move || drop(second));
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn options_reach_the_task_on_every_executor_and_the_location_is_the_callers() {
    let small = Small::new();
    let foreign = Foreign::default();
    let named = || Options::new().name("named");
    let line = line!() + 1;
    let ours = Spawner::of(small.clone()).spawn_with(async { 1 }, named());
    let theirs = Spawner::new(foreign.clone()).spawn_with(async { 2 }, named());
    let local = LocalSpawner::of(Rc::new(small.clone()))
        .spawn_local_with(std::future::ready(Rc::new(3)), named());
    for (name, at) in [ours.name(), theirs.name(), local.name()]
        .into_iter()
        .zip(0..)
    {
        assert_eq!(name, Some("named"), "{at}");
    }
    let aborted = [ours.abort_handle(), theirs.abort_handle()];
    aborted.iter().for_each(crate::task::AbortHandle::abort);
    small.run_all();
    assert_eq!(foreign.poll_all(), 0);
    for (task, line) in [ours, theirs].into_iter().zip(line..) {
        let error = result(task).and_then(Result::err);
        let error = error.expect("aborted before its first poll");
        let place = format!("{}:{line}:", file!());
        assert!(error.to_string().contains(&place), "{error}");
        assert_eq!(error.task_name(), Some("named"));
    }
    assert_eq!(result(local).and_then(Result::ok), Some(Rc::new(3)));
}
