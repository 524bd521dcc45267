//! Wakers: what they cost, whom they equal, how long they live, and what they never do inline.

use super::support::{Drops, Queue, poll_once, scheduler, spawn};
use crate::sync::Arc;
use crate::task::{self, JoinHandle, Ran, WakeCause, yield_now};
use std::future::{pending, poll_fn};
use std::sync::Mutex;
use std::task::{Poll, Waker};

/// A task that hands its waker out at each poll and never ends, and what it holds.
fn waker_of(queue: &Arc<Queue>) -> (Waker, JoinHandle<()>, Drops) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let drops = Drops::new();
    let guard = drops.guard();
    let join = spawn(queue, async move {
        let _guard = guard;
        poll_fn(move |cx| {
            let _ = sender.send(cx.waker().clone());
            Poll::Pending
        })
        .await
    });
    queue.run_all();
    (receiver.recv().unwrap(), join, drops)
}

// WITNESS: task.waker
#[test]
fn wakers_of_one_task_are_equal_and_of_two_are_not() {
    let queue = Queue::new();
    let (one, first, _) = waker_of(&queue);
    let (two, second, _) = waker_of(&queue);
    assert!(one.will_wake(&one.clone()), "task.waker");
    assert!(!one.will_wake(&two));
    drop((first, second));
    queue.shut_down();
}

// WITNESS: task.waker, task.alive, task.scheduler
#[test]
fn waker_outlives_its_executor_and_holds_nothing_of_it() {
    let queue = Queue::new();
    let (waker, join, drops) = waker_of(&queue);
    drop(join);
    queue.shut_down();
    assert_eq!(drops.count(), 1);
    assert_eq!(
        Arc::strong_count(&queue),
        1,
        "task.scheduler: a stray waker holds it"
    );
    drop(queue);
    waker.wake_by_ref();
    let other = waker.clone();
    other.wake();
    std::thread::spawn(move || waker.wake()).join().unwrap();
}

// B014: woken by reference, the only waker dropped before the run, with and without the handle.
// WITNESS: task.alive
#[test]
fn scheduled_task_needs_neither_waker_nor_handle() {
    for keep in [true, false] {
        let queue = Queue::new();
        let (waker, join, drops) = waker_of(&queue);
        let join = Some(join).filter(|_| keep);
        waker.wake_by_ref();
        drop(waker);
        assert_eq!(queue.run_all(), [Ran::Idle]);
        assert_eq!(drops.count(), 0, "a task that waits on purpose goes on");
        queue.shut_down();
        assert_eq!(drops.count(), 1, "task.future-once");
        drop(join);
    }
}

// B019, B016: a destructor that holds a lock wakes a task that takes the same lock.
// WITNESS: task.waker
#[test]
fn waking_neither_polls_nor_drops_inline() {
    let queue = Queue::new();
    let lock = Arc::new(Mutex::new(()));
    let (waker, join, _) = waker_of(&queue);
    let theirs = Arc::clone(&lock);
    let taker = spawn(&queue, async move {
        let mut first = true;
        poll_fn(move |cx| {
            let _held = theirs.lock().unwrap();
            if std::mem::take(&mut first) {
                waker.wake_by_ref();
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await
    });
    queue.run_all();
    assert!(taker.is_finished());
    join.abort();
    queue.run_all();
}

// WITNESS: task.one-poller
#[test]
fn causes_tell_wake_self_wake_and_yield_apart() {
    let queue = Queue::new();
    let (waker, join, _) = waker_of(&queue);
    waker.wake_by_ref();
    waker.wake();
    let mut yields = spawn(&queue, async {
        yield_now().await;
        1
    });
    let mut woken = false;
    let wakes_itself = spawn(
        &queue,
        poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut woken, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }),
    );
    queue.run_all();
    let expected = [
        WakeCause::Spawn,
        WakeCause::Wake,
        WakeCause::Spawn,
        WakeCause::Spawn,
        WakeCause::Yield,
        WakeCause::SelfWake,
    ];
    assert_eq!(queue.causes(), expected);
    assert!(matches!(poll_once(&mut yields), Poll::Ready(Ok(1))));
    assert!(wakes_itself.is_finished());
    join.abort();
    queue.run_all();
}

// B020: the latest waker of the joiner is the one that is woken.
// WITNESS: task.joiner-slot
#[test]
fn join_wakes_whoever_polled_last() {
    let queue = Queue::new();
    let joined = Queue::new();
    let (first, one, _) = waker_of(&queue);
    let (second, two, _) = waker_of(&queue);
    queue.causes();
    let mut join = spawn(&joined, async { 9 });
    for waker in [&first, &second, &second] {
        let polled = std::pin::Pin::new(&mut join);
        let mut cx = std::task::Context::from_waker(waker);
        assert!(polled.poll(&mut cx).is_pending());
    }
    joined.run_all();
    assert_eq!(queue.causes(), [WakeCause::Wake]);
    let runnable = queue.pop().unwrap();
    assert_eq!(
        runnable.id(),
        two.id(),
        "task.joiner-slot: the older waker was woken"
    );
    let _ = runnable.run();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(9))));
    drop((first, second, one, two));
    queue.shut_down();
}

// B047: wakers that another thread holds fire during the executor's end and after it.
// WITNESS: task.alive, task.scheduler
#[test]
fn executor_ends_while_another_thread_wakes_its_tasks() {
    for _ in 0..200 {
        let queue = Queue::new();
        let (waker, join, drops) = waker_of(&queue);
        drop(join);
        let barrier = Arc::new(std::sync::Barrier::new(2));
        let theirs = Arc::clone(&barrier);
        let thread = std::thread::spawn(move || {
            theirs.wait();
            for _ in 0..20 {
                waker.wake_by_ref();
            }
            waker.wake();
        });
        barrier.wait();
        queue.shut_down();
        drop(queue);
        thread.join().unwrap();
        assert_eq!(drops.count(), 1, "task.future-once");
    }
}

// B017: destructors that wake, abort and spawn siblings while their executor ends.
// WITNESS: task.registry, task.future-once
#[test]
fn destructors_reach_their_siblings_while_the_executor_ends() {
    struct Reaches {
        sibling: Waker,
        abort: task::AbortHandle,
        queue: std::sync::Weak<Queue>,
        late: Arc<Mutex<Option<JoinHandle<u32>>>>,
    }
    impl Drop for Reaches {
        fn drop(&mut self) {
            self.sibling.wake_by_ref();
            self.abort.abort();
            let queue = self.queue.upgrade().unwrap();
            let (runnable, join) = task::create(async { 1 }, scheduler(&queue));
            queue.accept(runnable);
            self.late.lock().unwrap().replace(join);
        }
    }
    let queue = Queue::new();
    let (sibling, join, drops) = waker_of(&queue);
    let late = Arc::new(Mutex::new(None));
    let reaches = Reaches {
        sibling,
        abort: join.abort_handle(),
        queue: Arc::downgrade(&queue),
        late: Arc::clone(&late),
    };
    let outer = spawn(&queue, async move {
        let _reaches = reaches;
        pending::<()>().await;
    });
    queue.run_all();
    queue.shut_down();
    assert!(outer.is_finished() && join.is_finished());
    assert_eq!(drops.count(), 1);
    assert!(late.lock().unwrap().take().unwrap().is_finished());
}
