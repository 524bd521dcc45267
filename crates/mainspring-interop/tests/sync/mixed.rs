//! Several executors and plain threads at once, and a `select!` over everything.

use futures_util::{FutureExt, SinkExt, StreamExt};
use mainspring_sync::wait_group::Worker;
use mainspring_sync::{
    Condvar, Mutex, Notify, RwLock, Semaphore, WaitGroup, broadcast, channel, oneshot, watch,
};
use mainspring_testkit::History;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn tokio() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(2).enable_time();
    builder.build().unwrap()
}

/// A task of tokio's sends to a task of smol's, which sends to a plain thread, which answers.
#[test]
fn messages_go_from_tokio_to_smol_to_a_thread_and_back() {
    const MESSAGES: u32 = 500;
    let runtime = tokio();
    let history = History::new();
    let (to_smol, from_tokio) = channel::bounded(2);
    let (to_thread, from_smol) = channel::bounded(2);
    let (to_tokio, answers) = channel::bounded(2);
    let mut producer = history.producer();
    runtime.spawn(async move {
        for _ in 0..MESSAGES {
            to_smol.send(producer.stamp()).await.unwrap();
        }
    });
    smol::spawn(async move {
        while let Ok(stamp) = from_tokio.recv().await {
            to_thread.send(stamp).await.unwrap();
        }
    })
    .detach();
    let thread = thread::spawn(move || {
        while let Ok(stamp) = from_smol.recv_blocking() {
            to_tokio.send_blocking(stamp).unwrap();
        }
    });
    let consumer = history.consumer();
    runtime.block_on(async {
        while let Ok(stamp) = answers.recv().await {
            consumer.received(stamp);
        }
    });
    thread.join().unwrap();
    let verdict = history.verdict();
    assert_eq!(verdict.values, MESSAGES as usize);
    verdict.assert_clean();
}

/// What all of them share.
#[derive(Clone)]
struct Shared {
    permits: Arc<Semaphore>,
    mutex: Arc<Mutex<u32>>,
    lock: Arc<RwLock<u32>>,
}

const TURNS: u32 = 100;

impl Shared {
    async fn work(self, _worker: Worker) {
        for _ in 0..TURNS {
            let _permit = self.permits.acquire(2).await.unwrap();
            *self.mutex.lock().await += 1;
            *self.lock.write().await += 1;
            assert!(*self.lock.read().await > 0);
        }
    }

    fn work_blocking(self, _worker: Worker) {
        for _ in 0..TURNS {
            let _permit = self.permits.acquire_blocking(2).unwrap();
            *self.mutex.lock_blocking() += 1;
            *self.lock.write_blocking() += 1;
            assert!(*self.lock.read_blocking() > 0);
        }
    }
}

#[test]
fn locks_are_shared_by_tasks_of_all_executors_and_threads() {
    let shared = Shared {
        permits: Arc::new(Semaphore::new(5)),
        mutex: Arc::default(),
        lock: Arc::default(),
    };
    let (runtime, group) = (tokio(), WaitGroup::new());
    for _ in 0..2 {
        drop(runtime.spawn(shared.clone().work(group.worker())));
        smol::spawn(shared.clone().work(group.worker())).detach();
        let (theirs, worker) = (shared.clone(), group.worker());
        thread::spawn(move || theirs.work_blocking(worker));
        let (theirs, worker) = (shared.clone(), group.worker());
        thread::spawn(move || futures_executor::block_on(theirs.work(worker)));
    }
    group.wait_blocking();
    assert_eq!(shared.permits.available(), 5);
    assert_eq!(*shared.mutex.lock_blocking(), 8 * TURNS);
    assert_eq!(*shared.lock.read_blocking(), 8 * TURNS);
}

#[test]
fn plain_threads_use_the_blocking_ends() {
    let (tx, rx) = channel::bounded(1);
    let (state, mut seen) = watch::channel(0);
    let (news, mut heard) = broadcast::lossless(1);
    let (answer, asked) = oneshot::channel();
    let signal = Arc::new((Notify::new(), Mutex::new(false), Condvar::new()));
    let theirs = Arc::clone(&signal);
    let other = thread::spawn(move || {
        let sum: u32 = std::iter::from_fn(|| rx.recv_blocking().ok()).sum();
        while *seen.borrow_and_update() < 3 {
            seen.changed_blocking().unwrap();
        }
        assert_eq!(heard.recv_blocking(), Ok("first"));
        assert_eq!(heard.recv_blocking(), Ok("second"));
        theirs.0.notified_blocking();
        let guard = theirs.1.lock_blocking();
        drop(theirs.2.wait_while_blocking(guard, |is_set| !*is_set));
        answer.send(sum).unwrap();
    });
    for number in 1..=100 {
        tx.send_blocking(number).unwrap();
    }
    drop(tx);
    for value in 1..=3 {
        state.send(value);
    }
    news.send_blocking("first").unwrap();
    news.send_blocking("second").unwrap();
    signal.0.notify_one();
    *signal.1.lock_blocking() = true;
    signal.2.notify_all();
    assert_eq!(asked.recv_blocking(), Ok(5_050));
    other.join().unwrap();
    assert!(Mutex::new(()).lock_timeout(Duration::ZERO).is_some());
}

/// A loop over a `select!` of tokio's that drops the losers each time: each message, permit and
/// notification is counted once.
#[test]
fn select_of_tokio_drops_losers_and_loses_nothing() {
    const EACH: u32 = 200;
    tokio().block_on(async {
        let (tx, rx) = channel::bounded(1);
        let (news, mut heard) = broadcast::lossless(1);
        let (state, mut seen) = watch::channel(0);
        let semaphore = Arc::new(Semaphore::new(1));
        // Taken away, to be added one by one.
        assert_eq!(semaphore.forget(1), 1);
        let adds = Arc::clone(&semaphore);
        let feeders = [
            tokio::spawn(async move {
                for number in 0..EACH {
                    tx.send(number).await.unwrap();
                }
                tx.closed().await;
            }),
            tokio::spawn(async move {
                for number in 0..EACH {
                    news.send(number).await.unwrap();
                }
                news.closed().await;
            }),
            tokio::spawn(async move {
                for value in 1..=EACH {
                    adds.add(1).unwrap();
                    state.send(value);
                    tokio::task::yield_now().await;
                }
                state.closed().await;
            }),
        ];
        let (mut received, mut news, mut permits) = (0, 0, 0);
        while (received, news, permits, *seen.borrow()) != (EACH, EACH, EACH, EACH) {
            tokio::select! {
                message = rx.recv() => {
                    assert_eq!(message, Ok(received));
                    received += 1;
                }
                message = heard.recv() => {
                    assert_eq!(message, Ok(news));
                    news += 1;
                }
                permit = semaphore.acquire(1) => {
                    permit.unwrap().forget();
                    permits += 1;
                }
                changed = seen.changed() => changed.unwrap(),
            }
        }
        assert_eq!(semaphore.available(), 0);
        assert!(rx.is_empty() && heard.is_empty());
        drop((rx, heard, seen));
        for feeder in feeders {
            feeder.await.unwrap();
        }
    });
}

/// A thread meets a task of tokio's, which feeds a task of smol's through a sink, which meets a
/// thread; each end was a stream or a sink that gave up, before it is used otherwise.
#[test]
fn rendezvous_and_sinks_lead_from_thread_to_tasks_to_thread() {
    const MESSAGES: u32 = 300;
    let runtime = tokio();
    let history = History::new();
    let (to_tokio, mut from_thread) = channel::rendezvous();
    let (mut to_smol, mut from_tokio) = channel::bounded(1);
    let (to_thread, mut from_smol) = channel::rendezvous();
    let (mut producer, consumer) = (history.producer(), history.consumer());
    let first = thread::spawn(move || {
        for _ in 0..MESSAGES {
            to_tokio.send_blocking(producer.stamp()).unwrap();
        }
    });
    runtime.spawn(async move {
        loop {
            let stamp = match from_thread.next().now_or_never() {
                Some(Some(stamp)) => stamp,
                Some(None) => return,
                None => match from_thread.recv().await {
                    Ok(stamp) => stamp,
                    Err(_) => return,
                },
            };
            SinkExt::send(&mut to_smol, stamp).await.unwrap();
        }
    });
    smol::spawn(async move {
        while let Some(stamp) = from_tokio.next().await {
            to_thread.send(stamp).await.unwrap();
        }
    })
    .detach();
    let last = thread::spawn(move || {
        loop {
            match from_smol.next().now_or_never() {
                Some(Some(stamp)) => consumer.received(stamp),
                Some(None) => return,
                None => match from_smol.recv_blocking() {
                    Ok(stamp) => consumer.received(stamp),
                    Err(_) => return,
                },
            }
        }
    });
    first.join().unwrap();
    last.join().unwrap();
    let verdict = history.verdict();
    assert_eq!(verdict.values, MESSAGES as usize);
    verdict.assert_clean();
}
