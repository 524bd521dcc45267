//! A shutdown in which everything goes wrong that can, and the report of it.
//!
//! ```text
//! cargo run --example ending
//! ```
//!
//! docs/shutdown.md explains what it prints.

use mainspring::net::{TcpListener, TcpStream};
use mainspring::sync::Mutex;
use mainspring::task::{Blocking, TaskBuilder};
use mainspring::time::sleep;
use mainspring::{Runtime, shutdown, spawn_blocking_as};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

fn main() -> io::Result<()> {
    let runtime = Runtime::builder().workers(2).name("intake").build()?;
    let handle = runtime.handle();
    let named = |name| TaskBuilder::new().name(name);

    // One that listens to the signal, and ends well.
    let polite = runtime.spawn(async {
        shutdown::signal().requested().await;
        "saved"
    });

    // A connection on which the peer says nothing, behind a lock that it keeps.
    let lock = Arc::new(Mutex::new(()));
    let kept = lock.try_lock_owned();
    let waits = Arc::clone(&lock);
    let client = async move {
        let _kept = kept;
        silence().await
    };
    let locked = async move {
        drop(waits.lock().await);
    };
    // A destructor that has something to do, which takes longer than it may.
    let spawner = runtime.spawner();
    let deferred = Deferred(move || {
        let goodbye = sleep(HOUR);
        let cleanup = spawner.spawn_cleanup(goodbye, Duration::from_millis(20));
        cleanup.detach();
    });
    let parked = runtime.block_on(async {
        let tasks = [
            named("client").spawn(async move { drop(client.await) }),
            named("locked").spawn(locked),
            named("deferring").spawn(async move {
                let _deferred = deferred;
                sleep(HOUR).await;
            }),
        ];
        // A look-up that hangs: nobody waits for it.
        spawn_blocking_as(Blocking::Abandonable, || thread::sleep(HOUR)).detach();
        tasks
    });
    // And one that is at home on a worker.
    handle.spawn_pinned(0, silence).detach();
    while runtime.tasks().iter().any(|task| task.waits_for.is_none()) {
        thread::yield_now();
    }

    // That worker is blocked.
    let (begun, begins) = mpsc::channel();
    let stuck = handle.spawn_pinned(0, move || async move {
        let _ = begun.send(());
        thread::sleep(HOUR);
    });
    begins.recv().expect("it runs");

    let report = runtime.shutdown(Duration::from_millis(200));
    println!("{report}");
    assert!(polite.is_finished() && parked.iter().all(|task| task.is_finished()));
    assert!(!stuck.is_finished() && report.is_leaking());
    Ok(())
}

/// Reads from a peer who says nothing.
async fn silence() -> io::Result<usize> {
    let listener = TcpListener::bind("127.0.0.1:0".parse().expect("an address"))?;
    let mut client = TcpStream::connect(listener.local_addr()?).await?;
    let _server = listener.accept().await?;
    client.read(&mut [0; 16]).await
}

/// Does something when it is dropped.
struct Deferred<F: Fn()>(F);

impl<F: Fn()> Drop for Deferred<F> {
    fn drop(&mut self) {
        self.0();
    }
}
