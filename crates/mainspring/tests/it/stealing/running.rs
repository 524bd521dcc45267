use super::{WORKERS, on, stealing};
use crate::{fallback_threads, pair};
use mainspring::time::{Sleep, now, sleep, timeout};
use mainspring::{Backend, Handle, Runtime, spawn, spawn_blocking, spawn_local, yield_now};
use std::collections::BTreeSet;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

#[test]
fn tasks_run_on_the_workers_and_all_of_them_take_part() {
    for runtime in stealing() {
        let meeting = Arc::new(Barrier::new(WORKERS));
        let threads = runtime.block_on(async {
            let tasks: Vec<_> = (0..WORKERS)
                .map(|_| {
                    let meeting = Arc::clone(&meeting);
                    spawn(async move {
                        // Nobody goes on before all are here, each on a thread of its own.
                        meeting.wait();
                        thread::current().name().map(str::to_owned)
                    })
                })
                .collect();
            let mut threads = BTreeSet::new();
            for task in tasks {
                threads.insert(task.await.expect("no panic").expect("a name"));
            }
            threads
        });
        let expected = (0..WORKERS).map(|worker| format!("mainspring-{worker}"));
        assert_eq!(threads, expected.collect());
    }
}

#[test]
fn future_that_is_blocked_on_stays_here_and_needs_not_be_send() {
    for runtime in stealing() {
        let here = thread::current().id();
        let local = Rc::new(1);
        let sum = runtime.block_on(async {
            let (mut client, mut server) = pair().await;
            assert_eq!(client.backend(), runtime.backend());
            // A worker writes to a socket of this thread's.
            let writing = spawn(async move {
                sleep(Duration::from_millis(1)).await;
                client.write_all(&[2]).await
            });
            let mut heard = [0];
            server.read_exact(&mut heard).await.expect("a byte");
            writing.await.expect("no panic").expect("no error");
            sleep(Duration::from_millis(1)).await;
            assert_eq!(thread::current().id(), here);
            *local + heard[0]
        });
        assert_eq!(sum, 3);
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn several_threads_block_on_one_runtime_at_once() {
    for runtime in stealing() {
        // All of them are inside at the same time, or this does not end.
        let inside = Barrier::new(3);
        thread::scope(|scope| {
            for number in 0..3_u8 {
                let (runtime, inside) = (&runtime, &inside);
                scope.spawn(move || {
                    let echo = runtime.block_on(async {
                        inside.wait();
                        let (mut client, mut server) = pair().await;
                        let echoing = spawn(async move {
                            let mut byte = [0];
                            server.read_exact(&mut byte).await?;
                            server.write_all(&byte).await
                        });
                        client.write_all(&[number]).await?;
                        let mut byte = [0];
                        client.read_exact(&mut byte).await?;
                        echoing.await.expect("no panic")?;
                        io::Result::Ok(byte[0])
                    });
                    assert_eq!(echo.expect("no error"), number);
                });
            }
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn block_on_is_refused_on_a_worker_and_inside_itself() {
    fn refusal(result: thread::Result<()>) -> String {
        let payload = result.expect_err("a refusal");
        (*payload.downcast_ref::<&str>().expect("a text")).to_owned()
    }
    for runtime in stealing() {
        let runtime = Arc::new(runtime);
        let same = Arc::clone(&runtime);
        let worker = runtime.spawn(async move {
            let nested = catch_unwind(AssertUnwindSafe(|| same.block_on(async {})));
            let free = catch_unwind(|| mainspring::block_on(async {}));
            let limit = Duration::from_secs(1);
            let ended = catch_unwind(AssertUnwindSafe(|| drop(same.shutdown(limit))));
            [nested, free, ended].map(refusal)
        });
        let here = runtime.block_on(async {
            refusal(catch_unwind(AssertUnwindSafe(|| {
                runtime.block_on(async {})
            })))
        });
        let there = runtime.block_on(worker).expect("no panic");
        for message in there.iter().chain([&here]) {
            assert!(message.starts_with("MS0002"), "{message}");
        }
        assert_eq!(
            runtime.block_on(async { spawn(async { 1 }).await }).ok(),
            Some(1)
        );
    }
}

#[test]
fn local_and_pinned_tasks_stay_where_they_are() {
    for runtime in stealing() {
        for worker in 0..WORKERS {
            let names = runtime.block_on(on(worker, move || async move {
                let local = Rc::new(thread::current().id());
                let task = spawn_local({
                    let local = Rc::clone(&local);
                    async move {
                        yield_now().await;
                        assert_eq!(*local, thread::current().id());
                        thread::current().name().map(str::to_owned)
                    }
                });
                sleep(Duration::from_millis(1)).await;
                assert_eq!(*local, thread::current().id());
                (thread::current().name().map(str::to_owned), task.await.ok())
            }));
            let name = Some(format!("mainspring-{worker}"));
            assert_eq!(names, (name.clone(), Some(name)));
        }
    }
}

#[test]
fn free_functions_say_what_is_missing() {
    let runtime = Runtime::builder().workers(1).build().expect("a runtime");
    let said = |ask: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(ask)).expect_err("a refusal");
        (*payload.downcast_ref::<String>().expect("a text")).clone()
    };
    let inside = |ask: &dyn Fn()| runtime.block_on(async { said(ask) });
    let outside = [
        said(&|| spawn(async {}).detach()),
        said(&|| mainspring::spawn_pinned(0, || async {}).detach()),
        // The thread that blocks is no worker: nobody would run it.
        inside(&|| spawn_local(async {}).detach()),
    ];
    for (message, function) in outside.iter().zip(["spawn", "spawn_pinned", "spawn_local"]) {
        assert!(
            message.starts_with(&format!("MS0001: `{function}`")),
            "{message}"
        );
    }
    let no_such = [
        inside(&|| mainspring::spawn_pinned(1, || async {}).detach()),
        said(&|| runtime.spawn_pinned(7, || async {}).detach()),
        said(&|| runtime.handle().spawn_pinned(1, || async {}).detach()),
    ];
    for message in no_such {
        assert!(message.contains(": there is no worker"), "{message}");
    }
    assert!(Handle::try_current().is_none());
}

#[test]
fn handle_spawns_from_everywhere_and_is_found_inside() {
    for runtime in stealing() {
        let handle = runtime.handle();
        let other = thread::spawn(move || {
            assert!(Handle::try_current().is_none());
            let pinned = handle.spawn_pinned(WORKERS - 1, || async { thread::current().id() });
            let anywhere = handle.spawn(async { Handle::current().workers() });
            mainspring::block_on(async { (pinned.await.ok(), anywhere.await.ok()) })
        });
        let (pinned, workers) = other.join().expect("no panic");
        assert_eq!(workers, Some(WORKERS));
        let last = runtime.block_on(on(WORKERS - 1, || async { thread::current().id() }));
        assert_eq!(pinned, Some(last));
        let (here, spawner) = runtime.block_on(async {
            (
                Handle::current().workers(),
                runtime.spawner().spawn(async { 5 }).await,
            )
        });
        assert_eq!((here, spawner.ok()), (WORKERS, Some(5)));
    }
}

#[test]
fn threads_tell_when_they_begin_and_end() {
    let (began, beginnings) = mpsc::channel();
    let (ended, endings) = mpsc::channel();
    let runtime = Runtime::builder()
        .workers(3)
        .name("hooked")
        .on_thread_start(move |worker| {
            let name = thread::current().name().map(str::to_owned);
            let _ = began.send((worker, name, Handle::try_current().is_some()));
        })
        .on_thread_stop(move |worker| {
            let _ = ended.send(worker);
        })
        .build()
        .expect("a runtime");
    let beginnings: BTreeSet<_> = (0..3).map_while(|_| beginnings.recv().ok()).collect();
    let expected = (0..3).map(|worker| (worker, Some(format!("hooked-{worker}")), true));
    assert_eq!(beginnings, expected.collect());
    assert!(endings.try_recv().is_err());
    let report = runtime.shutdown(Duration::from_secs(10));
    assert!(report.is_clean(), "{report}");
    // The threads were waited for: all of them have told.
    assert_eq!(
        endings.try_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([0, 1, 2])
    );
}

#[test]
fn job_that_blocks_runs_elsewhere_and_its_runtime_waits_for_it() {
    for runtime in stealing() {
        let (go, wait) = mpsc::channel();
        let (told, is_done) = mpsc::channel();
        runtime
            .spawn(async move {
                let job = spawn_blocking(move || {
                    let name = thread::current().name().map(str::to_owned);
                    wait.recv().expect("somebody lets it go");
                    told.send(name).expect("somebody hears it");
                });
                mainspring::shutdown::signal().requested().await;
                go.send(()).expect("it waits");
                job.await.expect("no panic");
            })
            .detach();
        let report = runtime.shutdown(Duration::from_secs(10));
        assert!(report.is_clean(), "{report}");
        let name = is_done.try_recv().expect("done").unwrap_or_default();
        assert!(!name.starts_with("mainspring-"), "{name}");
    }
}

#[test]
fn job_given_to_a_handle_is_its_runtimes_and_refused_after_the_end() {
    let ends = |handle: Handle, end: &dyn Fn() -> usize| {
        let (begun, begins) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let job = handle.spawn_blocking(move || {
            begun.send(()).expect("somebody waits");
            wait.recv().is_err()
        });
        begins.recv().expect("it runs");
        // It is being waited for, until there is no time left.
        assert_eq!(end(), 1);
        drop(go);
        assert!(matches!(mainspring::block_on(job), Ok(true)));
        assert!(mainspring::block_on(handle.spawn_blocking(|| ())).is_err());
    };
    let limit = Duration::from_millis(1);
    for runtime in stealing() {
        ends(runtime.handle(), &|| {
            runtime.shutdown(limit).abandoned_jobs.len()
        });
    }
    for runtime in crate::runtimes() {
        ends(runtime.handle(), &|| {
            runtime.shutdown(limit).abandoned_jobs.len()
        });
    }
}

/// Counts its wakes.
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A sleep on its way to another worker, where somebody waits for it.
struct Sent(Pin<Box<Sleep>>);

#[test]
fn sleep_armed_on_one_worker_is_reset_and_dropped_on_others() {
    for runtime in stealing() {
        runtime.block_on(async {
            let hour = Duration::from_secs(3600);
            let arm = move || async move {
                let mut nap = Box::pin(sleep(hour));
                poll_fn(|cx| {
                    assert!(nap.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                })
                .await;
                Sent(nap)
            };
            // Earlier than it was: the worker that waits for an hour has to hear of it.
            let Sent(mut nap) = on(0, arm).await;
            let start = now();
            let late = on(1, move || async move {
                let soon = std::time::Instant::now() + Duration::from_millis(2);
                nap.as_mut().reset(soon);
                nap.as_mut().await;
                now().since(start)
            })
            .await;
            assert!(late >= Duration::from_millis(2), "{late:?} is early");
            // Awaited by another worker than the one that serves it.
            let arm = || async { Sent(Box::pin(sleep(Duration::from_millis(2)))) };
            let Sent(nap) = on(2, arm).await;
            on(3, move || nap).await;
            // Later than it was, on another worker: not before.
            let Sent(mut nap) = on(0, || async {
                let mut nap = Box::pin(sleep(Duration::from_millis(1)));
                poll_fn(|cx| Poll::Ready(nap.as_mut().poll(cx).is_ready())).await;
                Sent(nap)
            })
            .await;
            let start = now();
            on(1, move || async move {
                let later = std::time::Instant::now() + Duration::from_millis(5);
                nap.as_mut().reset(later);
                nap.await;
            })
            .await;
            assert!(now().since(start) >= Duration::from_millis(5));
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn sleep_dropped_on_another_worker_wakes_nobody() {
    for runtime in stealing() {
        // Whether it was dropped in time is the machine's affair; once it will be.
        while !runtime.block_on(drop_elsewhere()) {}
    }
}

/// `false`: it was too late, and the sleep over before it was dropped.
async fn drop_elsewhere() -> bool {
    let woken = Arc::new(Counted(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let Sent(nap) = on(0, move || async move {
        let mut nap = Box::pin(sleep(Duration::from_millis(20)));
        let mut cx = Context::from_waker(&waker);
        assert!(nap.as_mut().poll(&mut cx).is_pending());
        Sent(nap)
    })
    .await;
    let deadline = nap.deadline_nanos();
    let dropped = on(1, move || async move {
        drop(nap);
        now()
    })
    .await;
    // One that is due later, in the same wheel: had the other been there, it had fired.
    on(0, || sleep(Duration::from_millis(40))).await;
    let is_in_time = dropped < deadline;
    assert!(!is_in_time || woken.0.load(SeqCst) == 0);
    is_in_time
}

#[test]
fn timeout_ends_what_takes_too_long_wherever_it_is() {
    for runtime in stealing() {
        let late = runtime.block_on(async {
            let task = spawn(timeout(Duration::from_millis(1), pending::<()>()));
            let here = timeout(Duration::from_millis(1), pending::<()>()).await;
            (task.await.expect("no panic").is_err(), here.is_err())
        });
        assert_eq!(late, (true, true));
    }
}

#[test]
fn panic_ends_its_task_alone() {
    for runtime in stealing() {
        let (panicked, others) = runtime.block_on(async {
            let panicking = spawn(async {
                yield_now().await;
                panic!("on purpose")
            });
            let others: Vec<_> = (0..WORKERS)
                .map(|worker| on(worker, || sleep(Duration::from_millis(1))))
                .collect();
            let panicked: Result<(), _> = panicking.await;
            for other in others {
                other.await;
            }
            (panicked, spawn(async { 7 }).await.ok())
        });
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(others, Some(7));
        let hooked = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async { panic!("here") })
        }));
        assert!(hooked.is_err());
        assert_eq!(runtime.block_on(async { 8 }), 8);
    }
}

#[test]
fn builder_says_what_there_cannot_be() {
    for workers in [0, 4097] {
        let error = Runtime::builder()
            .workers(workers)
            .build()
            .expect_err("no such runtime");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("1 to 4096"), "{error}");
    }
    let runtime = Runtime::builder()
        .workers(1)
        .name("one")
        .backend(Backend::Poll)
        .build();
    let runtime = runtime.expect("readiness is everywhere");
    assert_eq!((runtime.name(), runtime.workers()), ("one", 1));
    assert_eq!(runtime.backend(), Backend::Poll);
}

#[test]
fn handle_blocks_on_a_future_whose_tasks_run_on_the_workers() {
    for runtime in stealing() {
        let handle = runtime.handle();
        let workers = thread::spawn(move || {
            handle.block_on(async {
                let tasks =
                    (0..4).map(|worker| mainspring::spawn_pinned(worker, || async { name() }));
                let mut names = Vec::new();
                for task in tasks.collect::<Vec<_>>() {
                    names.push(task.await.expect("no panic"));
                }
                names
            })
        });
        let names = workers.join().expect("no panic");
        assert_eq!(
            names,
            (0..4)
                .map(|n| format!("mainspring-{n}"))
                .collect::<Vec<_>>()
        );
    }
    // Beside a one-thread runtime, which nobody runs meanwhile.
    let runtime = mainspring::LocalRuntime::new().expect("a runtime");
    let handle = runtime.handle();
    let sum = handle.block_on(async { mainspring::spawn(async { 2 + 3 }).await });
    assert_eq!(sum.expect("no panic"), 5);
}

fn name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}
