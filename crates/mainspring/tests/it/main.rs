//! The runtime as its users see it, over every backend that this system allows.

mod attributes;
mod block_on;
#[cfg(feature = "hyper")]
mod hyper;
mod runtime;
mod shutdown;
mod stealing;

use mainspring::net::{TcpListener, TcpStream};
use mainspring::{Backend, LocalRuntime};
use std::cell::Cell;
use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

/// The backends that are to be had here.
fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Poll];
    let best = Backend::explain().used();
    if best != Backend::Poll {
        backends.push(best);
    }
    backends
}

/// A runtime for each backend that is to be had here.
fn runtimes() -> Vec<LocalRuntime> {
    let build = |backend| LocalRuntime::builder().backend(backend).build();
    let runtimes: io::Result<Vec<_>> = backends().into_iter().map(build).collect();
    runtimes.expect("a runtime over what is to be had")
}

/// A listener on a free port, and where it is.
fn listen() -> (TcpListener, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(address).expect("a listener");
    let address = listener.local_addr().expect("its address");
    (listener, address)
}

/// Both ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listen();
    let client = TcpStream::connect(address).await.expect("a connection");
    let (server, _peer) = listener.accept().await.expect("its other end");
    (client, server)
}

/// Counts its drop.
struct Counts(Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A future that never ends and counts its drop.
fn never(drops: &Rc<Cell<u32>>) -> impl Future<Output = ()> + use<> {
    let counts = Counts(Rc::clone(drops));
    async move {
        let _counts = counts;
        pending().await
    }
}

/// The names of the family's fallback threads that live in this process. No test of this binary
/// uses sockets or timers where no runtime is, but the one that shows, in a process of its own,
/// that such threads are seen here; so there is none, whichever tests run beside.
#[cfg(target_os = "linux")]
fn fallback_threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads of this process");
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let is_fallback =
        |name: &String| name.starts_with("ms-reactor") || name.starts_with("ms-timer");
    names.filter(is_fallback).collect()
}

#[cfg(not(target_os = "linux"))]
fn fallback_threads() -> Vec<String> {
    Vec::new()
}

/// Runs `test` again in a process of its own, which sees `mark` in its environment and may have no
/// descriptor above `descriptors_max`.
#[cfg(target_os = "linux")]
fn in_a_process_of_its_own(test: &str, mark: &str, descriptors_max: u32) {
    let this = std::env::current_exe().expect("this executable");
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -n \"$1\" && shift && exec \"$0\" \"$@\""])
        .arg(this)
        .arg(descriptors_max.to_string())
        .args(["--exact", test, "--test-threads", "1"])
        .env(mark, "1")
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{output:?}");
}
