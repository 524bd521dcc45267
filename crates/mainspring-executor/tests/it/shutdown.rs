//! Every executor, ended in every way while its tasks are at whatever may hold them up.
//!
//! Each cell of the matrix asserts that the end returns, that the report names what was left and
//! what it waited for, and that nothing but that is left: each task holds a token, each job
//! another. What is stuck is let go at the end of the cell, and then no token may be left at all.

mod matrix;
mod others;
mod stuck;

use mainspring_core::blocking::{self, Blocking};
use mainspring_core::shutdown;
use mainspring_core::task::{TaskInfo, TaskState, yield_now};
use mainspring_core::time::sleep;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{WaitList, Waiter};
use mainspring_executor::ShutdownReport;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

/// Far more than any test here takes.
const AMPLE: Duration = Duration::from_secs(3_600);

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a task is when the end comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Timer,
    Lock,
    Job,
    YieldLoop,
    Panic,
    Stuck,
}

/// How the end comes.
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

/// What is opened once, for all who stand before it.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    /// Blocks the thread.
    fn pass(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(
            self.opened
                .wait_while(is_open, |is_open| !*is_open)
                .unwrap(),
        );
    }
}

/// Counts what has not been dropped.
struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Panics when it is dropped, unless it is dropped by a panic.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "on purpose");
    }
}

/// What the tasks of one cell share.
#[derive(Clone, Default)]
struct Cell {
    tokens: Arc<AtomicUsize>,
    /// How many of the stuck, and of the jobs, have got there.
    stuck: Arc<AtomicUsize>,
    gate: Arc<Gate>,
}

impl Cell {
    fn token(&self) -> Token {
        self.tokens.fetch_add(1, SeqCst);
        Token(Arc::clone(&self.tokens))
    }

    fn left(&self) -> usize {
        self.tokens.load(SeqCst)
    }

    /// A task that stays where it is.
    fn task(&self, at: At) -> Boxed {
        let token = self.token();
        match at {
            At::Timer => Box::pin(async move {
                let _token = token;
                sleep(AMPLE).await;
            }),
            At::Lock => Box::pin(async move {
                let _token = token;
                locked().await;
            }),
            At::Job => {
                let (of_job, gate) = (self.token(), Arc::clone(&self.gate));
                let running = Arc::clone(&self.stuck);
                Box::pin(async move {
                    let _token = token;
                    let work = move || {
                        let _token = of_job;
                        running.fetch_add(1, SeqCst);
                        gate.pass();
                    };
                    let _ = blocking::run(Blocking::Syscall, work).await;
                })
            }
            At::YieldLoop => Box::pin(async move {
                let _token = token;
                loop {
                    yield_now().await;
                }
            }),
            At::Panic => Box::pin(async move {
                let (_token, _bomb) = (token, Bomb);
                shutdown::signal().requested().await;
                std::panic::resume_unwind(Box::new("on purpose"));
            }),
            At::Stuck => {
                let (stuck, gate) = (Arc::clone(&self.stuck), Arc::clone(&self.gate));
                Box::pin(async move {
                    let _token = token;
                    stuck.fetch_add(1, SeqCst);
                    gate.pass();
                })
            }
        }
    }

    /// Waits until so many are stuck, or so many jobs run.
    fn wait_for_stuck(&self, many: usize) {
        while self.stuck.load(SeqCst) < many {
            thread::yield_now();
        }
    }

    /// Lets everybody go, and waits until nothing is left.
    fn release(&self) {
        self.gate.open();
        while self.left() > 0 {
            thread::yield_now();
        }
    }
}

/// Waits for a lock that is never released.
async fn locked() {
    static HELD: LazyLock<WaitList<()>> = LazyLock::new(|| WaitList::new(()));
    let mut waiter = pin!(Waiter::new(&*HELD, ()));
    poll_fn(|cx| {
        let polled = waiter.as_mut().poll_wait(cx, |_, (), _| None::<()>);
        wait::note(WaitKind::Lock, 1);
        polled
    })
    .await;
}

/// Whether a task is where it was to be.
fn is_there(at: At, info: &TaskInfo) -> bool {
    let kind = info.waits_for.map(|reason| reason.kind);
    match at {
        At::Timer => kind == Some(WaitKind::Timer),
        At::Lock => kind == Some(WaitKind::Lock),
        At::Job => kind == Some(WaitKind::Blocking),
        At::Panic => kind == Some(WaitKind::Signal),
        At::YieldLoop => info.polls > 1,
        At::Stuck => info.state == TaskState::Running,
    }
}

/// Checks what a report says of `many` tasks that were all at the same place.
fn check(report: &ShutdownReport, at: At, many: usize, end: End) {
    let named = &report.dropped;
    let jobs = report.abandoned_jobs.len() + report.refused_jobs.len();
    if at == At::Panic {
        // Those that came to it before they were dropped have panicked by themselves.
        assert!(named.len() <= many, "{end:?}: {report}");
        assert!(end != End::Fifty || named.is_empty(), "{report}");
    } else {
        assert_eq!(named.len(), many, "{end:?}: {report}");
    }
    assert_eq!(jobs, if at == At::Job { many } else { 0 }, "{report}");
    for info in named {
        // The signal has woken those that wait for it, and a loop is anywhere.
        let is_anywhere = matches!(at, At::Panic | At::YieldLoop);
        assert!(is_anywhere || is_there(at, info), "{end:?}: {report}");
        assert!(report.to_string().contains(&info.to_string()), "{report}");
    }
    assert!(!report.is_leaking(), "{end:?}: {report}");
    assert!(report.unfinished_cleanups.is_empty());
}
