//! What runs, in which order, and what a panic does.

use crate::{LocalExecutor, spawn_local, try_spawn_local};
use mainspring_core::task::{TaskState, yield_now};
use mainspring_core::wait::WaitKind;
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread;

#[test]
fn tasks_run_first_in_first_out_and_a_yield_goes_to_the_tail() {
    let executor = LocalExecutor::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    let tasks: Vec<_> = ['a', 'b', 'c']
        .map(|name| {
            let order = Rc::clone(&order);
            executor.spawn_local(async move {
                for round in 0..2 {
                    order.borrow_mut().push((name, round));
                    yield_now().await;
                }
            })
        })
        .into();
    executor.block_on(async {
        for task in tasks {
            assert!(task.await.is_ok());
        }
    });
    let expected = [('a', 0), ('b', 0), ('c', 0), ('a', 1), ('b', 1), ('c', 1)];
    assert_eq!(*order.borrow(), expected);
}

// WITNESS: local.brief
#[test]
fn task_spawns_lists_and_counts_from_its_poll_and_from_its_destructor() {
    struct Meddles(Rc<LocalExecutor>, Rc<RefCell<Vec<usize>>>);
    impl Meddles {
        fn meddle(&self) {
            self.0.spawn_local(async {}).detach();
            let listed = self.0.tasks();
            assert_eq!(listed.len(), self.0.len(), "local.brief");
            self.1.borrow_mut().push(listed.len());
        }
    }
    impl Drop for Meddles {
        fn drop(&mut self) {
            self.meddle();
        }
    }
    let executor = Rc::new(LocalExecutor::new());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let meddler = Meddles(Rc::clone(&executor), Rc::clone(&seen));
    let task = executor.spawn_local(async move {
        meddler.meddle();
        pending::<()>().await;
    });
    executor.block_on(async { yield_now().await });
    task.abort();
    assert!(executor.block_on(task).is_err());
    executor.block_on(async { yield_now().await });
    assert_eq!(*seen.borrow(), [2, 2]);
    assert!(executor.is_empty());
}

#[test]
fn panic_of_a_task_is_its_handles_error_and_nobody_elses() {
    let executor = LocalExecutor::new();
    let (bad, good) = executor.block_on(async {
        let bad = spawn_local(async { panic!("on purpose: {}", std::hint::black_box(7)) });
        let good = spawn_local(async {
            yield_now().await;
            1
        });
        (bad.await, good.await)
    });
    let payload = bad.map(|(): ()| ()).expect_err("it panicked").into_panic();
    assert_eq!(
        payload.downcast_ref::<String>().map(String::as_str),
        Some("on purpose: 7")
    );
    assert_eq!(good.ok(), Some(1));
    assert!(executor.is_empty());
}

#[test]
fn panic_of_the_root_leaves_the_executor_usable() {
    let executor = LocalExecutor::new();
    let task = executor.spawn_local(async { 3 });
    let caught = catch_unwind(AssertUnwindSafe(|| {
        executor.block_on(async { panic!("root") })
    }));
    assert!(caught.is_err());
    assert_eq!(executor.block_on(task).ok(), Some(3));
}

#[test]
fn task_woken_by_another_thread_runs() {
    let executor = LocalExecutor::new();
    let (wakers, woken) = mpsc::channel::<Waker>();
    let other = thread::spawn(move || {
        while let Ok(waker) = woken.recv() {
            waker.wake();
        }
    });
    let task = executor.spawn_local(async move {
        for _ in 0..1_000 {
            let mut sent = false;
            poll_fn(|cx| {
                if sent {
                    return Poll::Ready(());
                }
                sent = true;
                wakers
                    .send(cx.waker().clone())
                    .expect("the thread receives until the end");
                Poll::Pending
            })
            .await;
        }
    });
    assert!(executor.block_on(task).is_ok());
    assert!(other.join().is_ok());
}

#[test]
fn spawning_outside_is_refused_with_its_code_or_gives_the_future_back() {
    assert!(try_spawn_local(async {}).is_err());
    let caught = catch_unwind(|| drop(spawn_local(async {})));
    let payload = caught.expect_err("nothing runs here");
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
    assert!(text.is_some_and(|text| text.starts_with("MS0001")));
}

#[test]
fn running_an_executor_inside_itself_is_refused_with_its_code() {
    let executor = Rc::new(LocalExecutor::new());
    let inner = Rc::clone(&executor);
    let task = executor.spawn_local(async move { inner.block_on(async {}) });
    let error = executor
        .block_on(task)
        .expect_err("the nested call panicked");
    let payload = error.into_panic();
    let text = payload.downcast_ref::<&str>().copied().unwrap_or_default();
    assert!(text.starts_with("MS0002"), "{text}");
}

// WITNESS: hub.home
#[test]
fn two_executors_on_one_thread_keep_their_tasks_apart() {
    let (first, second) = (LocalExecutor::new(), LocalExecutor::new());
    let (one, two) = (
        first.spawn_local(async { 1 }),
        second.spawn_local(async { 2 }),
    );
    assert_eq!(second.block_on(two).ok(), Some(2));
    assert_eq!(
        first.len(),
        1,
        "the second executor ran the first one's task"
    );
    assert_eq!(first.block_on(one).ok(), Some(1));
}

#[test]
fn snapshot_names_where_a_task_was_spawned_and_what_it_waits_for() {
    let executor = LocalExecutor::new();
    let idle = executor.spawn_local(pending::<()>());
    let line = line!() - 1;
    let joiner = executor.spawn_local(idle);
    let _ = executor.tick();
    let tasks = executor.tasks();
    assert_eq!(tasks.len(), 2);
    assert!(tasks.iter().all(|task| task.state == TaskState::Waiting));
    assert_eq!(tasks[1].spawned_at.line(), line);
    assert_eq!(
        tasks[0].waits_for.map(|reason| reason.kind),
        Some(WaitKind::Join)
    );
    drop(joiner);
}
