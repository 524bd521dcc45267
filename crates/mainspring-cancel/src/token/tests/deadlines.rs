//! Deadlines: who is told, where callbacks run, what is freed.

use super::wakers::poll;
use crate::{CancelToken, Phase, Reason, What};
use mainspring_core::park::Parker;
use mainspring_core::spawn::{self, Boxed, Spawn, Spawner};
use mainspring_core::time::Deadline;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_secs(3_600);

fn soon() -> Deadline {
    Deadline::after(SOON)
}

fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Arc::new(parker.unparker()).into();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        parker.park();
    }
}

/// Hands what is spawned to the test.
struct Handing(Mutex<Sender<Boxed>>);

impl Spawn for Handing {
    fn spawn(&self, future: Boxed) {
        let _ = self.0.lock().unwrap().send(future);
    }
}

fn handing() -> (Spawner, Receiver<Boxed>) {
    let (sender, receiver) = channel();
    (Spawner::new(Handing(Mutex::new(sender))), receiver)
}

// WITNESS: deadline.watched
#[test]
fn deadline_cancels_with_its_reason_and_everything_below() {
    let root = CancelToken::new();
    let line = line!() + 1;
    let token = root.with_deadline(soon());
    let below = token.child();
    assert_eq!(below.deadline(), token.deadline());
    let reason = block_on(below.cancelled());
    assert_eq!(reason.origin().what(), What::Timeout);
    assert_eq!(reason.location().line(), line);
    block_on(token.drained());
    assert!(!root.is_cancelled());
    assert!(root.deadline().is_never());
}

// WITNESS: deadline.watched
#[test]
fn deadline_that_has_passed_cancels_at_once() {
    let root = CancelToken::new();
    let token = root.with_deadline(Deadline::after(Duration::ZERO));
    assert_eq!(block_on(token.cancelled()).what(), What::Timeout);
    let late = token.with_deadline(Deadline::after(Duration::ZERO));
    assert!(late.is_cancelled());
    assert!(!root.with_deadline(Deadline::never()).is_cancelled());
}

// WITNESS: deadline.one-look
#[test]
fn token_that_ends_before_its_deadline_frees_its_timer() {
    let root = CancelToken::new();
    let alive = || root.node.lock().children().len();
    let token = root.with_deadline(Deadline::after(LATE));
    let node = Arc::downgrade(&token.node);
    assert_eq!(alive(), 1);
    drop(token);
    assert_eq!(alive(), 0);
    assert_eq!(node.strong_count(), 0, "the timer's waker keeps it");
    let token = root.with_deadline(Deadline::after(LATE));
    let node = Arc::downgrade(&token.node);
    token.cancel(Reason::requested());
    assert!(token.node.lock().timer.is_none());
    drop(token);
    assert_eq!(node.strong_count(), 0, "the timer's waker keeps it");
}

// WITNESS: deadline.one-look
#[test]
fn callbacks_of_a_deadline_run_in_a_task_where_one_can_be_spawned() {
    let (spawner, spawned) = handing();
    let token = {
        let _entered = spawn::enter(&spawner);
        CancelToken::new().with_deadline(soon())
    };
    let (sender, called) = channel();
    let registration = token.on_cancel(move |_| sender.send(thread::current().id()).unwrap());
    block_on(token.cancelled());
    let mut task = spawned.recv().unwrap();
    // Everybody is told; what waits for its end is the callback.
    assert_eq!(token.phase(), Phase::Cancelling);
    assert!(called.try_recv().is_err());
    assert!(poll(task.as_mut(), Waker::noop()).is_ready());
    assert_eq!(called.recv().unwrap(), thread::current().id());
    block_on(token.drained());
    drop(registration);
}

// WITNESS: deadline.one-look
#[test]
fn callbacks_of_a_deadline_run_where_their_task_is_dropped() {
    let (spawner, spawned) = handing();
    let token = {
        let _entered = spawn::enter(&spawner);
        CancelToken::new().with_deadline(soon())
    };
    let (sender, called) = channel();
    let registration = token.on_cancel(move |_| sender.send(()).unwrap());
    drop(spawned.recv().unwrap());
    called.recv().unwrap();
    block_on(token.drained());
    drop(registration);
}

// WITNESS: deadline.watched
#[test]
fn callbacks_of_a_deadline_run_without_any_executor() {
    let token = CancelToken::new().with_deadline(soon());
    let (sender, called) = channel();
    let registration = token.on_cancel(move |reason| sender.send(reason.what()).unwrap());
    assert_eq!(called.recv().unwrap(), What::Timeout);
    block_on(token.drained());
    drop(registration);
}
