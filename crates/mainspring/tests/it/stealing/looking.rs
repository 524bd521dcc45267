use super::{WORKERS, stealing};
use crate::{listen, runtimes};
use mainspring::sync::channel;
use mainspring::task::{TaskInfo, TaskState, WaitKind};
use mainspring::time::sleep;
use mainspring::{Handle, spawn, yield_now};
use std::collections::BTreeMap;
use std::future::pending;
use std::thread;
use std::time::Duration;

/// What those wait for that wait for something of the family, and how many there are of each.
fn waits(tasks: &[TaskInfo]) -> BTreeMap<String, usize> {
    let mut waits = BTreeMap::new();
    for task in tasks {
        if let (TaskState::Waiting, Some(reason)) = (task.state, task.waits_for) {
            *waits.entry(format!("{:?}", reason.kind)).or_default() += 1;
        }
    }
    waits
}

/// Looks until what is seen is as expected: tasks come to where they wait in their own time.
fn see<T: PartialEq>(expected: &T, look: impl Fn() -> T) {
    while look() != *expected {
        thread::yield_now();
    }
}

#[test]
fn tasks_say_where_they_were_spawned_and_what_they_wait_for() {
    for runtime in stealing() {
        let (sender, receiver) = channel::bounded::<u8>(1);
        runtime.spawn(sleep(Duration::from_secs(3600))).detach();
        runtime
            .spawn(async {
                let (listener, _address) = listen();
                listener.accept().await.map(drop)
            })
            .detach();
        runtime
            .spawn(async move { receiver.recv().await.map(drop) })
            .detach();
        let line = line!() + 1;
        let stranger = runtime.spawn(pending::<()>());
        runtime.spawn(async { stranger.await.map(drop) }).detach();
        let expected = BTreeMap::from([
            (format!("{:?}", WaitKind::Accept), 1),
            (format!("{:?}", WaitKind::Join), 1),
            (format!("{:?}", WaitKind::Receive), 1),
            (format!("{:?}", WaitKind::Timer), 1),
        ]);
        see(&expected, || waits(&runtime.tasks()));
        see(&5, || {
            runtime.tasks().iter().filter(|task| task.polls > 0).count()
        });
        let tasks = runtime.tasks();
        assert_eq!(
            (tasks.len(), runtime.len(), runtime.is_empty()),
            (5, 5, false)
        );
        let stranger = tasks.iter().find(|task| task.spawned_at.line() == line);
        let stranger = stranger.expect("it is listed");
        assert!(stranger.spawned_at.file().ends_with("looking.rs"));
        assert_eq!(
            (stranger.state, stranger.waits_for),
            (TaskState::Waiting, None)
        );
        let timer = tasks.iter().find(|task| {
            task.waits_for
                .is_some_and(|reason| reason.kind == WaitKind::Timer)
        });
        let line = timer.expect("it is listed").to_string();
        assert!(
            line.contains("looking.rs") && line.contains("Timer"),
            "{line}"
        );
        drop(sender);
        see(&4, || runtime.len());
    }
}

#[test]
fn task_that_is_polled_is_running() {
    for runtime in stealing() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let blocking = runtime.spawn(async move { wait.recv().is_err() });
        see(&vec![TaskState::Running], || {
            runtime.tasks().iter().map(|task| task.state).collect()
        });
        drop(go);
        runtime.block_on(blocking).expect("no panic");
        see(&0, || runtime.len());
    }
}

#[test]
fn metrics_count_what_the_workers_do() {
    const POLLS: u64 = 100;
    for runtime in stealing() {
        // When all sleep, nothing moves any more.
        see(&WORKERS, || runtime.metrics().asleep);
        let before = runtime.metrics();
        assert_eq!(before.workers.len(), WORKERS);
        assert_eq!((before.tasks, before.injected, before.searching), (0, 0, 0));
        let yielding = runtime.spawn(async {
            for _ in 1..POLLS {
                yield_now().await;
            }
        });
        runtime.spawn(pending::<()>()).detach();
        runtime.block_on(yielding).expect("no panic");
        see(&WORKERS, || runtime.metrics().asleep);
        let after = runtime.metrics();
        let of = |count: fn(&mainspring::WorkerMetrics) -> u64| {
            let sum =
                |metrics: &mainspring::Metrics| metrics.workers.iter().map(count).sum::<u64>();
            sum(&after) - sum(&before)
        };
        assert_eq!(of(|worker| worker.polls), POLLS + 1);
        assert_eq!(of(|worker| worker.yields), POLLS - 1);
        assert!(of(|worker| worker.parks) >= 1);
        assert!(of(|worker| worker.injections) >= 1);
        assert!(after.workers.iter().all(|worker| worker.queued == 0));
        assert!(
            after
                .workers
                .iter()
                .any(|worker| worker.busy > Duration::ZERO)
        );
        assert_eq!((after.tasks, after.injected), (1, 0));
    }
}

#[test]
fn handle_looks_from_everywhere_at_workers_and_from_home_at_one_thread() {
    for runtime in stealing() {
        let handle = runtime.handle();
        let seen = runtime.block_on(async {
            spawn(async {
                let handle = Handle::current();
                let tasks = handle.tasks().map(|tasks| tasks.len());
                (tasks, handle.metrics().map(|metrics| metrics.workers.len()))
            })
            .await
        });
        assert_eq!(seen.ok(), Some((Some(1), Some(WORKERS))));
        let elsewhere = thread::spawn(move || handle.tasks().is_some());
        assert!(matches!(elsewhere.join(), Ok(true)));
    }
    for runtime in runtimes() {
        let handle = runtime.handle();
        let seen = runtime.block_on(async {
            let task = spawn(async {
                yield_now().await;
                let tasks = Handle::current().tasks().unwrap_or_default();
                tasks.iter().map(|task| task.state).collect::<Vec<_>>()
            });
            task.await
        });
        assert_eq!(seen.ok(), Some(vec![TaskState::Running]));
        let metrics = runtime.metrics();
        assert_eq!((metrics.workers.len(), metrics.tasks), (1, 0));
        assert_eq!(metrics.workers[0].polls, 2);
        assert_eq!(
            handle.metrics().map(|metrics| metrics.workers[0].polls),
            Some(2)
        );
        let elsewhere =
            thread::spawn(move || (handle.tasks().is_none(), handle.metrics().is_none()));
        assert!(matches!(elsewhere.join(), Ok((true, true))));
        // A second of sleep is waited for once at least, whatever wakes it besides.
        runtime.block_on(sleep(Duration::from_millis(1)));
        assert!(runtime.metrics().workers[0].parks >= 1);
    }
}
