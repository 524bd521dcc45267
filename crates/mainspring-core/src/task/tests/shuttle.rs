//! Tasks that are run by several threads while others wake, abort, join and let go, and while the
//! executor ends. The blocks of all of them are counted by the door.

use super::support::{Drops, Guard, Mailbox, Queue, spawn};
use crate::sync::{Arc, Mutex, below, block_on, explore, thread};
use crate::task::{JoinHandle, Registry};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Wants so many polls, and hands its waker out at each.
struct Walker {
    steps: usize,
    is_inside: AtomicBool,
    mailbox: Arc<Mailbox>,
    _future: Guard,
    output: Option<Guard>,
}

impl Future for Walker {
    type Output = Guard;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Guard> {
        assert!(!self.is_inside.swap(true, Relaxed), "two polls at a time");
        let before = self.mailbox.lock().replace(cx.waker().clone());
        drop(before);
        self.is_inside.store(false, Relaxed);
        if self.steps > 0 {
            self.steps -= 1;
            return Poll::Pending;
        }
        Poll::Ready(self.output.take().expect("polled after its output"))
    }
}

/// What an execution shares.
struct Scene {
    queue: Arc<Queue>,
    mailboxes: [Arc<Mailbox>; 2],
    futures: Drops,
    outputs: Drops,
    /// Behind the scheduler's back.
    is_over: AtomicBool,
    observed: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::new(),
            mailboxes: [(); 2].map(|()| Arc::new(Mutex::new(None))),
            futures: Drops::new(),
            outputs: Drops::new(),
            is_over: AtomicBool::new(false),
            observed: AtomicUsize::new(0),
        })
    }

    fn spawn(&self, at: usize) -> JoinHandle<Guard> {
        spawn(
            &self.queue,
            Walker {
                steps: 2,
                is_inside: AtomicBool::new(false),
                mailbox: Arc::clone(&self.mailboxes[at]),
                _future: self.futures.guard(),
                output: Some(self.outputs.guard()),
            },
        )
    }

    /// Runs what is queued until it is over.
    fn work(&self) {
        while !self.is_over.load(Relaxed) {
            if self.queue.run_one().is_none() {
                thread::yield_now();
            }
        }
    }

    /// Wakes whoever has handed a waker out, in one way or another, until it is over.
    fn wake(&self) {
        while !self.is_over.load(Relaxed) {
            let at = below(2) as usize;
            let waker = self.mailboxes[at].lock().take();
            match waker {
                Some(waker) => wake_somehow(waker),
                None => thread::yield_now(),
            }
        }
    }

    /// Sees to the end of a task by its handle, in one way or another.
    fn see_to(&self, join: JoinHandle<Guard>) {
        match below(5) {
            0 => drop(join),
            1 => join.detach(),
            2 => drop(join.abort_on_drop()),
            3 => {
                let abort = join.abort_handle();
                let aborting = thread::spawn(move || abort.abort());
                self.join(join, true);
                aborting.join().unwrap();
            }
            _ => self.join(join, false),
        }
    }

    fn join(&self, join: JoinHandle<Guard>, may_be_aborted: bool) {
        match block_on(join) {
            Ok(output) => {
                self.observed.fetch_add(1, Relaxed);
                drop(output);
            }
            Err(error) => assert!(may_be_aborted && error.is_cancelled(), "{error}"),
        }
    }

    /// Ends what is left, and checks that each thing was dropped exactly once.
    fn end(&self, spawned: usize) {
        self.queue.shut_down();
        for mailbox in &self.mailboxes {
            let waker = mailbox.lock().take();
            drop(waker);
        }
        assert_eq!(self.futures.count(), spawned, "task.future-once");
        assert_eq!(self.outputs.count(), spawned, "task.output-once");
        let is_empty = self.queue.with_registry(Registry::is_empty);
        assert!(is_empty, "task.registry");
    }
}

fn wake_somehow(waker: Waker) {
    match below(3) {
        0 => waker.wake(),
        1 => {
            let other = waker.clone();
            let other = thread::spawn(move || other.wake());
            waker.wake_by_ref();
            drop(waker);
            other.join().unwrap();
        }
        _ => {
            waker.wake_by_ref();
            waker.wake_by_ref();
        }
    }
}

// WITNESS: task.future-once, task.output-once, task.runnable, task.one-poller, task.alive
#[test]
fn task_ends_once_whoever_runs_wakes_aborts_and_joins_it() {
    explore(|| {
        let scene = Scene::new();
        let joins = [scene.spawn(0), scene.spawn(1)];
        let start = |role: fn(&Scene)| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || role(&scene))
        };
        let threads = [start(Scene::work), start(Scene::work), start(Scene::wake)];
        for join in joins {
            scene.see_to(join);
        }
        scene.is_over.store(true, Relaxed);
        for thread in threads {
            thread.join().unwrap();
        }
        scene.end(2);
        assert!(scene.observed.load(Relaxed) <= 2);
    });
}

// WITNESS: task.future-once, task.output-once, task.alive
#[test]
fn executor_that_ends_first_ends_its_tasks_and_tells_who_joins() {
    explore(|| {
        let scene = Scene::new();
        let (first, second) = (scene.spawn(0), scene.spawn(1));
        let other = Arc::clone(&scene);
        let joins = thread::spawn(move || other.join(first, true));
        let other = Arc::clone(&scene);
        let wakes = thread::spawn(move || other.wake());
        let other = Arc::clone(&scene);
        let works = thread::spawn(move || {
            for _ in 0..3 {
                let _ = other.queue.run_one();
            }
        });
        if below(2) == 0 {
            works.join().unwrap();
            scene.queue.shut_down();
        } else {
            scene.queue.shut_down();
            works.join().unwrap();
            // What that thread had in its hands came back after the first look.
            scene.queue.shut_down();
        }
        joins.join().unwrap();
        scene.is_over.store(true, Relaxed);
        wakes.join().unwrap();
        drop(second);
        scene.end(2);
    });
}
