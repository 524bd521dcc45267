//! Mutexes, semaphores and notifications.

use std::future::Future;
use std::sync::Arc;
use std::thread;

use mainspring_executor::spawn_local;

use super::{Entry, on_one_thread, on_two_workers, timed};
use crate::outcome::Outcome;

/// A mutex around a counter.
trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    /// Adds one under the lock.
    fn add(&self) -> impl Future<Output = ()> + Send;
    fn into_count(self) -> u64;
}

fn mutex_solo<L: Lock>(passes: u32) -> Outcome {
    timed(passes, |rounds| {
        let lock = L::new();
        futures_lite::future::block_on(async {
            for _ in 0..rounds {
                lock.add().await;
            }
        });
        assert_eq!(lock.into_count(), rounds);
    })
}

/// Two threads, each in a `block_on` of its own.
fn mutex_contended<L: Lock>(passes: u32) -> Outcome {
    timed(passes, |rounds| {
        let lock = L::new();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    futures_lite::future::block_on(async {
                        for _ in 0..rounds.div_ceil(2) {
                            lock.add().await;
                        }
                    });
                });
            }
        });
        assert_eq!(lock.into_count(), 2 * rounds.div_ceil(2));
    })
}

trait Permits: 'static {
    fn new(permits: usize) -> Self;
    /// Takes a permit and gives it back.
    fn pass(&self) -> impl Future<Output = ()>;
}

fn semaphore_solo<P: Permits>(passes: u32) -> Outcome {
    timed(passes, |rounds| {
        let permits = P::new(1);
        futures_lite::future::block_on(async {
            for _ in 0..rounds {
                permits.pass().await;
            }
        });
    })
}

trait Event: Send + Sync + 'static {
    fn new() -> Self;
    fn notify(&self);
    fn wait(&self) -> impl Future<Output = ()> + Send;
}

async fn serve<E: Event>(mine: Arc<E>, other: Arc<E>, rounds: u64) {
    for _ in 0..rounds {
        mine.wait().await;
        other.notify();
    }
}

async fn call<E: Event>(mine: Arc<E>, other: Arc<E>, rounds: u64) {
    for _ in 0..rounds {
        other.notify();
        mine.wait().await;
    }
}

/// There and back, halved.
fn notify_one_thread<E: Event>(passes: u32) -> Outcome {
    timed(passes, |ways| {
        on_one_thread(async move {
            let (a, b) = (Arc::new(E::new()), Arc::new(E::new()));
            let rounds = ways.div_ceil(2);
            let served = spawn_local(serve(Arc::clone(&a), Arc::clone(&b), rounds));
            let called = spawn_local(call(b, a, rounds));
            assert!(served.await.is_ok());
            assert!(called.await.is_ok());
        });
    })
}

fn notify_two_workers<E: Event>(passes: u32) -> Outcome {
    timed(passes, |ways| {
        on_two_workers(async move {
            let (a, b) = (Arc::new(E::new()), Arc::new(E::new()));
            let rounds = ways.div_ceil(2);
            let served = tokio::spawn(serve(Arc::clone(&a), Arc::clone(&b), rounds));
            let called = tokio::spawn(call(b, a, rounds));
            served.await.expect("no task of a row panics");
            called.await.expect("no task of a row panics");
        });
    })
}

struct Ours<T>(T);
struct Tokio<T>(T);
struct AsyncLock<T>(T);
struct Futures<T>(T);

impl Lock for Ours<mainspring_sync::Mutex<u64>> {
    fn new() -> Self {
        Self(mainspring_sync::Mutex::new(0))
    }

    async fn add(&self) {
        *self.0.lock().await += 1;
    }

    fn into_count(self) -> u64 {
        self.0.into_inner()
    }
}

impl Permits for Ours<mainspring_sync::Semaphore> {
    fn new(permits: usize) -> Self {
        Self(mainspring_sync::Semaphore::new(permits))
    }

    async fn pass(&self) {
        drop(self.0.acquire(1).await);
    }
}

impl Event for Ours<mainspring_sync::Notify> {
    fn new() -> Self {
        Self(mainspring_sync::Notify::new())
    }

    fn notify(&self) {
        self.0.notify_one();
    }

    async fn wait(&self) {
        self.0.notified().await;
    }
}

impl Lock for Tokio<tokio::sync::Mutex<u64>> {
    fn new() -> Self {
        Self(tokio::sync::Mutex::new(0))
    }

    async fn add(&self) {
        *self.0.lock().await += 1;
    }

    fn into_count(self) -> u64 {
        self.0.into_inner()
    }
}

impl Lock for AsyncLock<async_lock::Mutex<u64>> {
    fn new() -> Self {
        Self(async_lock::Mutex::new(0))
    }

    async fn add(&self) {
        *self.0.lock().await += 1;
    }

    fn into_count(self) -> u64 {
        self.0.into_inner()
    }
}

impl Lock for Futures<futures_util::lock::Mutex<u64>> {
    fn new() -> Self {
        Self(futures_util::lock::Mutex::new(0))
    }

    async fn add(&self) {
        *self.0.lock().await += 1;
    }

    fn into_count(self) -> u64 {
        self.0.into_inner()
    }
}

impl Permits for Tokio<tokio::sync::Semaphore> {
    fn new(permits: usize) -> Self {
        Self(tokio::sync::Semaphore::new(permits))
    }

    async fn pass(&self) {
        drop(self.0.acquire().await);
    }
}

impl Permits for AsyncLock<async_lock::Semaphore> {
    fn new(permits: usize) -> Self {
        Self(async_lock::Semaphore::new(permits))
    }

    async fn pass(&self) {
        drop(self.0.acquire().await);
    }
}

impl Event for Tokio<tokio::sync::Notify> {
    fn new() -> Self {
        Self(tokio::sync::Notify::new())
    }

    fn notify(&self) {
        self.0.notify_one();
    }

    async fn wait(&self) {
        self.0.notified().await;
    }
}

/// event-listener stores no notification, so a flag stands beside it, as its documentation shows.
struct Listener {
    flag: std::sync::atomic::AtomicBool,
    event: event_listener::Event,
}

impl Event for Listener {
    fn new() -> Self {
        Self {
            flag: std::sync::atomic::AtomicBool::new(false),
            event: event_listener::Event::new(),
        }
    }

    fn notify(&self) {
        self.flag.store(true, std::sync::atomic::Ordering::Release);
        self.event.notify(1);
    }

    async fn wait(&self) {
        use std::sync::atomic::Ordering::AcqRel;
        while !self.flag.swap(false, AcqRel) {
            let listener = self.event.listen();
            if self.flag.swap(false, AcqRel) {
                return;
            }
            listener.await;
        }
    }
}

type OursMutex = Ours<mainspring_sync::Mutex<u64>>;
type OursSemaphore = Ours<mainspring_sync::Semaphore>;
type OursNotify = Ours<mainspring_sync::Notify>;
type TokioMutex = Tokio<tokio::sync::Mutex<u64>>;
type AsyncLockMutex = AsyncLock<async_lock::Mutex<u64>>;
type FuturesMutex = Futures<futures_util::lock::Mutex<u64>>;
type TokioSemaphore = Tokio<tokio::sync::Semaphore>;
type AsyncLockSemaphore = AsyncLock<async_lock::Semaphore>;
type TokioNotify = Tokio<tokio::sync::Notify>;

pub(super) const ENTRIES: &[Entry] = &[
    ("mutex-solo", "ours", mutex_solo::<OursMutex>),
    ("mutex-solo", "tokio", mutex_solo::<TokioMutex>),
    ("mutex-solo", "async-lock", mutex_solo::<AsyncLockMutex>),
    ("mutex-solo", "futures", mutex_solo::<FuturesMutex>),
    ("mutex-two", "ours", mutex_contended::<OursMutex>),
    ("mutex-two", "tokio", mutex_contended::<TokioMutex>),
    ("mutex-two", "async-lock", mutex_contended::<AsyncLockMutex>),
    ("mutex-two", "futures", mutex_contended::<FuturesMutex>),
    ("semaphore-solo", "ours", semaphore_solo::<OursSemaphore>),
    ("semaphore-solo", "tokio", semaphore_solo::<TokioSemaphore>),
    (
        "semaphore-solo",
        "async-lock",
        semaphore_solo::<AsyncLockSemaphore>,
    ),
    ("notify-one", "ours", notify_one_thread::<OursNotify>),
    ("notify-one", "tokio", notify_one_thread::<TokioNotify>),
    (
        "notify-one",
        "event-listener",
        notify_one_thread::<Listener>,
    ),
    ("notify-two", "ours", notify_two_workers::<OursNotify>),
    ("notify-two", "tokio", notify_two_workers::<TokioNotify>),
    (
        "notify-two",
        "event-listener",
        notify_two_workers::<Listener>,
    ),
];
