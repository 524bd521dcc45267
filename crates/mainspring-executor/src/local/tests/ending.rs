//! Aborts, drops and shutdown: every future is dropped once, at home.

use crate::{LocalExecutor, spawn_local};
use mainspring_core::task::yield_now;
use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};

/// Notes on which thread it is dropped.
struct Witness(mpsc::Sender<ThreadId>);

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().id());
    }
}

fn guarded(guard: Witness) -> impl Future<Output = ()> {
    let here = Rc::new(());
    async move {
        let _kept = (guard, here);
        pending::<()>().await;
    }
}

// WITNESS: local.home-only, local.listed
#[test]
fn executor_dropped_with_tasks_drops_each_at_home() {
    let (sender, receiver) = mpsc::channel();
    let executor = LocalExecutor::new();
    for _ in 0..3 {
        drop(executor.spawn_local(guarded(Witness(sender.clone()))));
    }
    let _ = executor.tick();
    let kept = executor.spawn_local(guarded(Witness(sender.clone())));
    drop(executor);
    drop(sender);
    let here = thread::current().id();
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [here; 4]);
    let error = crate::block_on(kept).expect_err("it was cancelled");
    assert!(error.is_cancelled());
}

struct Panics;

impl std::task::Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker, on purpose");
    }
}

// WITNESS: local.listed
#[test]
fn waker_that_panics_at_the_shutdown_signal_keeps_no_task_from_being_dropped() {
    let (sender, receiver) = mpsc::channel();
    let executor = LocalExecutor::new();
    let signal = executor.block_on(async { mainspring_core::shutdown::signal() });
    let mut requested = std::pin::pin!(signal.requested());
    let waker = Waker::from(Arc::new(Panics));
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(requested.as_mut().poll(&mut cx).is_pending());
    drop(executor.spawn_local(guarded(Witness(sender))));
    drop(executor);
    assert_eq!(receiver.iter().count(), 1);
}

// B037. WITNESS: local.home-only
#[test]
fn abort_from_another_thread_drops_the_future_at_home() {
    let (sender, receiver) = mpsc::channel();
    let executor = LocalExecutor::new();
    let task = executor.spawn_local(guarded(Witness(sender)));
    let _ = executor.tick();
    let abort = task.abort_handle();
    assert!(thread::spawn(move || abort.abort()).join().is_ok());
    assert!(
        receiver.try_recv().is_err(),
        "local.home-only: dropped by the aborting thread"
    );
    assert!(
        executor
            .block_on(task)
            .is_err_and(|error| error.is_cancelled())
    );
    assert_eq!(receiver.recv(), Ok(thread::current().id()));
}

// B016, B017, B040: destructors that wake, abort and spawn while everything is being ended.
#[test]
fn destructors_that_wake_and_spawn_during_shutdown_are_served() {
    struct Meddler {
        wakers: Rc<RefCell<Vec<Waker>>>,
        refused: Rc<Cell<u32>>,
    }
    impl Drop for Meddler {
        fn drop(&mut self) {
            for waker in self.wakers.borrow().iter() {
                waker.wake_by_ref();
            }
            let task = spawn_local(async {});
            self.refused
                .set(self.refused.get() + u32::from(task.is_finished()));
        }
    }
    let executor = LocalExecutor::new();
    let wakers = Rc::new(RefCell::new(Vec::new()));
    let refused = Rc::new(Cell::new(0));
    for _ in 0..3 {
        let meddler = Meddler {
            wakers: Rc::clone(&wakers),
            refused: Rc::clone(&refused),
        };
        let registered = Rc::clone(&wakers);
        drop(executor.spawn_local(async move {
            let _kept = meddler;
            poll_fn(|cx| {
                registered.borrow_mut().push(cx.waker().clone());
                Poll::<()>::Pending
            })
            .await;
        }));
    }
    let _ = executor.tick();
    drop(executor);
    assert_eq!(refused.get(), 3);
}

// B001, B047. WITNESS: local.no-sleeper
#[test]
fn wakes_racing_the_drop_of_the_executor_are_harmless() {
    for _ in 0..300 {
        let executor = LocalExecutor::new();
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        for _ in 0..4 {
            let wakers = Arc::clone(&wakers);
            drop(executor.spawn_local(poll_fn(move |cx| {
                wakers.lock().unwrap().push(cx.waker().clone());
                Poll::<()>::Pending
            })));
        }
        let _ = executor.tick();
        let start = Arc::new(Barrier::new(2));
        let other = {
            let (start, taken) = (
                Arc::clone(&start),
                std::mem::take(&mut *wakers.lock().unwrap()),
            );
            thread::spawn(move || {
                start.wait();
                for waker in taken {
                    waker.wake_by_ref();
                    waker.wake();
                }
            })
        };
        start.wait();
        drop(executor);
        assert!(other.join().is_ok());
    }
}

// B044: an executor kept in a thread-local, with tasks, ends with its thread.
#[test]
fn executor_in_a_thread_local_ends_with_its_thread() {
    thread_local! { static KEPT: RefCell<Option<LocalExecutor>> = const { RefCell::new(None) }; }
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let executor = LocalExecutor::new();
        drop(executor.spawn_local(guarded(Witness(sender))));
        executor.block_on(yield_now());
        KEPT.set(Some(executor));
    });
    let id = thread.thread().id();
    assert!(thread.join().is_ok());
    assert_eq!(receiver.recv(), Ok(id));
}

#[test]
fn detached_task_goes_on() {
    let executor = LocalExecutor::new();
    let done = Rc::new(Cell::new(false));
    let set = Rc::clone(&done);
    drop(executor.spawn_local(async move {
        yield_now().await;
        set.set(true);
    }));
    executor.block_on(async {
        while !done.get() {
            yield_now().await;
        }
    });
    assert!(executor.is_empty());
}
