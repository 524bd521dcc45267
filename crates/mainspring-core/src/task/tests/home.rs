//! Tasks that are not `Send`: touched at home only, or leaked.

use super::support::{Drops, Queue, poll_once};
use crate::sync::Arc;
use crate::task::{
    self, JoinHandle, LocalSchedule, Ran, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause,
};
use crate::tests::kept::keep;
use std::future::{pending, poll_fn};
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};

/// A home that is one thread.
struct Home {
    thread: ThreadId,
    queue: Arc<Queue>,
}

impl Schedule for Home {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.queue.schedule(runnable, why);
    }

    fn retire(&self, task: &TaskRef) {
        self.queue.retire(task);
    }
}

// SAFETY: one thread has the id.
unsafe impl LocalSchedule for Home {
    fn is_home(&self) -> bool {
        thread::current().id() == self.thread
    }
}

fn home() -> (SchedulerRef, Arc<Queue>) {
    let queue = Queue::new();
    let home = Home {
        thread: thread::current().id(),
        queue: Arc::clone(&queue),
    };
    (SchedulerRef::local(Arc::new(home)), queue)
}

/// Panics, and so fails its test, when it is dropped anywhere but where it was made.
struct AtHome(ThreadId, Drops, PhantomData<Rc<()>>);

impl AtHome {
    fn new(drops: &Drops) -> Self {
        Self(thread::current().id(), drops.clone(), PhantomData)
    }
}

impl Drop for AtHome {
    fn drop(&mut self) {
        assert_eq!(thread::current().id(), self.0, "task.home");
        drop(self.1.guard());
    }
}

/// A local task that waits, and its waker.
fn waiting(scheduler: &SchedulerRef, queue: &Queue, drops: &Drops) -> (JoinHandle<()>, Waker) {
    let at_home = AtHome::new(drops);
    let (sender, receiver) = std::sync::mpsc::channel();
    let future = async move {
        let at_home = at_home;
        poll_fn(move |cx| {
            assert_eq!(thread::current().id(), at_home.0, "task.home");
            let _ = sender.send(cx.waker().clone());
            Poll::Pending
        })
        .await
    };
    let (runnable, join) = task::create_local(future, scheduler.clone());
    queue.accept(runnable);
    assert_eq!(queue.run_one(), Some(Ran::Idle));
    (join, receiver.recv().unwrap())
}

// B037.
// WITNESS: task.home, scheduler.home
#[test]
fn foreign_abort_and_wake_and_handle_drop_leave_the_future_at_home() {
    let (scheduler, queue) = home();
    let drops = Drops::new();
    let (join, waker) = waiting(&scheduler, &queue, &drops);
    thread::spawn(move || {
        waker.wake_by_ref();
        join.abort();
        drop(join);
        waker.wake();
    })
    .join()
    .unwrap();
    assert_eq!(drops.count(), 0, "task.home: dropped by the aborter");
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert_eq!(drops.count(), 1, "task.home");
}

// WITNESS: task.home
#[test]
fn runnable_run_away_from_home_is_sent_home() {
    let (scheduler, queue) = home();
    let drops = Drops::new();
    let (mut join, waker) = waiting(&scheduler, &queue, &drops);
    waker.wake();
    let runnable = queue.pop().unwrap();
    queue.causes();
    let ran = thread::spawn(move || runnable.run()).join().unwrap();
    assert_eq!(ran, Ran::SentHome);
    assert_eq!(queue.causes(), [WakeCause::Home]);
    assert_eq!(queue.run_all(), [Ran::Idle]);
    join.abort();
    queue.run_all();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Err(_))));
    assert_eq!(drops.count(), 1);
}

// WITNESS: task.home, task.future-once
#[test]
fn runnable_dropped_away_from_home_is_sent_home_to_be_dropped() {
    let (scheduler, queue) = home();
    let drops = Drops::new();
    let (mut join, waker) = waiting(&scheduler, &queue, &drops);
    waker.wake();
    let runnable = queue.pop().unwrap();
    thread::spawn(move || drop(runnable)).join().unwrap();
    assert_eq!(drops.count(), 0, "task.home");
    assert!(poll_once(&mut join).is_pending());
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert_eq!(drops.count(), 1);
    let Poll::Ready(Err(error)) = poll_once(&mut join) else {
        panic!("a dropped task gave an output");
    };
    assert!(error.is_cancelled());
}

// WITNESS: task.home, task.alive
#[test]
fn runnable_that_finds_no_home_leaks_its_future_and_says_so() {
    let (scheduler, queue) = home();
    let drops = Drops::new();
    let (mut join, waker) = waiting(&scheduler, &queue, &drops);
    // The queue refuses from here on, though its task was not ended: the rule is broken on purpose.
    queue.refuse();
    let before = task::leaked();
    thread::spawn(move || waker.wake()).join().unwrap();
    assert_eq!(task::leaked(), before + 1, "task.home: not counted");
    assert_eq!(drops.count(), 0, "task.home: dropped on a foreign thread");
    let Poll::Ready(Err(error)) = poll_once(&mut join) else {
        panic!("the join of a leaked task hangs");
    };
    assert!(error.is_cancelled());
    // Leaked on purpose: reachable from here on, so that leak checkers see that we know of it.
    keep(join.abort_handle());
}

// WITNESS: scheduler.home
#[test]
#[should_panic(expected = "MS0018: a local task can be made only at its scheduler's home")]
fn local_task_cannot_be_made_away_from_home() {
    let (scheduler, _queue) = home();
    let made = thread::spawn(move || {
        drop(task::create_local(async { drop(Rc::new(())) }, scheduler));
    });
    if let Err(payload) = made.join() {
        std::panic::resume_unwind(payload);
    }
}

// WITNESS: scheduler.home
#[test]
#[should_panic(expected = "MS0018: a local task can be made only at its scheduler's home")]
fn local_task_needs_a_scheduler_with_a_home() {
    let queue = Queue::new();
    let scheduler = SchedulerRef::from(queue);
    drop(task::create_local(async { drop(Rc::new(())) }, scheduler));
}

// The output of a local task is the handle's, if the handle may leave home at all.
// WITNESS: join.send, task.output-once
#[test]
fn output_that_is_send_may_be_dropped_by_a_foreign_handle() {
    let (scheduler, queue) = home();
    let drops = Drops::new();
    let guard = drops.guard();
    let rc = Rc::new(());
    let (runnable, join) = task::create_local(
        async move {
            drop(rc);
            guard
        },
        scheduler,
    );
    queue.accept(runnable);
    queue.run_all();
    assert_eq!(drops.count(), 0);
    thread::spawn(move || drop(join)).join().unwrap();
    assert_eq!(drops.count(), 1, "task.output-once");
}

// WITNESS: join.send
#[test]
fn handles_are_as_send_as_what_they_give() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<JoinHandle<u8>>();
    is_sync::<JoinHandle<u8>>();
    is_send::<Runnable>();
    is_send::<TaskRef>();
    is_sync::<TaskRef>();
    is_send::<task::JoinError>();
    is_sync::<task::JoinError>();
    // The trick of ambiguous implementations: this compiles only if exactly one applies.
    trait NotSend<A> {
        fn check() {}
    }
    impl<T: ?Sized> NotSend<()> for T {}
    impl<T: ?Sized + Send> NotSend<u8> for T {}
    <JoinHandle<Rc<()>> as NotSend<_>>::check();
}

// WITNESS: task.home
#[test]
fn executor_that_ends_at_home_drops_what_foreign_threads_still_wake() {
    let (scheduler, queue) = home();
    let drops = Drops::new();
    let (join, waker) = waiting(&scheduler, &queue, &drops);
    let never = AtHome::new(&drops);
    let (runnable, other) = task::create_local(
        async move {
            let _never = never;
            pending::<()>().await;
        },
        scheduler.clone(),
    );
    queue.accept(runnable);
    queue.shut_down();
    assert_eq!(drops.count(), 2, "task.home");
    thread::spawn(move || waker.wake()).join().unwrap();
    assert!(join.is_finished() && other.is_finished());
}
