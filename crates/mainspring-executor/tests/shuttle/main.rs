//! One-thread executors and the threads around them, under random schedules; `cargo xtask shuttle`
//! runs them.
#![cfg(mainspring_shuttle)]

use mainspring_core::sync::{Mutex, below, block_on, explore, thread, wait_or_drop};
use mainspring_core::task::JoinHandle;
use mainspring_core::{Completer, completion};
use mainspring_executor::{Home, LocalExecutor, spawn_local};
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};

/// Counts, behind the scheduler's back, how many of its guards are alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn guard(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(Arc::clone(&self.0))
    }

    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// A guard of [`Alive`].
struct Guard(Alive);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// Waits, at home, until it was woken so many times by whoever takes its waker.
async fn walk(steps: usize, mailbox: Arc<Mutex<Option<Waker>>>, guard: Guard) -> usize {
    let at_home = Rc::new(Cell::new(0));
    while at_home.get() < steps {
        let mut has_waited = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            let before = mailbox.lock().replace(cx.waker().clone());
            drop(before);
            Poll::Pending
        })
        .await;
        at_home.set(at_home.get() + 1);
    }
    drop(guard);
    at_home.get()
}

/// Wakes whoever hands a waker out, `wakes` times.
fn wake(mailbox: &Mutex<Option<Waker>>, wakes: usize) {
    let mut woken = 0;
    while woken < wakes {
        let waker = mailbox.lock().take();
        match waker {
            Some(waker) => {
                match below(3) {
                    0 => waker.wake(),
                    1 => waker.clone().wake_by_ref(),
                    _ => {
                        waker.wake_by_ref();
                        waker.wake_by_ref();
                    }
                }
                woken += 1;
            }
            None => thread::yield_now(),
        }
    }
}

/// Three threads send tasks home and join them; a fourth wakes what waits there.
#[test]
fn tasks_from_everywhere_run_at_home_and_their_results_come_back() {
    explore(|| {
        let executor = LocalExecutor::new();
        let alive = Alive::default();
        let ask = |home: Home, alive: Alive, number: usize| {
            let guard = Guard(alive.guard());
            let task = home.spawn(move || async move {
                let local = Rc::new(number);
                let other = Rc::clone(&local);
                let inner = spawn_local(async move { *other });
                let sum = inner.await.map_or(0, |other| other + *local);
                drop(guard);
                sum
            });
            match below(4) {
                0 => {
                    task.detach();
                    None
                }
                1 => wait_or_drop(3, task).map(|result| result.map_or(0, |sum| sum)),
                2 => block_on(home.run(move || number * 2)).ok(),
                _ => Some(block_on(task).map_or(0, |sum| sum)),
            }
        };
        let askers = [1, 2, 3].map(|number| {
            let (home, alive) = (executor.home(), alive.clone());
            thread::spawn(move || {
                let answer = ask(home, alive, number);
                assert!(answer.is_none_or(|answer| answer == 2 * number));
            })
        });
        let (completer, over) = completion::<()>();
        let watcher = thread::spawn(move || {
            for asker in askers {
                asker.join().unwrap();
            }
            completer.complete(()).is_ok()
        });
        executor.block_on(over).unwrap();
        assert!(watcher.join().unwrap());
        drop(executor);
        assert_eq!(alive.count(), 0, "a future is left");
    });
}

/// Waits for what `executor` runs, or gives up; whoever aborts may come before or after.
fn see_to(task: JoinHandle<usize>, steps: usize) {
    match below(3) {
        0 => drop(task),
        1 => {
            let abort = task.abort_handle();
            let aborting = thread::spawn(move || abort.abort());
            match block_on(task) {
                Ok(walked) => assert_eq!(walked, steps),
                Err(error) => assert!(error.is_cancelled(), "{error}"),
            }
            aborting.join().unwrap();
        }
        _ => {
            if let Some(Ok(walked)) = wait_or_drop(4, task) {
                assert_eq!(walked, steps);
            }
        }
    }
}

/// The executor goes while others wake, join and abort its tasks, and hold their wakers.
#[test]
fn executor_that_is_dropped_takes_its_tasks_along() {
    explore(|| {
        let executor = LocalExecutor::new();
        let alive = Alive::default();
        let mailbox = Arc::new(Mutex::new(None));
        let walkers = [(); 2].map(|()| {
            let guard = Guard(alive.guard());
            executor.spawn_local(walk(2, Arc::clone(&mailbox), guard))
        });
        let theirs = Arc::clone(&mailbox);
        let wakes = thread::spawn(move || {
            for _ in 0..3 {
                let waker = theirs.lock().take();
                waker.iter().for_each(Waker::wake_by_ref);
                // Held beyond the executor's end, some of the time.
                thread::yield_now();
                drop(waker);
                thread::yield_now();
            }
        });
        let joiners = walkers.map(|task| thread::spawn(move || see_to(task, 2)));
        let home = executor.home();
        let late = Guard(alive.guard());
        let late = thread::spawn(move || {
            let task = home.spawn(move || walk(0, Arc::default(), late));
            block_on(task).map_or(0, |walked| walked + 1)
        });
        for _ in 0..below(4) {
            let _ = executor.tick();
        }
        drop(executor);
        for joiner in joiners {
            joiner.join().unwrap();
        }
        wakes.join().unwrap();
        assert!(late.join().unwrap() <= 1);
        let waker = mailbox.lock().take();
        drop(waker);
        assert_eq!(alive.count(), 0, "a future is left");
    });
}

/// Two executors on two threads wake each other's tasks, and no third one helps.
#[test]
fn two_executors_that_wait_for_each_other_never_sleep_through_it() {
    /// Plays so many rounds: completes the other's question, and waits for the next one.
    async fn play(
        mut rounds: Vec<(Completer<usize>, mainspring_core::Completion<usize>)>,
    ) -> usize {
        let mut sum = 0;
        while let Some((theirs, ours)) = rounds.pop() {
            let number = rounds.len();
            let answer = spawn_local(async move {
                assert!(theirs.complete(number).is_ok(), "nobody listens");
                ours.await.unwrap_or(100)
            });
            sum += answer.await.unwrap_or(100);
        }
        sum
    }
    explore(|| {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let (to_there, from_here) = completion();
            let (to_here, from_there) = completion();
            here.push((to_there, from_there));
            there.push((to_here, from_here));
        }
        let other = thread::spawn(move || LocalExecutor::new().block_on(play(there)));
        let sum = LocalExecutor::new().block_on(play(here));
        assert_eq!((sum, other.join().unwrap()), (1, 1));
    });
}

#[test]
fn tasks_that_are_woken_from_outside_all_end() {
    explore(|| {
        let executor = LocalExecutor::new();
        let alive = Alive::default();
        let mailboxes = [(); 2].map(|()| Arc::new(Mutex::new(None)));
        let walkers: Vec<_> = mailboxes
            .iter()
            .map(|mailbox| {
                let guard = Guard(alive.guard());
                executor.spawn_local(walk(2, Arc::clone(mailbox), guard))
            })
            .collect();
        let wakers = mailboxes.map(|mailbox| thread::spawn(move || wake(&mailbox, 2)));
        let sum = executor.block_on(async {
            let mut sum = 0;
            for walker in walkers {
                sum += walker.await.unwrap_or(0);
            }
            sum
        });
        assert_eq!((sum, alive.count()), (4, 0));
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}
