use super::{Counts, fallback_threads, never, pair};
use mainspring::time::{clock, now, sleep};
use mainspring::{block_on, spawn_local};
use std::cell::{Cell, RefCell};
use std::panic::catch_unwind;
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn sockets_and_timers_are_served_by_the_calling_thread() {
    let heard = block_on(async {
        let (mut client, mut server) = pair().await;
        let sending = spawn_local(async move {
            sleep(Duration::from_millis(1)).await;
            client.write_all(b"here").await
        });
        let mut buf = [0; 4];
        server.read_exact(&mut buf).await.expect("four bytes");
        sending.await.expect("no panic").expect("no error");
        buf
    });
    assert_eq!(&heard, b"here");
    assert_eq!(fallback_threads(), [""; 0]);
}

#[test]
fn tasks_that_have_not_ended_are_dropped_with_the_call() {
    let drops = Rc::new(Cell::new(0));
    block_on(async {
        spawn_local(never(&drops)).detach();
        mainspring::yield_now().await;
        spawn_local(never(&drops)).detach();
        assert_eq!(drops.get(), 0);
    });
    assert_eq!(drops.get(), 2);
}

#[test]
fn socket_of_one_call_works_in_the_next() {
    let (mut client, mut server) = block_on(pair());
    let mut buf = [0; 2];
    let sent = block_on(async {
        let reading = server.read_exact(&mut buf);
        client.write_all(b"ok").await?;
        reading.await
    });
    sent.expect("both directions");
    assert_eq!(&buf, b"ok");
    assert_eq!(fallback_threads(), [""; 0]);
}

#[test]
fn reactor_is_kept_for_the_next_call_after_a_panic_too() {
    let (mut client, mut server) = block_on(pair());
    let panicked = catch_unwind(|| block_on(async { panic!("on purpose") }));
    assert!(panicked.is_err());
    let mut buf = [0];
    block_on(async {
        client.write_all(b"x").await?;
        server.read_exact(&mut buf).await
    })
    .expect("the reactor that both are registered with is there");
    assert_eq!(&buf, b"x");
}

#[test]
fn clock_that_one_call_paused_runs_in_the_next() {
    block_on(async {
        clock::pause().expect("a clock");
        sleep(Duration::from_secs(24 * 3600)).await;
    });
    let (real, ours) = (Instant::now(), now());
    block_on(sleep(Duration::from_millis(2)));
    assert!(real.elapsed() >= Duration::from_millis(2));
    assert!(now().since(ours) < Duration::from_secs(3600));
}

#[test]
fn every_thread_has_its_own() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                block_on(async {
                    let (mut client, mut server) = pair().await;
                    client.write_all(b"t").await.expect("an open connection");
                    server.read_exact(&mut [0]).await.expect("a byte");
                })
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
}

/// Calls `block_on` when its thread ends.
struct AtTheEnd(mpsc::Sender<u32>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let answer = block_on(async { spawn_local(async { 7 }).await });
        let _ = self.0.send(answer.unwrap_or(0));
    }
}

thread_local! {
    static LAST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn works_while_the_thread_is_ending() {
    for is_first in [true, false] {
        let (sender, receiver) = mpsc::channel();
        let ending = thread::spawn(move || {
            // Thread-locals end in the order in which they began, or the other way round: both.
            if is_first {
                LAST.set(Some(AtTheEnd(sender)));
                block_on(async {});
            } else {
                block_on(async {});
                LAST.set(Some(AtTheEnd(sender)));
            }
        });
        ending.join().expect("no panic");
        assert_eq!(receiver.recv(), Ok(7));
    }
}

#[test]
fn tasks_may_hold_what_is_not_send() {
    let drops = Rc::new(Cell::new(0));
    let counts = Counts(Rc::clone(&drops));
    let seen = block_on(async move {
        let task = spawn_local(async move {
            mainspring::yield_now().await;
            counts.0.get()
        });
        task.await
    });
    assert_eq!((seen.ok(), drops.get()), (Some(0), 1));
}

/// In a process that may open one file only: enough for the dynamic linker, too few for a reactor.
#[cfg(target_os = "linux")]
#[test]
fn call_that_is_refused_a_reactor_does_without() {
    const MARK: &str = "MAINSPRING_TEST_FEW_DESCRIPTORS";
    if std::env::var_os(MARK).is_none() {
        let name = "block_on::call_that_is_refused_a_reactor_does_without";
        return super::in_a_process_of_its_own(name, MARK, 4);
    }
    let runtime = mainspring::LocalRuntime::new();
    assert!(runtime.is_err(), "the limit is not what it should be");
    let elapsed = block_on(async {
        let start = Instant::now();
        let napping = spawn_local(sleep(Duration::from_millis(1)));
        napping.await.expect("no panic");
        start.elapsed()
    });
    assert!(elapsed >= Duration::from_millis(1));
    assert_eq!(fallback_threads(), [""; 0]);
}

/// That the tests which find none would find some.
#[cfg(target_os = "linux")]
#[test]
fn fallback_threads_are_seen_where_no_runtime_is() {
    const MARK: &str = "MAINSPRING_TEST_FALLBACK";
    if std::env::var_os(MARK).is_none() {
        let name = "block_on::fallback_threads_are_seen_where_no_runtime_is";
        return super::in_a_process_of_its_own(name, MARK, 64);
    }
    let _listener = super::listen();
    let mut nap = pin!(sleep(Duration::from_secs(3600)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(nap.as_mut().poll(&mut cx).is_pending());
    // A thread gives itself its name, before it serves anybody.
    while fallback_threads().len() < 2 {
        thread::yield_now();
    }
}
