//! Who has nothing to do, does nothing.

use crate::rig::{self, Drive, InBackground, drive, listener, pair, poll_once};
use mainspring_core::driver::Driver;
use mainspring_core::time::sleep;
use mainspring_reactor::{Backend, Reactor};
use std::pin::pin;
use std::time::Duration;

const IDLE: Duration = Duration::from_millis(50);

#[test]
fn idle_driver_sleeps_through_on_ring() {
    idle_driver_sleeps_through(rig::ring());
}

#[test]
fn idle_driver_sleeps_through_on_poll() {
    idle_driver_sleeps_through(Reactor::with_backend(Backend::Poll).unwrap());
}

fn idle_driver_sleeps_through(mut reactor: Reactor) {
    rig::expect(reactor.backend());
    let _entered = reactor.handle().enter();
    let ((mut client, _server), _) = drive(&mut reactor, pair());
    let (listener, _) = listener();
    let (_, parks) = drive(&mut reactor, async {
        let mut buf = [0; 1];
        let mut read = pin!(client.read(&mut buf));
        let mut accept = pin!(listener.accept());
        assert!(poll_once(read.as_mut()).await.is_pending());
        assert!(poll_once(accept.as_mut()).await.is_pending());
        sleep(IDLE).await;
    });
    // The first reports of three sockets, and the end of the sleep.
    assert!(parks <= 5, "{parks} parks");
}

/// How often the background thread has gone to sleep.
#[cfg(target_os = "linux")]
fn sleeps_in_background() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    for thread in threads.map(|thread| thread.unwrap().path()) {
        if std::fs::read_to_string(thread.join("comm")).unwrap() == "ms-reactor\n" {
            let status = std::fs::read_to_string(thread.join("status")).unwrap();
            let line = status
                .lines()
                .find(|line| line.starts_with("voluntary_ctxt_switches"))
                .unwrap();
            return line.split_whitespace().nth(1).unwrap().parse().unwrap();
        }
    }
    panic!("no background thread");
}

#[cfg(target_os = "linux")]
#[test]
fn idle_background_thread_sleeps_through() {
    rig::alone("idle::idle_background_thread_sleeps_through", || {
        InBackground::run(async {
            let (mut client, mut server) = pair().await;
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0; 1]).await.unwrap();
            let mut buf = [0; 1];
            let mut read = pin!(client.read(&mut buf));
            assert!(poll_once(read.as_mut()).await.is_pending());
            sleep(IDLE).await;
            let before = sleeps_in_background();
            sleep(IDLE).await;
            assert_eq!(sleeps_in_background(), before);
        });
    });
}
