//! The cure end to end: tasks, their polls, and a lock that one of them holds without polling.

use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use crate::task::{self, JoinHandle, Runnable, Schedule, SchedulerRef, WakeCause};
use crate::wait_list::{Cure, From, WaitList};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

#[derive(Default)]
struct Queue(Mutex<VecDeque<Runnable>>);

impl Schedule for Queue {
    fn schedule(&self, runnable: Runnable, _: WakeCause) {
        self.0.lock().unwrap().push_back(runnable);
    }
}

impl Queue {
    fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, join) = task::create(future, SchedulerRef::from(Arc::clone(self)));
        runnable.schedule();
        join
    }

    fn run_until_idle(&self) {
        loop {
            let next = self.0.lock().unwrap().pop_front();
            let Some(runnable) = next else { return };
            let _ = runnable.run();
        }
    }
}

/// A task that asks for a permit, and then waits for something else with the request in its hands.
async fn distracted(permits: Arc<WaitList<Permits>>, other: Arc<WaitList<Stored>>) {
    let mut asked = pin!(Acquire::new(&*permits, 1));
    let first = poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx))).await;
    assert!(first.is_pending());
    Notified::new(&*other).await;
    asked.await;
    release(&permits, 1);
}

async fn modest(permits: Arc<WaitList<Permits>>) {
    Acquire::new(&*permits, 1).await;
    release(&permits, 1);
}

struct Scene {
    queue: Arc<Queue>,
    permits: Arc<WaitList<Permits>>,
    other: Arc<WaitList<Stored>>,
    distracted: JoinHandle<()>,
    modest: JoinHandle<()>,
}

/// The permit was released, and everything that could run has run.
fn scene(permits: WaitList<Permits>) -> Scene {
    let queue = Arc::new(Queue::default());
    let permits = Arc::new(permits);
    let other = Arc::default();
    let distracted = queue.spawn(distracted(Arc::clone(&permits), Arc::clone(&other)));
    queue.run_until_idle();
    let modest = queue.spawn(modest(Arc::clone(&permits)));
    queue.run_until_idle();
    release(&permits, 1);
    queue.run_until_idle();
    Scene {
        queue,
        permits,
        other,
        distracted,
        modest,
    }
}

// WITNESS: wait-list.revoke
#[test]
fn revocable_permit_goes_round_the_task_that_does_not_poll_for_it() {
    let scene = scene(Permits::revocable(0));
    assert!(scene.modest.is_finished());
    assert!(!scene.distracted.is_finished());
    assert_eq!(scene.permits.kind().available(), 1);
    notify(&scene.other, From::Oldest);
    scene.queue.run_until_idle();
    assert!(scene.distracted.is_finished());
}

// WITNESS: wait-list.hand-on
#[test]
fn strict_permit_waits_for_its_task_and_is_named() {
    let scene = scene(Permits::list(0));
    assert!(!scene.modest.is_finished());
    let diagnosis = scene.permits.diagnose();
    assert_eq!(diagnosis.offers[0].cure, Cure::SameTask);
    assert_eq!(
        diagnosis.offers[0].task,
        Some(scene.distracted.id().as_u64())
    );
    notify(&scene.other, From::Oldest);
    scene.queue.run_until_idle();
    assert!(scene.distracted.is_finished() && scene.modest.is_finished());
}

// WITNESS: wait-list.hand-on
#[test]
fn aborted_task_gives_its_permit_on() {
    let scene = scene(Permits::list(0));
    scene.distracted.abort();
    scene.queue.run_until_idle();
    assert!(scene.modest.is_finished());
    assert_eq!(scene.permits.kind().available(), 1);
}
