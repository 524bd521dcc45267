//! One test a kind of runtime, in a process of its own, in which the descriptors can be counted.

use crate::stealing::patiently;
use crate::{backends, in_a_process_of_its_own, pair};
use mainspring::shutdown::ShutdownReport;
use mainspring::sync::Mutex;
use mainspring::task::{TaskInfo, WaitKind};
use mainspring::{Backend, LocalRuntime, Runtime};
use mainspring_core::driver::Driver;
use mainspring_core::task::yield_now;
use mainspring_executor::Executor;
use mainspring_reactor::Reactor;
use mainspring_timer::TimerDriver;
use std::any::Any;
use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const MARK: &str = "MAINSPRING_TEST_MATRIX";
const FIFTY: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Read,
    Lock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Drop,
    Zero,
    Fifty,
    OtherThread,
    InsideTask,
    ThreadLocal,
}

const ENDS: [End; 6] = [
    End::Drop,
    End::Zero,
    End::Fifty,
    End::OtherThread,
    End::InsideTask,
    End::ThreadLocal,
];

/// Counts what has not been dropped.
struct Token(Arc<AtomicUsize>);

impl Token {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn count(directory: &str) -> usize {
    let listed = std::fs::read_dir(directory).expect("the system's list");
    listed.count()
}

fn is_there(at: At, info: &TaskInfo) -> bool {
    let kind = info.waits_for.map(|reason| reason.kind);
    match at {
        At::Read => kind == Some(WaitKind::Read),
        At::Lock => kind == Some(WaitKind::Lock),
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task that waits for bytes that do not come, or for a lock that is held.
fn task(at: At, alive: &Arc<AtomicUsize>, lock: &Arc<Mutex<()>>) -> Boxed {
    let (token, lock) = (Token::new(alive), Arc::clone(lock));
    match at {
        At::Read => Box::pin(async move {
            let _token = token;
            let (mut client, _server) = pair().await;
            let _ = client.read(&mut [0; 16]).await;
        }),
        At::Lock => Box::pin(async move {
            let _token = token;
            let _guard = lock.lock().await;
            unreachable!("it is held");
        }),
    }
}

/// What is ended.
trait Subject: Sized + 'static {
    /// The driver in which its tasks wait goes before it is ended, and they are woken.
    const MOVES_ON: bool = false;

    fn over(backend: Backend) -> Self;
    fn spawn(&self, task: Boxed);
    /// Runs it until all of its tasks are at their places.
    fn settle(&self, are_there: &dyn Fn(&[TaskInfo]) -> bool);
    fn shutdown(&self, limit: Duration) -> ShutdownReport;
}

struct Workers<const MANY: usize>(Runtime);

impl<const MANY: usize> Subject for Workers<MANY> {
    fn over(backend: Backend) -> Self {
        let build = || Runtime::builder().workers(MANY).backend(backend).build();
        Self(patiently(build))
    }

    fn spawn(&self, task: Boxed) {
        self.0.spawn(task).detach();
    }

    fn settle(&self, are_there: &dyn Fn(&[TaskInfo]) -> bool) {
        while !are_there(&self.0.tasks()) {
            thread::yield_now();
        }
    }

    fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.0.shutdown(limit)
    }
}

impl Subject for LocalRuntime {
    fn over(backend: Backend) -> Self {
        patiently(|| Self::builder().backend(backend).build())
    }

    fn spawn(&self, task: Boxed) {
        self.spawn_local(task).detach();
    }

    fn settle(&self, are_there: &dyn Fn(&[TaskInfo]) -> bool) {
        while !are_there(&self.tasks()) {
            let _ = self.tick();
        }
    }

    fn shutdown(&self, limit: Duration) -> ShutdownReport {
        Self::shutdown(self, limit)
    }
}

/// The one whose tasks borrow brings a driver to each call.
struct Borrowing(Executor<'static>, Backend);

impl Borrowing {
    fn driver(&self) -> Box<dyn Driver> {
        let reactor = patiently(|| Reactor::with_backend(self.1));
        Box::new(TimerDriver::new(reactor))
    }
}

impl Subject for Borrowing {
    const MOVES_ON: bool = true;

    fn over(backend: Backend) -> Self {
        Self(Executor::new(), backend)
    }

    fn spawn(&self, task: Boxed) {
        self.0.spawn(task).detach();
    }

    fn settle(&self, are_there: &dyn Fn(&[TaskInfo]) -> bool) {
        self.0.run_with(self.driver(), async {
            while !are_there(&self.0.tasks()) {
                yield_now().await;
            }
        });
    }

    fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.0.shutdown_with(self.driver(), limit)
    }
}

/// Ends its runtime when it is dropped, and tells how that went.
struct Late<S: Subject>(S, mpsc::Sender<ShutdownReport>);

impl<S: Subject> Drop for Late<S> {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.shutdown(FIFTY));
    }
}

thread_local! {
    static LATE: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

fn end<S: Subject>(make: impl FnOnce() -> S + Send + 'static, how: End) -> Option<ShutdownReport> {
    match how {
        End::Drop => {
            drop(make());
            None
        }
        End::Zero => Some(make().shutdown(Duration::ZERO)),
        End::Fifty => Some(make().shutdown(FIFTY)),
        End::OtherThread => {
            let (told, tells) = mpsc::channel::<()>();
            let other = thread::spawn(move || {
                let there = make();
                let _ = tells.recv();
                there.shutdown(Duration::ZERO)
            });
            told.send(()).expect("it waits");
            Some(other.join().expect("no panic"))
        }
        End::InsideTask => {
            let inner = make();
            // Over readiness, whatever is tried here: it is only the place.
            let outer = LocalRuntime::builder().backend(Backend::Poll).build();
            let outer = outer.expect("a runtime");
            let task = outer.spawn_local(async move { drop(inner) });
            outer.block_on(task).expect("no panic");
            None
        }
        End::ThreadLocal => {
            let (say, said) = mpsc::channel();
            let thread = thread::spawn(move || LATE.set(Some(Box::new(Late(make(), say)))));
            assert!(thread.join().is_ok());
            Some(said.recv().expect("it returns"))
        }
    }
}

fn cell<S: Subject>(backend: Backend, at: At, how: End) {
    const MANY: usize = 3;
    let alive = Arc::new(AtomicUsize::new(0));
    let lock = Arc::new(Mutex::new(()));
    let held = lock.try_lock_owned().expect("it is free");
    let make = {
        let (alive, lock) = (Arc::clone(&alive), Arc::clone(&lock));
        move || {
            let subject = S::over(backend);
            for _ in 0..MANY {
                subject.spawn(task(at, &alive, &lock));
            }
            subject.settle(&|infos| infos.iter().all(|info| is_there(at, info)));
            subject
        }
    };
    if let Some(report) = end(make, how) {
        assert_eq!(report.dropped.len(), MANY, "{backend} {how:?}: {report}");
        let is_named = |info| is_there(at, info) || S::MOVES_ON;
        assert!(
            report.dropped.iter().all(is_named),
            "{backend} {how:?}: {report}"
        );
        assert!(!report.is_leaking(), "{report}");
        assert_eq!(alive.load(SeqCst), 0, "{backend} {how:?}");
    }
    // Dropped inside a task it ends in its own time.
    while alive.load(SeqCst) > 0 {
        thread::yield_now();
    }
    drop(held);
}

fn all<S: Subject>(name: &str, at: At) {
    if std::env::var_os(MARK).is_none() {
        return in_a_process_of_its_own(&format!("shutdown::matrix::{name}"), MARK, 1_024);
    }
    for backend in backends() {
        // What a thread keeps, and what is made once, is there after the first round.
        cell::<S>(backend, at, End::InsideTask);
        let threads = 2; // this one, and the one that started it
        while count("/proc/self/task") != threads {
            thread::yield_now();
        }
        let descriptors = count("/proc/self/fd");
        for how in ENDS {
            cell::<S>(backend, at, how);
            while count("/proc/self/task") != threads {
                thread::yield_now();
            }
            assert_eq!(
                count("/proc/self/fd"),
                descriptors,
                "{backend} {at:?} {how:?}"
            );
        }
    }
}

/// A task that is at home with a stuck one is named with what it waits for, and so is what the
/// kernel has of the worker's reactor.
#[test]
fn stuck_worker_is_left_with_its_reads_and_all_of_it_goes_when_it_comes_back() {
    let name = "stuck_worker_is_left_with_its_reads_and_all_of_it_goes_when_it_comes_back";
    if std::env::var_os(MARK).is_none() {
        return in_a_process_of_its_own(&format!("shutdown::matrix::{name}"), MARK, 1_024);
    }
    for backend in backends() {
        let descriptors = count("/proc/self/fd");
        let alive = Arc::new(AtomicUsize::new(0));
        let runtime = Workers::<2>::over(backend).0;
        let parked = |token: Token| async move {
            let _token = token;
            let (mut client, _server) = pair().await;
            let _ = client.read(&mut [0; 16]).await;
        };
        for worker in [0, 1] {
            let token = Token::new(&alive);
            runtime.spawn_pinned(worker, move || parked(token)).detach();
        }
        runtime.spawn(parked(Token::new(&alive))).detach();
        while !runtime.tasks().iter().all(|info| is_there(At::Read, info)) {
            thread::yield_now();
        }
        let (begun, begins) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let token = Token::new(&alive);
        let line = line!() + 1;
        let stuck = runtime.spawn_pinned(0, move || async move {
            let _token = token;
            let _ = begun.send(());
            let _ = held.recv();
        });
        begins.recv().expect("it runs");
        let report = runtime.shutdown(FIFTY);
        assert_eq!(report.dropped.len(), 2, "{backend}: {report}");
        assert_eq!(
            (report.stuck.len(), report.stranded.len()),
            (1, 1),
            "{report}"
        );
        assert_eq!(report.stuck[0].spawned_at.line(), line);
        assert!(is_there(At::Read, &report.stranded[0]), "{report}");
        let [left] = &report.left_threads[..] else {
            panic!("one thread is stuck: {report}");
        };
        assert_eq!((left.worker, &*left.name), (Some(0), "mainspring-0"));
        match backend {
            Backend::Poll => assert_eq!(left.in_flight, Some(0), "{report}"),
            _ => assert!(left.in_flight.is_some_and(|many| many > 0), "{report}"),
        }
        assert_eq!(alive.load(SeqCst), 2, "{report}");
        drop(runtime);
        drop(release);
        while alive.load(SeqCst) > 0 || count("/proc/self/task") > 2 {
            thread::yield_now();
        }
        drop(stuck);
        assert_eq!(count("/proc/self/fd"), descriptors, "{backend}");
    }
}

#[test]
fn grace_of_the_builders_is_heeded() {
    let day = Duration::from_secs(86_400);
    let local = LocalRuntime::builder().grace(Duration::ZERO).build();
    let local = local.expect("a runtime");
    local.spawn_local(pending::<()>()).detach();
    assert_eq!(local.shutdown(day).dropped.len(), 1);
    let runtime = Runtime::builder().workers(2).grace(Duration::ZERO).build();
    let runtime = runtime.expect("a runtime");
    runtime.spawn(pending::<()>()).detach();
    assert_eq!(runtime.shutdown(day).dropped.len(), 1);
}

macro_rules! cells {
    ($($name:ident $subject:ty, $at:ident)*) => {$(
        #[test]
        fn $name() {
            all::<$subject>(stringify!($name), At::$at);
        }
    )*};
}

cells! {
    one_worker_in_a_read Workers<1>, Read
    one_worker_in_a_lock Workers<1>, Lock
    two_workers_in_a_read Workers<2>, Read
    two_workers_in_a_lock Workers<2>, Lock
    eight_workers_in_a_read Workers<8>, Read
    eight_workers_in_a_lock Workers<8>, Lock
    local_in_a_read LocalRuntime, Read
    local_in_a_lock LocalRuntime, Lock
    borrowing_in_a_read Borrowing, Read
    borrowing_in_a_lock Borrowing, Lock
}
