//! The tracker, in one thread.

use crate::TaskTracker;
use crate::token::tests::wakers::{counted, poll};
use mainspring_core::spawn::{self, Boxed, Spawn, Spawner};
use std::future::ready;
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::task::Waker;

// C13
// WITNESS: tracker.over
#[test]
fn wait_is_over_only_when_the_tracker_is_closed_and_empty() {
    let tracker = TaskTracker::new();
    let (counter, waker) = counted();
    let mut waiting = pin!(tracker.wait());
    assert!(poll(waiting.as_mut(), &waker).is_pending());
    let token = tracker.token();
    let other = token.clone();
    assert_eq!(tracker.len(), 2);
    drop(token);
    assert!(tracker.close());
    assert!(!tracker.close());
    assert!(poll(waiting.as_mut(), &waker).is_pending());
    assert_eq!(counter.count(), 0);
    drop(other);
    assert_eq!(counter.count(), 1);
    assert!(poll(waiting.as_mut(), &waker).is_ready());
    assert!(poll(waiting.as_mut(), &waker).is_ready());

    assert!(tracker.reopen());
    assert!(!tracker.reopen());
    assert!(!tracker.is_closed());
    let mut waiting = pin!(tracker.wait());
    assert!(poll(waiting.as_mut(), &waker).is_pending());
    tracker.clone().close();
    assert_eq!(counter.count(), 2);
    assert!(poll(waiting.as_mut(), &waker).is_ready());
}

// WITNESS: tracker.over
#[test]
fn wait_that_was_released_is_over_though_a_task_came_since() {
    let tracker = TaskTracker::new();
    let mut waiting = pin!(tracker.wait());
    assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
    tracker.close();
    let late = tracker.token();
    assert!(poll(waiting.as_mut(), Waker::noop()).is_ready());
    assert!(poll(pin!(tracker.wait()), Waker::noop()).is_pending());
    drop(late);
}

/// Notes, when it is dropped, how many tasks its tracker has.
struct Watching(TaskTracker, Sender<usize>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.1.send(self.0.len()).unwrap();
    }
}

// WITNESS: tracker.pinned
#[test]
fn tracked_future_counts_until_it_has_been_dropped() {
    let tracker = TaskTracker::new();
    let (sender, dropped) = channel();
    let watching = Watching(tracker.clone(), sender);
    let mut tracked = Box::pin(tracker.track(async move {
        let _watching = watching;
        std::future::pending::<()>().await;
    }));
    assert!(poll(tracked.as_mut(), Waker::noop()).is_pending());
    assert_eq!(tracker.len(), 1);
    drop(tracked);
    assert_eq!(dropped.recv(), Ok(1));
    assert!(tracker.is_empty());
}

struct Running(std::sync::Mutex<Sender<Boxed>>);

impl Spawn for Running {
    fn spawn(&self, future: Boxed) {
        self.0.lock().unwrap().send(future).unwrap();
    }
}

// C14
#[test]
fn spawned_task_is_tracked_and_nothing_is_kept_of_it() {
    let tracker = TaskTracker::new();
    assert!(tracker.spawn(ready(1)).is_err(), "no executor is current");
    assert!(tracker.is_empty());
    let (sender, spawned) = channel();
    let spawner = Spawner::new(Running(std::sync::Mutex::new(sender)));
    let _entered = spawn::enter(&spawner);
    let mut handle = tracker.spawn(ready(7)).expect("one is current");
    assert_eq!(tracker.len(), 1);
    let mut task = spawned.recv().unwrap();
    assert!(poll(task.as_mut(), Waker::noop()).is_ready());
    drop(task);
    assert!(tracker.is_empty());
    let output = poll(pin!(&mut handle), Waker::noop());
    assert!(matches!(output, std::task::Poll::Ready(Ok(7))));
}
