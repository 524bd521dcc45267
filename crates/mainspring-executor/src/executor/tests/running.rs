use crate::Executor;
use mainspring_core::task::yield_now;
use mainspring_core::time::sleep;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

// WITNESS: executor.inside, executor.noticed, executor.handed-on
#[test]
fn tasks_borrow_and_run_on_all_threads_inside() {
    let sums = Mutex::new(Vec::new());
    let executor = Executor::new();
    let total = executor.run_on(4, async {
        let tasks: Vec<_> = (0..500usize)
            .map(|n| {
                let sums = &sums;
                executor.spawn(async move {
                    for _ in 0..n % 5 {
                        yield_now().await;
                    }
                    sums.lock().unwrap().push(n);
                    n
                })
            })
            .collect();
        let mut total = 0;
        for task in tasks {
            total += task.await.expect("no panic");
        }
        total
    });
    assert_eq!(total, 499 * 500 / 2);
    assert_eq!(sums.lock().unwrap().len(), 500);
    assert!(executor.is_empty());
}

// WITNESS: executor.kept
#[test]
fn drop_drops_what_has_not_ended_and_its_wakers_stay_harmless() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let dropped = AtomicUsize::new(0);
    let wakers = Mutex::new(Vec::new());
    let executor = Executor::new();
    for _ in 0..10 {
        let counted = Counted(&dropped);
        let wakers = &wakers;
        executor
            .spawn(async move {
                let _counted = counted;
                std::future::poll_fn(|cx| {
                    wakers.lock().unwrap().push(cx.waker().clone());
                    std::task::Poll::<()>::Pending
                })
                .await;
            })
            .detach();
    }
    executor.run(async { yield_now().await });
    assert_eq!((executor.len(), dropped.load(Relaxed)), (10, 0));
    drop(executor);
    assert_eq!(dropped.load(Relaxed), 10);
    let wakers = std::mem::take(&mut *wakers.lock().unwrap());
    assert_eq!(wakers.len(), 10);
    wakers.into_iter().for_each(std::task::Waker::wake);
}

// WITNESS: executor.kept
#[test]
fn a_forgotten_executor_drops_nothing_however_late_it_is_woken() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    /// What is forgotten on purpose stays reachable, so that a leak checker tells it from a leak.
    static FORGOTTEN: Mutex<Vec<&Executor<'static>>> = Mutex::new(Vec::new());
    let dropped = Arc::new(AtomicUsize::new(0));
    let waker = Arc::new(Mutex::new(None));
    let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
    FORGOTTEN.lock().unwrap().push(executor);
    executor
        .spawn({
            let (counted, waker) = (Counted(Arc::clone(&dropped)), Arc::clone(&waker));
            async move {
                let _counted = counted;
                std::future::poll_fn(|cx| {
                    *waker.lock().unwrap() = Some(cx.waker().clone());
                    std::task::Poll::<()>::Pending
                })
                .await;
            }
        })
        .detach();
    executor.run(async { yield_now().await });
    let last = waker.lock().unwrap().take().expect("it was polled");
    last.wake();
    assert_eq!(dropped.load(Relaxed), 0);
}

#[test]
fn panics_stay_in_their_task_and_the_root_s_goes_on() {
    let executor = Executor::new();
    let task = executor.spawn(async { panic!("on purpose") });
    let joined: Result<(), _> = executor.run(task);
    assert!(joined.is_err_and(|error| error.is_panic()));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        executor.run_on(2, async { panic!("on purpose") })
    }));
    assert!(caught.is_err());
    assert_eq!(executor.run(async { 7 }), 7);
}

#[test]
fn timers_and_the_free_spawn_work_inside() {
    let executor = Executor::new();
    let slept = executor.run(async {
        let task = crate::spawn(async {
            sleep(Duration::from_millis(1)).await;
            1
        });
        task.await.expect("no panic")
    });
    assert_eq!(slept, 1);
}
