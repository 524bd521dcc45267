//! Every order of what can happen to a task, on one thread: nothing is dropped twice, nothing is
//! left, and nobody touches what is gone.

use super::support::{Drops, Queue, Scene, poll_once, scheduler};
use crate::sync::Arc;
use crate::task::{self, AbortHandle, JoinHandle, Options, Registry, Runnable};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// What may happen, each once, in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Run,
    RunAgain,
    DropRunnable,
    WakeByRef,
    WakeByValue,
    DropWaker,
    CloneWaker,
    Abort,
    PollHandle,
    DropHandle,
    DropAbortHandle,
    ShutDown,
}

/// What the future does when it is polled for the second time.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Output,
    Panic,
    Never,
    /// Wakes itself once, then gives its output.
    Yield,
}

struct Stage {
    queue: Arc<Queue>,
    futures: Drops,
    outputs: Drops,
    finishes: bool,
    /// Three wakers of the task, as it hands them out before any event.
    wakers: Vec<Waker>,
    join: Option<JoinHandle<super::support::Guard>>,
    abort: Option<AbortHandle>,
}

impl Stage {
    fn new(ending: Ending, options: Options) -> Self {
        let queue = Queue::new();
        let (futures, outputs) = (Drops::new(), Drops::new());
        let guard = futures.guard();
        let (letters, wakers) = std::sync::mpsc::channel();
        let mut polls = 0;
        let given = outputs.clone();
        let future = poll_fn(move |cx| {
            let _owned = &guard;
            polls += 1;
            match (polls, ending) {
                (1, _) => {
                    for _ in 0..3 {
                        letters.send(cx.waker().clone()).unwrap();
                    }
                    Poll::Pending
                }
                (2, Ending::Yield) => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                (_, Ending::Never) => Poll::Pending,
                (_, Ending::Panic) => std::panic::resume_unwind(Box::new("on purpose")),
                (_, Ending::Output | Ending::Yield) => Poll::Ready(given.guard()),
            }
        });
        let (runnable, join) = task::create_with(future, scheduler(&queue), options);
        queue.accept(runnable);
        let ran = queue.run_one();
        assert_eq!(ran, Some(task::Ran::Idle));
        Self {
            queue,
            futures,
            outputs,
            finishes: false,
            wakers: wakers.try_iter().collect(),
            abort: Some(join.abort_handle()),
            join: Some(join),
        }
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Run | Event::RunAgain => {
                if let Some(runnable) = self.queue.pop() {
                    let _ = runnable.run();
                }
            }
            Event::DropRunnable => drop(self.queue.pop()),
            Event::WakeByRef => self.wakers[0].wake_by_ref(),
            Event::WakeByValue => self.wakers.pop().unwrap().wake(),
            Event::DropWaker => drop(self.wakers.pop()),
            Event::CloneWaker => drop(self.wakers[0].clone()),
            Event::Abort => self.abort.as_ref().unwrap().abort(),
            Event::PollHandle => {
                if let Some(join) = &mut self.join {
                    if let Poll::Ready(result) = poll_once(join) {
                        self.finishes = result.is_ok();
                        self.join = None;
                    }
                }
            }
            Event::DropHandle => drop(self.join.take()),
            Event::DropAbortHandle => {
                let abort = self.abort.take();
                // A later abort in the same order needs one.
                self.abort = abort.clone();
                drop(abort);
            }
            Event::ShutDown => self.queue.shut_down(),
        }
    }

    fn end(mut self, order: &[Event]) {
        self.queue.run_all();
        self.queue.shut_down();
        assert_eq!(self.futures.count(), 1, "task.future-once: {order:?}");
        if let Some(join) = &mut self.join {
            assert!(join.is_finished(), "task.one-poller: {order:?}");
        }
        drop(self.join);
        // Whether there was an output is known only if it was read or dropped: at most once.
        assert!(self.outputs.count() <= 1, "task.output-once: {order:?}");
        if self.finishes {
            assert_eq!(self.outputs.count(), 1, "task.output-once: {order:?}");
        }
        for waker in self.wakers {
            waker.wake();
        }
        assert!(
            self.queue.with_registry(Registry::is_empty),
            "task.registry: {order:?}"
        );
        drop(self.abort);
        assert_eq!(
            Arc::strong_count(&self.queue),
            1,
            "task.scheduler: {order:?}"
        );
    }
}

/// Calls `visit` with every order of every choice of at most `most` of `events`.
fn orders(events: &[Event], most: usize, visit: &mut impl FnMut(&[Event])) {
    fn go(
        events: &[Event],
        most: usize,
        so_far: &mut Vec<Event>,
        visit: &mut impl FnMut(&[Event]),
    ) {
        visit(so_far);
        if so_far.len() == most {
            return;
        }
        for &event in events {
            if !so_far.contains(&event) {
                so_far.push(event);
                go(events, most, so_far, visit);
                so_far.pop();
            }
        }
    }
    go(events, most, &mut Vec::new(), visit);
}

/// The eight that interact most come first.
const EVENTS: [Event; 12] = [
    Event::Run,
    Event::DropRunnable,
    Event::WakeByRef,
    Event::WakeByValue,
    Event::Abort,
    Event::PollHandle,
    Event::DropHandle,
    Event::ShutDown,
    Event::RunAgain,
    Event::DropWaker,
    Event::CloneWaker,
    Event::DropAbortHandle,
];

fn play_all(ending: Ending, events: &[Event], most: usize) {
    super::panics::listen();
    let mut count = 0_u32;
    let name: std::sync::Arc<str> = "order".into();
    orders(events, most, &mut |order| {
        let named = Options::new().name(std::sync::Arc::clone(&name));
        for options in [Options::new(), named] {
            let mut stage = Stage::new(ending, options);
            for &event in order {
                stage.play(event);
            }
            stage.end(order);
        }
        let names = std::sync::Arc::strong_count(&name);
        assert_eq!(names, 1, "task.trailer: {order:?}");
        count += 1;
    });
    assert!(count > 8_000, "only {count} orders: the harness lost some");
}

// WITNESS: task.future-once, task.output-once, task.alive, task.runnable, task.scheduler
// WITNESS: task.trailer
#[test]
fn every_order_of_five_events_of_eight_drops_each_thing_once() {
    play_all(Ending::Output, &EVENTS[..8], 5);
}

// WITNESS: task.future-once, task.output-once, task.alive
#[test]
fn every_order_of_four_events_of_a_panicking_task() {
    play_all(Ending::Panic, &EVENTS, 4);
}

// WITNESS: task.future-once, task.alive, task.registry
#[test]
fn every_order_of_four_events_of_a_task_that_never_ends() {
    play_all(Ending::Never, &EVENTS, 4);
}

// WITNESS: task.one-poller, task.runnable
#[test]
fn every_order_of_four_events_of_a_task_that_wakes_itself() {
    play_all(Ending::Yield, &EVENTS, 4);
}

// The reader that the models use, in every order of the events that they race.
// WITNESS: task.future-once, task.output-once
#[test]
fn scene_of_the_models_holds_on_one_thread() {
    for wanted in 0..2 {
        for script in 0..32_u32 {
            let (mut scene, waker) = match wanted {
                0 => (Scene::new(0), None),
                _ => {
                    let (scene, waker) = Scene::polled(wanted);
                    (scene, Some(waker))
                }
            };
            if script & 1 != 0 {
                scene.letter.write();
            }
            if script & 2 != 0 {
                waker.into_iter().for_each(std::task::Waker::wake);
            }
            if script & 4 != 0 {
                scene.queue.run_one();
            }
            if script & 8 != 0 {
                scene.join.as_ref().unwrap().abort();
            }
            if script & 16 != 0 {
                scene.join.take();
            }
            scene.end();
        }
    }
}

// B040: a task that is spawned when its executor has closed ends at once, and its handle says so.
// WITNESS: task.future-once, task.registry
#[test]
fn task_spawned_after_the_end_is_cancelled_at_once() {
    let queue = Queue::new();
    queue.shut_down();
    let futures = Drops::new();
    let guard = futures.guard();
    let (runnable, mut join) = task::create(
        async move {
            let _guard = guard;
        },
        scheduler(&queue),
    );
    queue.accept(runnable);
    assert_eq!(futures.count(), 1);
    let Poll::Ready(Err(error)) = poll_once(&mut join) else {
        panic!("task.one-poller: the join hangs");
    };
    assert!(error.is_cancelled());
}

// WITNESS: task.runnable
#[test]
fn runnable_survives_being_a_raw_pointer() {
    let queue = Queue::new();
    let (runnable, mut join) = task::create(async { 7 }, scheduler(&queue));
    let id = runnable.id();
    let raw = runnable.into_raw();
    // SAFETY: from `into_raw`, once.
    let runnable = unsafe { Runnable::from_raw(raw) };
    assert_eq!(runnable.id(), id);
    let _ = runnable.run();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(7))));
}
