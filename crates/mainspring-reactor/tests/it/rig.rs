//! How the driver runs, and what the tests share.

use mainspring_core::driver::{Driver, DriverHandle, Until};
use mainspring_core::park::{Parker, Unparker};
use mainspring_reactor::net::{TcpListener, TcpStream};
use mainspring_reactor::{Backend, Reactor};
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// How the driver runs.
pub(crate) trait Drive {
    /// Runs a test to its end.
    fn run<T>(test: impl Future<Output = T>) -> T;
}

/// A reactor on the thread that polls.
pub(crate) struct OnThisThread;

/// No reactor on the thread that polls: the background thread's.
pub(crate) struct InBackground;

struct Unpark(Arc<dyn DriverHandle>);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls and parks in turns. Returns how often it parked, too.
pub(crate) fn drive<T>(reactor: &mut Reactor, test: impl Future<Output = T>) -> (T, usize) {
    let mut test = pin!(test);
    let waker = Waker::from(Arc::new(Unpark(reactor.handle())));
    let mut parks = 0;
    loop {
        if let Poll::Ready(result) = test.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (result, parks);
        }
        let _turn = reactor.park(Until::Forever).unwrap();
        parks += 1;
    }
}

impl Drive for OnThisThread {
    fn run<T>(test: impl Future<Output = T>) -> T {
        let mut reactor = Reactor::new().unwrap();
        let _entered = reactor.handle().enter();
        drive(&mut reactor, test).0
    }
}

struct Thread(Unparker);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Drive for InBackground {
    fn run<T>(test: impl Future<Output = T>) -> T {
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(Thread(parker.unparker())));
        let mut test = pin!(test);
        loop {
            match test.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => return result,
                Poll::Pending => parker.park(),
            }
        }
    }
}

/// Each named test on both ways to run.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_this_thread {
            $(#[test] fn $name() { super::$name::<crate::rig::OnThisThread>(); })*
        }
        mod in_background {
            $(#[test] fn $name() { super::$name::<crate::rig::InBackground>(); })*
        }
    };
}

/// A listener on a free port of the loopback.
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    assert_eq!(listener.backend(), Backend::Poll);
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Both ends of a connection.
pub(crate) async fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let client = TcpStream::connect(address).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(client.local_addr().unwrap(), peer);
    assert_eq!(client.backend(), Backend::Poll);
    assert_eq!(server.backend(), Backend::Poll);
    (client, server)
}

/// Both futures at the same time, in one task.
pub(crate) async fn join<A, B>(
    one: impl Future<Output = A>,
    other: impl Future<Output = B>,
) -> (A, B) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(|cx| {
        if first.is_none() {
            first = ready(one.as_mut().poll(cx));
        }
        if second.is_none() {
            second = ready(other.as_mut().poll(cx));
        }
        match (&first, &second) {
            (Some(_), Some(_)) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
    (first.unwrap(), second.unwrap())
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Polls once, with this task's waker.
pub(crate) async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// Whether this process was started by [`alone`] for that test.
const ALONE: &str = "MAINSPRING_REACTOR_ALONE";

/// Runs `test`, whose full name is given, in a process of its own that may have 64 descriptors: for
/// what counts or runs out of things that belong to the process.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var(ALONE).is_ok_and(|which| which == name) {
        return test();
    }
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -S -n 64; exec \"$0\" --exact \"$1\" --nocapture",
        ])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(ALONE, name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        text.contains("1 passed"),
        "no test of this name: {name}\n{text}"
    );
}

/// How many descriptors the process has.
#[cfg(target_os = "linux")]
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
