use super::{backends, fallback_threads, listen, never, pair, runtimes};
use mainspring::net::TcpStream;
use mainspring::shutdown;
use mainspring::time::{interval, sleep, timeout};
use mainspring::{Backend, LocalRuntime, RingRefusal, Step, spawn, spawn_blocking};
use mainspring::{spawn_local, yield_now};
use std::cell::Cell;
use std::future::{Future, pending};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

const CLIENTS: u8 = 20;

/// Sends a byte, waits, reads the echo, and so on.
async fn converse(address: std::net::SocketAddr, byte: u8) -> io::Result<u8> {
    let mut stream = TcpStream::connect(address).await?;
    let mut tick = interval(Duration::from_millis(1));
    let mut heard = [0];
    for _ in 0..3 {
        tick.tick().await;
        stream.write_all(&[byte]).await?;
        stream.read_exact(&mut heard).await?;
    }
    Ok(heard[0])
}

#[test]
fn sockets_timers_and_tasks_are_served_by_one_thread_on_every_backend() {
    for runtime in runtimes() {
        assert_ne!(runtime.backend(), Backend::Auto);
        let here = thread::current().id();
        let heard = runtime.block_on(async {
            let (listener, address) = listen();
            spawn_local(async move {
                while let Ok((mut stream, _peer)) = listener.accept().await {
                    let echo = async move {
                        let mut buf = [0; 16];
                        while let Ok(read @ 1..) = stream.read(&mut buf).await {
                            assert_eq!(thread::current().id(), here);
                            stream
                                .write_all(&buf[..read])
                                .await
                                .expect("an open connection");
                        }
                    };
                    spawn_local(echo).detach();
                }
            })
            .detach();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|byte| spawn_local(converse(address, byte)))
                .collect();
            let mut heard = Vec::new();
            for client in clients {
                heard.push(client.await.expect("no panic").expect("no error"));
            }
            heard
        });
        assert_eq!(heard, (0..CLIENTS).collect::<Vec<_>>());
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn task_that_panics_ends_alone() {
    for runtime in runtimes() {
        let (panicked, other) = runtime.block_on(async {
            let panicking = spawn_local(async {
                yield_now().await;
                panic!("on purpose")
            });
            let other = spawn_local(async {
                sleep(Duration::from_millis(1)).await;
                7
            });
            let panicked: Result<(), _> = panicking.await;
            (panicked, other.await)
        });
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(other.ok(), Some(7));
    }
}

#[test]
fn future_that_panics_leaves_the_runtime_usable() {
    for runtime in runtimes() {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async { panic!("on purpose") })
        }));
        assert!(panicked.is_err());
        let (mut client, mut server) = runtime.block_on(pair());
        let greeting = runtime.block_on(async {
            client.write_all(b"still here").await?;
            let mut buf = [0; 10];
            server.read_exact(&mut buf).await?;
            io::Result::Ok(buf)
        });
        assert_eq!(greeting.expect("no error"), *b"still here");
    }
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker, on purpose");
    }
}

/// Polls once, with a waker that panics.
fn poll_to_panic(future: Pin<&mut impl Future>) {
    let waker = Waker::from(Arc::new(Panics));
    assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
}

#[test]
fn waker_that_panics_ends_nobody_but_itself() {
    for runtime in runtimes() {
        let received = runtime.block_on(async {
            let (mut client, mut server) = pair().await;
            let task = spawn_local(async move {
                let mut buf = [0; 3];
                let mut read = pin!(server.read(&mut buf));
                poll_to_panic(read.as_mut());
                let mut nap = pin!(sleep(Duration::from_millis(1)));
                poll_to_panic(nap.as_mut());
                // Due no earlier than the other: whoever panics does not keep this from waking.
                sleep(Duration::from_millis(1)).await;
                nap.await;
                read.await
            });
            yield_now().await;
            client.write_all(b"abc").await.expect("sent");
            task.await.expect("no panic").expect("received")
        });
        assert_eq!(received, 3);
    }
}

#[test]
fn waker_that_panics_at_the_end_of_a_runtime_is_contained() {
    for runtime in runtimes() {
        let (client, mut server) = runtime.block_on(pair());
        let mut buf = [0; 3];
        let mut read = pin!(server.read(&mut buf));
        let mut nap = pin!(sleep(Duration::from_secs(60)));
        runtime.block_on(async {
            poll_to_panic(read.as_mut());
            poll_to_panic(nap.as_mut());
        });
        drop(runtime);
        drop(client);
    }
}

#[test]
fn socket_made_under_the_guard_belongs_to_the_runtime() {
    for runtime in runtimes() {
        let entered = runtime.enter();
        let (listener, address) = listen();
        drop(entered);
        assert_eq!(listener.backend(), runtime.backend());
        runtime.block_on(async {
            let connect = spawn_local(TcpStream::connect(address));
            let (server, _peer) = listener.accept().await.expect("a connection");
            let client = connect.await.expect("no panic").expect("its other end");
            assert_eq!(client.peer_addr().ok(), server.local_addr().ok());
        });
        assert_eq!(fallback_threads(), Vec::<String>::new());
    }
}

#[test]
fn block_on_inside_a_task_is_refused_and_nothing_else_breaks() {
    let runtime = LocalRuntime::new().expect("a runtime");
    let other = LocalRuntime::new().expect("another");
    let refused = runtime.block_on(async {
        let nested = AssertUnwindSafe(|| other.block_on(async {}));
        let free = AssertUnwindSafe(|| mainspring::block_on(async {}));
        [catch_unwind(nested), catch_unwind(free)]
    });
    for result in refused {
        let payload = result.expect_err("a refusal");
        let message = payload.downcast_ref::<&str>().expect("a text");
        assert!(message.starts_with("MS0002"), "{message}");
    }
    assert_eq!(other.block_on(async { 1 }), 1);
    assert_eq!(runtime.block_on(async { 2 }), 2);
}

#[test]
fn runtime_dropped_inside_a_task_of_another_drops_its_tasks_there() {
    for outer in runtimes() {
        let drops = Rc::new(Cell::new(0));
        let inside = Rc::clone(&drops);
        let task = outer.spawn_local(async move {
            let inner = LocalRuntime::new().expect("a runtime");
            inner.spawn_local(never(&inside)).detach();
            inner.spawn_local(never(&inside)).detach();
            drop(inner);
            let dropped = inside.get();
            // The outer runtime's own services are current again.
            let (mut client, mut server) = pair().await;
            client.write_all(b"x").await.expect("an open connection");
            let mut buf = [0];
            server.read_exact(&mut buf).await.expect("a byte");
            sleep(Duration::from_millis(1)).await;
            dropped
        });
        assert_eq!(outer.block_on(task).expect("no panic"), 2);
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

#[test]
fn runtimes_of_one_thread_take_turns() {
    let one = LocalRuntime::builder().name("one").build().expect("one");
    let two = LocalRuntime::builder().name("two").build().expect("two");
    let (mut client, mut server) = one.block_on(pair());
    let ticking = two.spawn_local(async {
        let mut tick = interval(Duration::from_millis(1));
        tick.tick().await;
        tick.tick().await;
    });
    let sending = one.spawn_local(async move { client.write_all(b"1").await });
    two.block_on(ticking).expect("no panic");
    let mut buf = [0];
    one.block_on(server.read_exact(&mut buf)).expect("a byte");
    one.block_on(sending).expect("no panic").expect("no error");
    assert_eq!((&buf, one.name(), two.name()), (b"1", "one", "two"));
}

#[test]
fn socket_outlives_its_runtime_and_says_so_where_its_backend_is_not() {
    let over = |backend| LocalRuntime::builder().backend(backend).build();
    for runtime in runtimes() {
        let backend = runtime.backend();
        let (mut client, mut server) = runtime.block_on(pair());
        drop(runtime);
        let same = over(backend).expect("a runtime");
        let mut buf = [0; 2];
        let heard = same.block_on(async {
            server.write_all(b"on").await?;
            client.read_exact(&mut buf).await
        });
        heard.expect("an open connection");
        assert_eq!(&buf, b"on");
        drop(same);
        for other in backends().into_iter().filter(|other| *other != backend) {
            let other = over(other).expect("a runtime");
            let read = other.block_on(client.read(&mut buf));
            let error = read.expect_err("nobody tells when it is ready");
            assert!(error.to_string().contains("MS0005"), "{error}");
        }
    }
}

#[test]
fn shutdown_lets_listeners_end_and_names_the_others() {
    for runtime in runtimes() {
        let drops = Rc::new(Cell::new(0));
        let listening = runtime.spawn_local(async {
            shutdown::signal().requested().await;
            sleep(Duration::from_millis(1)).await;
            "ended well"
        });
        runtime.spawn_local(never(&drops)).detach();
        assert_eq!((runtime.len(), runtime.tasks().len()), (2, 2));
        // Half of it is for the listener, whatever else this machine does meanwhile.
        let report = runtime.shutdown(Duration::from_secs(2));
        assert_eq!(report.dropped.len(), 1, "{report}");
        assert!(
            report.to_string().contains("it/main.rs") || report.to_string().contains("runtime.rs")
        );
        assert_eq!((drops.get(), runtime.is_empty()), (1, true));
        assert_eq!(runtime.block_on(listening).ok(), Some("ended well"));
        let late = runtime.spawn(async {});
        assert!(
            runtime
                .block_on(late)
                .is_err_and(|error| error.is_cancelled())
        );
    }
}

#[test]
fn other_threads_spawn_through_home_and_spawner() {
    let runtime = LocalRuntime::new().expect("a runtime");
    let here = thread::current().id();
    let (home, spawner) = (runtime.home(), runtime.spawner());
    let sent = thread::spawn(move || {
        let at_home = home.spawn(|| async {
            let local = Rc::new(thread::current().id());
            yield_now().await;
            *local
        });
        (at_home, spawner.spawn(async { thread::current().id() }))
    });
    let (at_home, anywhere) = sent.join().expect("no panic");
    let threads = runtime.block_on(async { (at_home.await.ok(), anywhere.await.ok()) });
    assert_eq!(threads, (Some(here), Some(here)));
}

#[test]
fn runtime_is_driven_by_ticks_of_a_foreign_loop() {
    for runtime in runtimes() {
        let task = runtime.spawn_local(async {
            let (mut client, mut server) = pair().await;
            client.write_all(b"tick").await?;
            let mut buf = [0; 4];
            server.read_exact(&mut buf).await?;
            sleep(Duration::from_micros(100)).await;
            io::Result::Ok(buf)
        });
        while !task.is_finished() {
            if runtime.tick() == Step::Idle {
                thread::yield_now();
            }
        }
        assert!(runtime.next_deadline().is_none());
        let buf = runtime.block_on(task).expect("no panic").expect("no error");
        assert_eq!(&buf, b"tick");
    }
}

#[test]
fn job_that_blocks_runs_elsewhere_and_comes_back() {
    for runtime in runtimes() {
        let here = thread::current().id();
        let there = runtime.block_on(async { spawn_blocking(|| thread::current().id()).await });
        assert_ne!(there.expect("a result"), here);
    }
}

#[test]
fn free_spawn_runs_on_the_runtime_that_is_running() {
    let runtime = LocalRuntime::new().expect("a runtime");
    let here = thread::current().id();
    let there = runtime.block_on(async { spawn(async { thread::current().id() }).await });
    assert_eq!(there.ok(), Some(here));
}

#[test]
#[should_panic(expected = "MS0001")]
fn free_spawn_outside_is_refused() {
    spawn(async {}).detach();
}

#[test]
fn timeout_ends_what_takes_too_long_on_every_backend() {
    for runtime in runtimes() {
        let late = runtime.block_on(timeout(Duration::from_millis(1), pending::<()>()));
        assert!(late.is_err());
    }
}

// Whatever a runtime that is built now would get, this one has what it was built with.
#[test]
fn runtime_explains_its_own_backend_and_not_the_best_one() {
    let asked = LocalRuntime::builder().backend(Backend::Poll).build();
    let asked = asked.expect("readiness is everywhere");
    assert_eq!(asked.explanation().refusal(), Some(RingRefusal::Unasked));
    for runtime in runtimes() {
        assert_eq!(runtime.explanation().used(), runtime.backend());
        let said = runtime.explanation().to_string();
        assert!(said.contains(" serves the sockets"), "{said}");
    }
}
