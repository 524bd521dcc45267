use super::{Counts, WORKERS, never, over, patiently, stealing};
use crate::pair;
use mainspring::shutdown;
use mainspring::task::WaitKind;
use mainspring::time::sleep;
use mainspring::{Runtime, spawn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn shutdown_lets_listeners_end_and_names_the_others() {
    for runtime in stealing() {
        let drops = Arc::new(AtomicUsize::new(0));
        let listening: Vec<_> = (0..WORKERS)
            .map(|worker| {
                runtime.spawn_pinned(worker, || async {
                    shutdown::signal().requested().await;
                    sleep(Duration::from_millis(1)).await;
                    "ended well"
                })
            })
            .collect();
        let counts = Counts(Arc::clone(&drops));
        runtime
            .spawn(async move {
                let _counts = counts;
                sleep(Duration::from_secs(3600)).await;
            })
            .detach();
        // It waits before it is asked to end.
        while !runtime.tasks().iter().any(|task| {
            let reason = task.waits_for;
            reason.is_some_and(|reason| reason.kind == WaitKind::Timer)
        }) {
            thread::yield_now();
        }
        // Half of it is for the listeners, whatever else this machine does meanwhile.
        let report = runtime.shutdown(Duration::from_secs(2));
        assert_eq!(report.dropped.len(), 1, "{report}");
        let said = report.to_string();
        assert!(
            said.contains("ending.rs") && said.contains("Timer"),
            "{said}"
        );
        assert_eq!((drops.load(SeqCst), runtime.len()), (1, 0));
        for task in listening {
            assert_eq!(runtime.block_on(task).ok(), Some("ended well"));
        }
    }
}

#[test]
fn what_is_spawned_after_the_end_is_cancelled() {
    for runtime in stealing() {
        let report = runtime.shutdown(LIMIT);
        assert!(report.is_clean(), "{report}");
        let drops = Arc::new(AtomicUsize::new(0));
        let handle = runtime.handle();
        let late = [
            runtime.spawn(never(&drops)),
            handle.spawn(never(&drops)),
            runtime.spawner().spawn(never(&drops)),
            runtime.spawn_pinned(1, {
                let counts = Counts(Arc::clone(&drops));
                move || async move { drop(counts) }
            }),
        ];
        assert_eq!(drops.load(SeqCst), 4);
        // The thread that blocks is its own: it still can.
        runtime.block_on(async {
            for task in late {
                assert!(task.await.is_err_and(|error| error.is_cancelled()));
            }
            let free = spawn(async {}).await;
            assert!(free.is_err_and(|error| error.is_cancelled()));
        });
        // Once more is once too often, and harmless.
        assert!(runtime.shutdown(LIMIT).is_clean());
        drop(runtime);
        let gone = mainspring::block_on(handle.spawn(async {}));
        assert!(gone.is_err_and(|error| error.is_cancelled()));
    }
}

#[test]
fn cleanups_are_run_after_the_tasks_are_gone() {
    for runtime in stealing() {
        let cleaned = Arc::new(AtomicUsize::new(0));
        let (cleaning, spawner) = (Arc::clone(&cleaned), runtime.spawner());
        runtime
            .spawn(async move {
                shutdown::signal().requested().await;
                let cleanup = async move {
                    let (mut client, mut server) = pair().await;
                    client.write_all(b"bye").await.expect("an open connection");
                    server.read_exact(&mut [0; 3]).await.expect("three bytes");
                    cleaning.fetch_add(1, SeqCst);
                };
                spawner.spawn_cleanup(cleanup, LIMIT).detach();
            })
            .detach();
        let report = runtime.shutdown(LIMIT);
        assert!(report.is_clean(), "{report}");
        assert_eq!(cleaned.load(SeqCst), 1);
    }
}

/// What this process has of a thing that the system lists.
#[cfg(target_os = "linux")]
fn count(directory: &str) -> usize {
    let listed = std::fs::read_dir(directory).expect("the system's list");
    listed.count()
}

/// Waits until there are so many threads: one that was waited for leaves the list a moment later.
#[cfg(target_os = "linux")]
fn wait_for_threads(expected: usize) {
    while count("/proc/self/task") != expected {
        thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn hundred_runtimes_leave_no_thread_and_no_descriptor_behind() {
    const MARK: &str = "MAINSPRING_TEST_HUNDRED";
    if std::env::var_os(MARK).is_none() {
        let name = "stealing::ending::hundred_runtimes_leave_no_thread_and_no_descriptor_behind";
        return crate::in_a_process_of_its_own(name, MARK, 128);
    }
    let once = |backend, is_shut_down| {
        let runtime = over(backend);
        let drops = Arc::new(AtomicUsize::new(0));
        runtime.spawn(never(&drops)).detach();
        // Over and over if the calling thread gets no ring: nothing has been polled then.
        patiently(|| {
            runtime.try_block_on(async {
                let worker = spawn(async {
                    let (mut client, mut server) = pair().await;
                    client.write_all(b"x").await?;
                    server.read_exact(&mut [0]).await?;
                    sleep(Duration::from_micros(50)).await;
                    std::io::Result::Ok(())
                });
                pair().await;
                worker.await.expect("no panic").expect("no error");
            })
        });
        if is_shut_down {
            assert_eq!(runtime.shutdown(Duration::ZERO).dropped.len(), 1);
        }
        drop(runtime);
        assert_eq!(drops.load(SeqCst), 1);
    };
    for backend in crate::backends() {
        // The thread that blocks keeps a reactor, and drops it when it makes the next.
        once(backend, true);
        once(backend, false);
        let descriptors = count("/proc/self/fd");
        let threads = 2; // this one, and the one that started it
        wait_for_threads(threads);
        for round in 0..50 {
            once(backend, round % 2 == 0);
        }
        wait_for_threads(threads);
        assert_eq!(count("/proc/self/fd"), descriptors, "{backend}");
    }
}

/// In a process with too few descriptors for all workers: what could be had is given back.
#[cfg(target_os = "linux")]
#[test]
fn runtime_that_cannot_be_built_leaves_nothing_behind_and_says_why() {
    const MARK: &str = "MAINSPRING_TEST_TOO_FEW";
    if std::env::var_os(MARK).is_none() {
        let name =
            "stealing::ending::runtime_that_cannot_be_built_leaves_nothing_behind_and_says_why";
        return crate::in_a_process_of_its_own(name, MARK, 16);
    }
    let (threads, descriptors) = (count("/proc/self/task"), count("/proc/self/fd"));
    let refused = crate::backends().into_iter().map(|backend| {
        let builder = Runtime::builder().workers(32).backend(backend);
        let error = builder.build().expect_err("there are too few descriptors");
        wait_for_threads(threads);
        assert_eq!(count("/proc/self/fd"), descriptors);
        (backend, error.to_string())
    });
    for (backend, why) in refused {
        let is_ring = backend == mainspring::Backend::Uring;
        assert_eq!(why.contains("MS0009"), is_ring, "{backend}: {why}");
        assert!(is_ring || why.contains("os error 24"), "{backend}: {why}");
    }
    // The limit is not in the way of one that has enough.
    let runtime = Runtime::builder().workers(1).build().expect("one worker");
    assert_eq!(
        runtime.block_on(async { spawn(async { 1 }).await }).ok(),
        Some(1)
    );
}

/// A thread that is refused a reactor is told so, the workers are not concerned, and it may try
/// again.
#[cfg(target_os = "linux")]
#[test]
fn thread_that_is_refused_a_reactor_is_told_so_and_may_come_back() {
    const MARK: &str = "MAINSPRING_TEST_NO_SEAT";
    if std::env::var_os(MARK).is_none() {
        let name =
            "stealing::ending::thread_that_is_refused_a_reactor_is_told_so_and_may_come_back";
        return crate::in_a_process_of_its_own(name, MARK, 64);
    }
    for runtime in stealing() {
        // On a thread of its own, which takes what it keeps along when it ends.
        let refused = thread::spawn(move || is_refused_a_reactor(&runtime));
        refused.join().expect("no panic");
    }
}

#[cfg(target_os = "linux")]
fn is_refused_a_reactor(runtime: &Runtime) {
    let mut files = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        files.push(file);
    }
    let refused = runtime.try_block_on(async { unreachable!("it is not polled") });
    assert!(refused.is_err());
    let panicked = catch_unwind(AssertUnwindSafe(|| runtime.block_on(async {})));
    let payload = panicked.expect_err("a refusal");
    let said = payload.downcast_ref::<String>().expect("a text");
    assert!(
        said.starts_with("MS0011") && said.contains("try_block_on"),
        "{said}"
    );
    let task = runtime.spawn(async { spawn(async { 6 }).await.map(|n| n + 1) });
    while !task.is_finished() {
        thread::yield_now();
    }
    drop(files);
    assert_eq!(runtime.block_on(task).ok().and_then(Result::ok), Some(7));
}
