//! How the driver runs, and what the tests share.

use mainspring_core::driver::{Driver, DriverHandle, Until};
use mainspring_core::park::{Parker, Unparker};
use mainspring_reactor::net::{TcpListener, TcpSocket, TcpStream};
use mainspring_reactor::{Backend, Reactor, RingRefusal};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::process::{Command, Output};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// How the driver runs.
pub(crate) trait Drive {
    /// Runs a test to its end.
    fn run<T>(test: impl Future<Output = T>) -> T;
}

/// A reactor over the ring on the thread that polls.
pub(crate) struct OnRing;

/// A reactor over readiness on the thread that polls.
pub(crate) struct OnPoll;

/// No reactor on the thread that polls: the background thread's.
pub(crate) struct InBackground;

thread_local! {
    /// Which backend has to serve the test that runs on this thread.
    static EXPECTED: Cell<Backend> = const { Cell::new(Backend::Poll) };
}

/// Which backend has to serve the test that runs on this thread.
pub(crate) fn expected() -> Backend {
    EXPECTED.get()
}

/// Which backend has to serve from now on.
pub(crate) fn expect(backend: Backend) {
    EXPECTED.set(backend);
}

/// The ring's reactor, or where the kernel has no ring, said loudly, the other one.
pub(crate) fn ring() -> Reactor {
    let reactor = match Reactor::with_backend(Backend::Uring) {
        Ok(reactor) => reactor,
        Err(error) => {
            eprintln!("NOT ON THE RING: {error}");
            Reactor::with_backend(Backend::Poll).unwrap()
        }
    };
    let explained = Backend::explain();
    if explained.refusal() != Some(RingRefusal::Environment) {
        assert_eq!(reactor.backend(), explained.used());
    }
    reactor
}

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

impl Drive for OnRing {
    fn run<T>(test: impl Future<Output = T>) -> T {
        run(ring(), test)
    }
}

impl Drive for OnPoll {
    fn run<T>(test: impl Future<Output = T>) -> T {
        run(Reactor::with_backend(Backend::Poll).unwrap(), test)
    }
}

fn run<T>(mut reactor: Reactor, test: impl Future<Output = T>) -> T {
    expect(reactor.backend());
    let _entered = reactor.handle().enter();
    let result = drive(&mut reactor, test).0;
    // Whoever was dropped has been seen off, and what was lent is back.
    assert_eq!(reactor.sockets(), 0);
    assert_eq!(reactor.pinned_buffers(), 0);
    drop(reactor);
    memory_is_whole();
    result
}

/// Nobody has written into memory that was freed.
#[cfg(target_os = "linux")]
pub(crate) fn memory_is_whole() {
    crate::quarantine::check();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn memory_is_whole() {}

struct Thread(Unparker);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Drive for InBackground {
    fn run<T>(test: impl Future<Output = T>) -> T {
        expect(Backend::Poll);
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(Thread(parker.unparker())));
        let mut test = pin!(test);
        loop {
            match test.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => {
                    memory_is_whole();
                    return result;
                }
                Poll::Pending => parker.park(),
            }
        }
    }
}

/// Each named test on every way to run.
macro_rules! on_each {
    ($($name:ident),* $(,)?) => {
        mod on_ring {
            $(#[test] fn $name() { super::$name::<crate::rig::OnRing>(); })*
        }
        mod on_poll {
            $(#[test] fn $name() { super::$name::<crate::rig::OnPoll>(); })*
        }
        mod in_background {
            $(#[test] fn $name() { super::$name::<crate::rig::InBackground>(); })*
        }
    };
}

/// A listener on a free port of the loopback.
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    assert_eq!(listener.backend(), expected());
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Both ends of a connection.
pub(crate) async fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let client = TcpStream::connect(address).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    drop(listener.into_std().await.unwrap());
    assert_eq!(client.local_addr().unwrap(), peer);
    assert_eq!(client.backend(), expected());
    assert_eq!(server.backend(), expected());
    (client, server)
}

/// As [`pair`], with little room in between: a few times ten KiB fill it.
pub(crate) async fn narrow_pair() -> (TcpStream, TcpStream) {
    const ROOM: usize = 16 << 10;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(ROOM).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(16).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(ROOM).unwrap();
    let connect = socket.connect(listener.local_addr().unwrap());
    let (client, server) = join(connect, listener.accept()).await;
    drop(listener.into_std().await.unwrap());
    (client.unwrap(), server.unwrap().0)
}

/// Lets the driver have its turns until `holds` does: what is dropped is closed by the ring when
/// the kernel has let go of it, which is a matter of turns.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        mainspring_core::task::yield_now().await;
    }
    panic!("it never holds");
}

/// Gives the driver some turns, in which what the kernel has arrives.
pub(crate) async fn turns() {
    for _ in 0..8 {
        mainspring_core::task::yield_now().await;
    }
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

/// For which test this process was started by another one, if it was.
const CHILD: &str = "MAINSPRING_REACTOR_CHILD";

/// Runs `test`, whose full name is given, in a process of its own that may have 64 descriptors: for
/// what counts or runs out of things that belong to the process.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    succeeded(child(name, test));
}

/// As [`alone`], and says how the process ended. `None`: this one is it, and the test is done.
pub(crate) fn child(name: &str, test: impl FnOnce()) -> Option<Output> {
    child_with(name, &[], test)
}

/// As [`child`], with more variables in its environment.
pub(crate) fn child_with(name: &str, env: &[(&str, &str)], test: impl FnOnce()) -> Option<Output> {
    if std::env::var(CHILD).is_ok_and(|which| which == name) {
        test();
        return None;
    }
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -S -n 64; exec \"$0\" --exact \"$1\" --nocapture",
        ])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(CHILD, name)
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("running 1 test"),
        "no test of this name: {name}\n{text}"
    );
    Some(output)
}

/// The test of the other process has passed.
pub(crate) fn succeeded(output: Option<Output>) {
    let Some(output) = output else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{said}");
    assert!(text.contains("1 passed"), "{text}{said}");
    // What was not run, and what was scaled down.
    eprint!("{said}");
}

/// How many descriptors the process has.
#[cfg(target_os = "linux")]
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// How many of so many connections this process may have, both ends of each. Fewer are said loudly.
#[cfg(target_os = "linux")]
pub(crate) fn affordable(wanted: usize) -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: [ring-stream.owns] one struct, valid during the call, which writes it.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: [ring-stream.owns] one struct, valid during the call, which reads it.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    let most = usize::try_from(limit.rlim_max).unwrap_or(usize::MAX);
    let count = wanted.min(most.saturating_sub(128) / 2);
    if count < wanted {
        eprintln!("SCALED DOWN to {count} connections instead of {wanted}: the limit is {most}");
    }
    count
}
