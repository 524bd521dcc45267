//! Aborting: from where it can be done, and what it never does.

use super::support::{Drops, Queue, poll_once, spawn};
use crate::sync::Arc;
use crate::task::{JoinHandle, Ran, WakeCause};
use std::future::pending;
use std::task::{Poll, Waker};

// WITNESS: task.one-poller
#[test]
fn idle_task_is_scheduled_to_be_dropped_not_dropped_inline() {
    let queue = Queue::new();
    let drops = Drops::new();
    let guard = drops.guard();
    let mut join = spawn(&queue, async move {
        let _guard = guard;
        pending::<()>().await;
    });
    assert_eq!(queue.run_one(), Some(Ran::Idle));
    queue.causes();
    join.abort();
    join.abort();
    assert_eq!(
        drops.count(),
        0,
        "task.one-poller: dropped on the aborter's stack"
    );
    assert_eq!(queue.causes(), [WakeCause::Abort]);
    assert!(poll_once(&mut join).is_pending());
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert_eq!(drops.count(), 1);
    let Poll::Ready(Err(error)) = poll_once(&mut join) else {
        panic!("an aborted task gave an output");
    };
    assert!(error.is_cancelled() && !error.is_panic());
    assert_eq!(error.spawned_at().file(), file!());
    assert!(error.to_string().ends_with("was cancelled"), "{error}");
    assert!(error.try_into_panic().is_err());
}

// Its word says RUNNING already: the first run has to look for the abort itself.
// WITNESS: task.one-poller
#[test]
fn task_aborted_before_its_first_run_is_never_polled() {
    let queue = Queue::new();
    let drops = Drops::new();
    let guard = drops.guard();
    let mut join = spawn(&queue, async move {
        drop(guard);
        unreachable!("task.one-poller: polled after an abort");
    });
    join.abort();
    assert_eq!(drops.count(), 0);
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert_eq!(drops.count(), 1);
    let Poll::Ready(Err(error)) = poll_once::<JoinHandle<()>>(&mut join) else {
        panic!("an aborted task gave an output");
    };
    assert!(error.is_cancelled(), "task.one-poller: {error}");
}

// WITNESS: task.one-poller
#[test]
fn task_that_aborts_itself_is_dropped_when_its_poll_ends() {
    let queue = Queue::new();
    let handle = Arc::new(std::sync::Mutex::new(None::<crate::task::AbortHandle>));
    let mine = Arc::clone(&handle);
    let drops = Drops::new();
    let guard = drops.guard();
    let join = spawn(&queue, async move {
        let _guard = guard;
        mine.lock().unwrap().as_ref().unwrap().abort();
        pending::<()>().await;
    });
    *handle.lock().unwrap() = Some(join.abort_handle());
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert_eq!(drops.count(), 1, "task.future-once");
    handle.lock().unwrap().take();
}

// WITNESS: task.output-once
#[test]
fn task_that_finishes_in_the_poll_of_its_abort_keeps_its_output() {
    let queue = Queue::new();
    let handle = Arc::new(std::sync::Mutex::new(None::<crate::task::AbortHandle>));
    let mine = Arc::clone(&handle);
    let mut join = spawn(&queue, async move {
        mine.lock().unwrap().take().unwrap().abort();
        5
    });
    *handle.lock().unwrap() = Some(join.abort_handle());
    queue.run_all();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(5))));
}

#[test]
fn dropped_abort_on_drop_aborts_and_a_finished_one_gives_its_output() {
    let queue = Queue::new();
    let drops = Drops::new();
    let guard = drops.guard();
    let ends = spawn(&queue, async move {
        let _guard = guard;
        pending::<()>().await;
    });
    let mut gives = spawn(&queue, async { 3 }).abort_on_drop();
    queue.run_all();
    drop(ends.abort_on_drop());
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert_eq!(drops.count(), 1);
    assert!(gives.is_finished());
    assert!(matches!(poll_once(&mut gives), Poll::Ready(Ok(3))));
}

// B038: from a plain thread, after the executor's end, and from a thread-local's destructor.
// WITNESS: task.alive, task.scheduler
#[test]
fn abort_works_from_anywhere_at_any_time() {
    struct AbortAtExit(Option<crate::task::AbortHandle>, Option<Waker>);
    impl Drop for AbortAtExit {
        fn drop(&mut self) {
            if let (Some(abort), Some(waker)) = (self.0.take(), self.1.take()) {
                abort.abort();
                waker.wake();
            }
        }
    }
    std::thread_local! {
        static AT_EXIT: std::cell::RefCell<AbortAtExit> =
            const { std::cell::RefCell::new(AbortAtExit(None, None)) };
    }
    let queue = Queue::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let join = spawn(&queue, async move {
        std::future::poll_fn(move |cx| {
            sender.send(cx.waker().clone()).unwrap();
            Poll::<()>::Pending
        })
        .await;
    });
    queue.run_all();
    let (abort, waker) = (join.abort_handle(), receiver.recv().unwrap());
    let later = (abort.clone(), waker.clone());
    std::thread::spawn(move || {
        AT_EXIT.with(|slot| *slot.borrow_mut() = AbortAtExit(Some(abort), Some(waker)));
    })
    .join()
    .unwrap();
    assert_eq!(queue.run_all(), [Ran::Complete]);
    queue.shut_down();
    drop(queue);
    later.0.abort();
    later.1.wake_by_ref();
    assert!(later.0.is_finished());
}
