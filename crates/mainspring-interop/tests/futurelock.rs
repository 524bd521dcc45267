//! A lock that is granted to a future which its own task holds and does not poll (Oxide's RFD 609,
//! omicron#9259), on runtimes that know nothing of it.
//!
//! The task waits for the lock in one branch of a `select!`, by reference; the other branch wins,
//! and its handler asks for the same lock again. A fair lock goes to the first future, which nobody
//! polls any more; the second one waits behind it, in the same task, for ever. A mutex of
//! mainspring-sync gives the second future what the first one was offered, for it is polled with
//! the same waker.

use futures_util::poll;
use futures_util::stream::{FuturesUnordered, StreamExt};
use mainspring_core::wait_list::Cure;
use mainspring_executor::{LocalExecutor, block_on, spawn_local};
use mainspring_sync::{Mutex, Notify, Semaphore, oneshot};
use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A guard: nothing waits for it but what hangs and should not.
const LIMIT: Duration = Duration::from_secs(60);

fn single() -> tokio::runtime::Runtime {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap()
}

fn multi() -> tokio::runtime::Runtime {
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_time().build().unwrap()
}

/// A lock with futures of its own, as the scenario needs it.
trait Lock: Send + Sync + 'static {
    type Guard: Send;
    fn new() -> Arc<Self>;
    fn lock(self: Arc<Self>) -> impl Future<Output = Self::Guard> + Send;
}

impl Lock for Mutex<()> {
    type Guard = mainspring_sync::OwnedMutexGuard<()>;

    fn new() -> Arc<Self> {
        Arc::new(Mutex::new(()))
    }

    async fn lock(self: Arc<Self>) -> Self::Guard {
        self.lock_owned().await
    }
}

impl Lock for Semaphore {
    type Guard = mainspring_sync::semaphore::OwnedPermit;

    fn new() -> Arc<Self> {
        Arc::new(Semaphore::new(1))
    }

    async fn lock(self: Arc<Self>) -> Self::Guard {
        self.acquire_owned(1).await.unwrap()
    }
}

impl Lock for tokio::sync::Mutex<()> {
    type Guard = tokio::sync::OwnedMutexGuard<()>;

    fn new() -> Arc<Self> {
        Arc::new(tokio::sync::Mutex::new(()))
    }

    async fn lock(self: Arc<Self>) -> Self::Guard {
        self.lock_owned().await
    }
}

/// How the scenario ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The second future got the lock, and so did the first one, afterwards.
    Served,
    /// Nobody used the lock, and the second future did not get it however often it was polled: it
    /// was the first one's, who got it once it was polled again.
    Locked,
}

/// How the task polls the first of its two futures.
#[derive(Clone, Copy)]
enum First {
    /// With its own waker, as `select!` and `join!` do.
    Direct,
    /// In a set of futures, each of which has a waker of its own.
    InASet,
}

/// A future that gives the others a turn.
async fn pause() {
    let mut is_over = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The scenario, in the task that this is polled in.
async fn scenario<L: Lock>(how: First) -> End {
    const POLLS: usize = 100;
    let lock = L::new();
    let held = Arc::clone(&lock).lock().await;
    let (go, wait) = oneshot::channel();
    let (done, holder) = oneshot::channel();
    // Another thread, so that the scenario needs nothing of the runtime.
    std::thread::spawn(move || {
        wait.recv_blocking().unwrap();
        drop(held);
        done.send(()).unwrap();
    });
    let set = FuturesUnordered::new();
    let first: std::pin::Pin<Box<dyn Future<Output = L::Guard> + Send>> = match how {
        First::Direct => Box::pin(Arc::clone(&lock).lock()),
        First::InASet => {
            set.push(Arc::clone(&lock).lock());
            Box::pin(async move { { set }.next().await.unwrap() })
        }
    };
    let mut first = pin!(first);
    tokio::select! {
        biased;
        _ = &mut first => panic!("somebody else has the lock"),
        () = ready(()) => {}
    }
    // The handler of the other branch: from here on the task drives the second future alone.
    go.send(()).unwrap();
    holder.await.unwrap();
    let mut second = pin!(Arc::clone(&lock).lock());
    for _ in 0..POLLS {
        if let Poll::Ready(guard) = poll!(&mut second) {
            drop(guard);
            drop(first.await);
            return End::Served;
        }
        pause().await;
    }
    let Poll::Ready(guard) = poll!(&mut first) else {
        panic!("nobody has the lock, and nobody gets it");
    };
    drop(guard);
    drop(second.await);
    End::Locked
}

async fn guarded<L: Lock>(how: First) -> End {
    let scenario = tokio::time::timeout(LIMIT, scenario::<L>(how));
    scenario.await.expect("it ends")
}

/// The same scenario in the same runtime with either mutex.
#[test]
fn select_by_reference_locks_up_tokios_mutex_and_not_ours() {
    for runtime in [single(), multi()] {
        // In the root future, and in a task.
        let ours = runtime.block_on(guarded::<Mutex<()>>(First::Direct));
        assert_eq!(ours, End::Served);
        let task = runtime.spawn(guarded::<Mutex<()>>(First::Direct));
        assert_eq!(runtime.block_on(task).unwrap(), End::Served);
        let task = runtime.spawn(guarded::<Semaphore>(First::Direct));
        assert_eq!(runtime.block_on(task).unwrap(), End::Served);
        let theirs = runtime.spawn(guarded::<tokio::sync::Mutex<()>>(First::Direct));
        assert_eq!(runtime.block_on(theirs).unwrap(), End::Locked);
    }
}

#[test]
fn select_by_reference_is_cured_under_smol_and_futures() {
    let ours = || scenario::<Mutex<()>>(First::Direct);
    assert_eq!(smol::block_on(smol::spawn(ours())), End::Served);
    assert_eq!(futures_executor::block_on(ours()), End::Served);
}

/// Where the first future has a waker of its own, a foreign runtime leaves no trace of whose task
/// it is. An executor of the family says so.
#[test]
fn set_of_futures_hides_its_task_from_foreign_runtimes_alone() {
    let scenario = || scenario::<Mutex<()>>(First::InASet);
    assert_eq!(multi().block_on(scenario()), End::Locked);
    assert_eq!(block_on(scenario()), End::Served);
    assert_eq!(LocalExecutor::new().block_on(scenario()), End::Served);
    let task = async { spawn_local(scenario()).await.unwrap() };
    assert_eq!(LocalExecutor::new().block_on(task), End::Served);
}

/// What a strict or a revocable mutex does not cure under a foreign runtime: the second future is
/// another task's. It waits until the first one is polled or dropped, and `diagnose` names it.
#[test]
fn futurelock_between_tasks_is_named_and_not_cured() {
    multi().block_on(async {
        let mutex = Arc::new(Mutex::new(()).revocable());
        let held = mutex.try_lock_owned().unwrap();
        let mut first = Box::pin(Arc::clone(&mutex).lock());
        tokio::select! {
            biased;
            _ = &mut first => panic!("somebody else has the lock"),
            () = ready(()) => {}
        }
        drop(held);
        let theirs = Arc::clone(&mutex);
        let queued = Arc::new(Notify::new());
        let tell = Arc::clone(&queued);
        let other = tokio::spawn(async move {
            let mut lock = pin!(theirs.lock_owned());
            let guard = poll_fn(|cx| {
                let polled = lock.as_mut().poll(cx);
                tell.notify_one();
                polled
            });
            drop(guard.await);
        });
        queued.notified().await;
        let diagnosis = mutex.diagnose();
        assert_eq!((diagnosis.waiting, diagnosis.offers.len()), (1, 1));
        let offer = diagnosis.offers[0];
        assert_eq!((offer.task, offer.cure), (None, Cure::SameWaker));
        // Dropped, it hands the lock on; and the branch's own task could have polled it.
        drop(first);
        other.await.unwrap();
        assert!(mutex.diagnose().offers.is_empty());
    });
}
