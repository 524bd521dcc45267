use super::{Counts, never, on, stealing};
use crate::{fallback_threads, pair, runtimes};
use mainspring::net::TcpStream;
use mainspring::time::sleep;
use mainspring::{Backend, Handle, LocalRuntime, Runtime, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Uses everything that a runtime has to offer, where it is called.
async fn works() {
    let (mut client, mut server) = pair().await;
    let sending = spawn(async move {
        sleep(Duration::from_micros(100)).await;
        client.write_all(b"x").await
    });
    server.read_exact(&mut [0]).await.expect("a byte");
    sending.await.expect("no panic").expect("no error");
}

/// Waits until so many futures were dropped, by threads that nobody waits for.
async fn all_dropped(drops: &AtomicUsize, expected: usize) {
    while drops.load(SeqCst) < expected {
        yield_now().await;
    }
    assert_eq!(drops.load(SeqCst), expected);
}

fn inner(workers: usize, name: &str) -> Runtime {
    let builder = Runtime::builder().workers(workers).name(name);
    builder.build().expect("an inner runtime")
}

#[test]
fn task_of_one_runtime_uses_another() {
    for outer in stealing() {
        let name = outer.block_on(async {
            spawn(async {
                let inner = inner(2, "inner");
                let there = inner.spawn(async {
                    works().await;
                    // Spawned by the runtime that is current there.
                    spawn(async { thread::current().name().map(str::to_owned) }).await
                });
                let name = there
                    .await
                    .expect("no panic")
                    .expect("no panic")
                    .expect("a name");
                // Handles lead back, too.
                let outer = Handle::current();
                let back = inner.spawn(async move { outer.spawn(async { 5 }).await });
                assert_eq!(back.await.expect("no panic").ok(), Some(5));
                drop(inner);
                works().await;
                name
            })
            .await
        });
        let name = name.expect("no panic");
        assert!(name.starts_with("inner-"), "{name}");
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn runtime_dropped_inside_another_ones_task_waits_for_nobody_and_ends_all_the_same() {
    for outer in stealing() {
        outer.block_on(async {
            let dropping = async {
                let drops = Arc::new(AtomicUsize::new(0));
                let inner = inner(2, "inner");
                for _ in 0..10 {
                    inner.spawn(never(&drops)).detach();
                }
                inner
                    .spawn_pinned(1, {
                        let counts = Counts(Arc::clone(&drops));
                        || async move {
                            let _counts = counts;
                            sleep(Duration::from_secs(3600)).await;
                        }
                    })
                    .detach();
                inner.spawn(works()).await.expect("no panic");
                drop(inner);
                works().await;
                all_dropped(&drops, 11).await;
            };
            spawn(dropping).await.expect("no panic");
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn one_thread_inside_a_worker_and_workers_inside_one_thread() {
    for outer in stealing() {
        let drops = Arc::new(AtomicUsize::new(0));
        let inside = Arc::clone(&drops);
        outer.block_on(on(1, move || async move {
            let local = LocalRuntime::new().expect("a runtime");
            local.spawn_local(never(&inside)).detach();
            drop(local);
            works().await;
        }));
        assert_eq!(drops.load(SeqCst), 1);
    }
    for outer in runtimes() {
        let drops = Arc::new(AtomicUsize::new(0));
        outer.block_on(async {
            let inner = inner(2, "inner");
            inner.spawn(never(&drops)).detach();
            inner.spawn(works()).await.expect("no panic");
            drop(inner);
            works().await;
            all_dropped(&drops, 1).await;
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

/// Both ends of a connection whose runtime, over `backend`, is gone.
async fn orphans(backend: Backend) -> (TcpStream, TcpStream) {
    let builder = Runtime::builder().workers(1).backend(backend);
    let gone = builder.build().expect("an inner runtime");
    gone.spawn(pair()).await.expect("no panic")
}

#[test]
fn socket_of_a_runtime_that_is_gone_goes_on_in_another() {
    for outer in stealing() {
        outer.block_on(async {
            let (mut client, mut server) = orphans(outer.backend()).await;
            assert_eq!(client.backend(), outer.backend());
            let reading = spawn(async move {
                let mut buf = [0; 2];
                client.read_exact(&mut buf).await.map(|()| buf)
            });
            server.write_all(b"on").await.expect("an open connection");
            let heard = reading.await.expect("no panic");
            assert_eq!(&heard.expect("two bytes"), b"on");
        });
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn socket_whose_backend_is_gone_says_so() {
    for outer in stealing() {
        for backend in crate::backends() {
            if backend == outer.backend() {
                continue;
            }
            let error = outer.block_on(async {
                let (mut client, _server) = orphans(backend).await;
                let reading = spawn(async move { client.read(&mut [0]).await });
                reading
                    .await
                    .expect("no panic")
                    .expect_err("nobody serves it")
            });
            assert!(error.to_string().contains("MS0005"), "{error}");
        }
    }
}

/// The last owner of a runtime is one of its own tasks.
#[test]
fn runtime_dropped_by_its_own_worker_ends_by_itself() {
    for backend in crate::backends() {
        let (told, ends) = mpsc::channel();
        let runtime = Runtime::builder()
            .workers(3)
            .backend(backend)
            .on_thread_stop(move |worker| {
                let _ = told.send(worker);
            })
            .build()
            .expect("a runtime");
        let drops = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            runtime.spawn(never(&drops)).detach();
        }
        let pinned = never(&drops);
        runtime.spawn_pinned(2, move || pinned).detach();
        let runtime = Arc::new(runtime);
        let (handle, own) = (runtime.handle(), Arc::clone(&runtime));
        let (give, take) = mainspring::sync::oneshot::channel::<Arc<Runtime>>();
        let dropping = handle.spawn(async move {
            let last = take.await.expect("it is sent");
            drop(own);
            yield_now().await;
            drop(last);
            // A poll is not interrupted: it comes to here, whether it counts or not.
            1
        });
        drop(give.send(runtime));
        let ended = mainspring::block_on(dropping);
        assert!(ended.is_ok() || ended.is_err_and(|error| error.is_cancelled()));
        let mut workers: Vec<usize> = (0..3).map_while(|_| ends.recv().ok()).collect();
        workers.sort_unstable();
        assert_eq!(workers, [0, 1, 2]);
        assert_eq!(drops.load(SeqCst), 11);
        let late = mainspring::block_on(handle.spawn(async {}));
        assert!(late.is_err_and(|error| error.is_cancelled()));
    }
}
