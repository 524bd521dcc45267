//! Scenarios of several primitives, dropped at every point at which they wait, each of them before
//! and after what it waits for is done.

use super::now;
use futures_core::Stream;
use mainspring_sync::{
    Condvar, Mutex, Notify, RwLock, RwLockUpgradableGuard, Semaphore, SetOnce, WaitGroup,
    broadcast, channel, oneshot, watch,
};
use mainspring_testkit::{Points, Turn, block_on, drop_everywhere};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;

/// Whether what an operation waits for is done now: while it waits; and where it is dropped,
/// before that, so that it goes with the answer in its hands, or after.
fn is_due(turn: Turn, early: bool) -> bool {
    match turn {
        Turn::Waits => true,
        Turn::Doomed => early,
        Turn::Dropped => !early,
    }
}

#[test]
fn permits_and_locks_come_back() {
    for early in [true, false] {
        let dropped = block_on(drop_everywhere(async |points| {
            permits(points, early).await;
            locks(points, early).await;
        }));
        assert_eq!(dropped.points(), 6, "{dropped}");
    }
}

async fn permits(points: &mut Points, early: bool) {
    let (permits, mutex) = (Semaphore::strict(2), Mutex::new(false));
    let mut held = permits.try_acquire(2).ok();
    let give = |turn| {
        if is_due(turn, early) {
            drop(held.take());
        }
    };
    let permit = match points.run_with("acquire", permits.acquire(2), give).await {
        Some(permit) => permit.unwrap(),
        None => permits.try_acquire(2).expect("a dropped request took some"),
    };

    let mut held = mutex.try_lock();
    let unlock = |turn| {
        if is_due(turn, early) {
            drop(held.take());
        }
    };
    let guard = match points.run_with("lock", mutex.lock(), unlock).await {
        Some(guard) => guard,
        None => mutex.try_lock().expect("a dropped request has the lock"),
    };

    let condvar = Condvar::new();
    let change = |turn| {
        if is_due(turn, early) {
            *mutex.try_lock().expect("one who waits has it") = true;
            condvar.notify_one();
        }
    };
    let wait = condvar.wait_while(guard, |is_set| !*is_set);
    let guard = match points.run_with("wait_while", wait, change).await {
        Some(guard) => guard,
        None => mutex.try_lock().expect("a dropped wait has the lock"),
    };
    assert!(*guard);
    drop((guard, permit));
    assert_eq!(permits.available(), 2);
    assert!(mutex.try_lock().is_some());
}

async fn locks(points: &mut Points, early: bool) {
    let lock = RwLock::new(0);
    let mut held = lock.try_write();
    let release = |turn| {
        if is_due(turn, early) {
            drop(held.take());
        }
    };
    let reader = match points.run_with("read", lock.read(), release).await {
        Some(reader) => reader,
        None => lock.try_read().expect("a dropped reader is in the way"),
    };
    let mut held = Some(reader);
    let release = |turn| {
        if is_due(turn, early) {
            drop(held.take());
        }
    };
    let mut writer = match points.run_with("write", lock.write(), release).await {
        Some(writer) => writer,
        None => lock.try_write().expect("a dropped writer is in the way"),
    };
    *writer += 1;
    drop(writer);

    let upgradable = lock.try_upgradable_read().expect("nobody is in it");
    let mut held = lock.try_read();
    let release = |turn| {
        if is_due(turn, early) {
            drop(held.take());
        }
    };
    let upgrade = RwLockUpgradableGuard::upgrade(upgradable);
    if let Some(writer) = points.run_with("upgrade", upgrade, release).await {
        assert_eq!(*writer, 1);
    }
    assert!(lock.try_write().is_some());
}

#[test]
fn messages_and_notifications_stay() {
    for early in [true, false] {
        let dropped = block_on(drop_everywhere(async |points| {
            messages(points, early).await;
            streams(points, early).await;
            broadcasts(points, early).await;
            signals(points, early).await;
        }));
        assert_eq!(dropped.points(), 12, "{dropped}");
    }
}

async fn messages(points: &mut Points, early: bool) {
    let (tx, rx) = channel::bounded(1);
    tx.try_send(0).unwrap();
    // What the other end receives, in order.
    let mut received = Vec::new();
    let receive = |turn| {
        if is_due(turn, early) {
            received.push(rx.try_recv().expect("there is one"));
        }
    };
    let permit = match points.run_with("reserve", tx.reserve(), receive).await {
        Some(permit) => permit.unwrap(),
        None => tx.try_reserve().expect("a dropped request has the room"),
    };
    permit.send(1).unwrap();
    let receive = |turn| {
        if is_due(turn, early) {
            received.push(rx.try_recv().expect("there is one"));
        }
    };
    if points.run_with("send", tx.send(2), receive).await.is_none() {
        tx.try_send(2)
            .expect("a dropped send has the room, or has sent");
    }
    let receive = |turn| {
        if is_due(turn, early) {
            received.push(rx.try_recv().expect("there is one"));
        }
    };
    // Dropped with the room for its first message.
    let many = tx.send_many([3]);
    if points.run_with("send_many", many, receive).await.is_none() {
        tx.try_send(3)
            .expect("a dropped send has the room, or has sent");
    }
    received.push(rx.try_recv().expect("there is one"));

    let send = |turn| {
        if is_due(turn, early) {
            tx.try_send(4).expect("there is room");
        }
    };
    received.push(match points.run_with("recv", rx.recv(), send).await {
        Some(message) => message.unwrap(),
        None => rx.try_recv().expect("a dropped receive has the message"),
    });
    let send = |turn| {
        if is_due(turn, early) {
            tx.try_send(5).expect("there is room");
        }
    };
    let mut buffer = Vec::new();
    let many = rx.recv_many(&mut buffer, 3);
    if points.run_with("recv_many", many, send).await.is_none() {
        assert_eq!(buffer, []);
        buffer.push(rx.try_recv().expect("a dropped receive has the message"));
    }
    received.append(&mut buffer);
    assert_eq!(received, [0, 1, 2, 3, 4, 5]);
    assert!(rx.is_empty());
}

/// What is dropped here leaves its place in the receiver.
async fn streams(points: &mut Points, early: bool) {
    let (tx, mut rx) = channel::bounded(1);
    let send = |turn| {
        if is_due(turn, early) {
            tx.try_send(6).expect("there is room");
        }
    };
    let next = poll_fn(|cx| Pin::new(&mut rx).poll_next(cx));
    let received = match points.run_with("next", next, send).await {
        Some(message) => message.unwrap(),
        None => rx.try_recv().expect("a dropped next has the message"),
    };
    assert_eq!(received, 6);
}

async fn broadcasts(points: &mut Points, early: bool) {
    let (sender, mut receiver) = broadcast::lossless(1);
    sender.try_send(0).unwrap();
    let receive = |turn| {
        if is_due(turn, early) {
            assert!(receiver.try_recv().is_ok());
        }
    };
    let send = sender.send(1);
    if points.run_with("broadcast", send, receive).await.is_none() {
        sender.try_send(1).expect("a dropped send has the room");
    }
    assert_eq!(receiver.try_recv(), Ok(1));
    let send = |turn| {
        if is_due(turn, early) {
            sender.try_send(2).expect("there is room");
        }
    };
    let got = match points.run_with("hear", receiver.recv(), send).await {
        Some(message) => message.unwrap(),
        None => receiver.try_recv().expect("a dropped receive has it"),
    };
    assert_eq!(got, 2);
}

async fn signals(points: &mut Points, early: bool) {
    let notify = Notify::new();
    let signal = |turn| {
        if is_due(turn, early) {
            notify.notify_one();
        }
    };
    let wait = notify.notified();
    if points.run_with("notified", wait, signal).await.is_none() {
        now(notify.notified()).expect("a dropped wait has the notification");
    }
    assert!(now(notify.notified()).is_none(), "one became two");

    let (sender, mut receiver) = watch::channel(0);
    let send = |turn| {
        if is_due(turn, early) {
            sender.send(1);
        }
    };
    let changed = receiver.changed();
    if points.run_with("changed", changed, send).await.is_none() {
        assert!(receiver.has_changed(), "a dropped wait has seen it");
        receiver.mark_unchanged();
    }
    assert!(!receiver.has_changed());

    let (sender, mut receiver) = oneshot::channel();
    let mut sender = Some(sender);
    let send = |turn| {
        if is_due(turn, early) {
            let sender = sender.take().expect("it waits once");
            sender.send(7).expect("there is a receiver");
        }
    };
    let got = match points.run_with("oneshot", &mut receiver, send).await {
        Some(message) => message.unwrap(),
        None => receiver.try_recv().expect("a dropped wait has it"),
    };
    assert_eq!(got, 7);

    let (group, cell) = (WaitGroup::new(), SetOnce::new());
    let mut worker = Some(group.worker());
    let leave = |turn| {
        if is_due(turn, early) {
            cell.set(()).expect("it waits once");
            drop(worker.take());
        }
    };
    let both = async {
        group.wait().await;
        cell.wait().await;
    };
    if points.run_with("wait", both, leave).await.is_none() {
        now(group.wait()).expect("nobody is left");
        now(cell.wait()).expect("it was set");
    }
}

/// What one request needs, all of it taken by somebody else at first.
struct Workshop {
    permits: Semaphore,
    ledger: Mutex<u32>,
    rules: RwLock<()>,
    jobs: (channel::Sender<u32>, channel::Receiver<u32>),
    done: (channel::Sender<u32>, channel::Receiver<u32>),
    told: Notify,
}

impl Workshop {
    fn new() -> Self {
        Self {
            permits: Semaphore::new(3),
            ledger: Mutex::new(0),
            rules: RwLock::new(()),
            jobs: channel::bounded(1),
            done: channel::bounded(1),
            told: Notify::new(),
        }
    }

    /// Each step holds what the steps before it have taken.
    async fn request(&self) -> u32 {
        let _permit = self.permits.acquire(2).await.unwrap();
        let mut ledger = self.ledger.lock().await;
        let _rules = self.rules.read().await;
        let room = self.done.0.reserve().await.unwrap();
        self.told.notified().await;
        // From here on nothing waits: what is taken from one channel goes into the other.
        let job = self.jobs.1.recv().await.unwrap();
        *ledger += 1;
        room.send(job).unwrap();
        job
    }
}

#[test]
fn request_dropped_anywhere_holds_nothing() {
    for early in [true, false] {
        let dropped = block_on(drop_everywhere(async |points| {
            let workshop = Workshop::new();
            request(points, &workshop, early).await;
        }));
        assert_eq!(dropped.points(), 6, "{dropped}");
    }
}

async fn request(points: &mut Points, shop: &Workshop, early: bool) {
    shop.done.0.try_send(0).unwrap();
    let permits = shop.permits.try_acquire(3).unwrap();
    let ledger = shop.ledger.try_lock().unwrap();
    let rules = shop.rules.try_write().unwrap();
    // One step of somebody else's for each that the request waits for.
    let mut steps: VecDeque<Box<dyn FnOnce() + '_>> = VecDeque::new();
    steps.push_back(Box::new(move || drop(permits)));
    steps.push_back(Box::new(move || drop(ledger)));
    steps.push_back(Box::new(move || drop(rules)));
    steps.push_back(Box::new(|| assert_eq!(shop.done.1.try_recv(), Ok(0))));
    steps.push_back(Box::new(|| shop.told.notify_one()));
    steps.push_back(Box::new(|| shop.jobs.0.try_send(8).unwrap()));
    let world = |turn| {
        if is_due(turn, early) {
            let step = steps.pop_front().expect("a step for each wait");
            step();
        }
    };
    let job = points.run_with("request", shop.request(), world).await;
    if job.is_none() {
        while let Some(step) = steps.pop_front() {
            step();
        }
        // A notification that it had used up before it was dropped is gone.
        shop.told.notify_one();
        assert_eq!(shop.permits.available(), 3);
        let job = now(shop.request()).expect("nobody is in the way");
        assert_eq!(job, 8);
    }
    assert_eq!(*shop.ledger.try_lock().expect("it is free"), 1);
    assert_eq!(shop.done.1.try_recv(), Ok(8));
    assert!(shop.done.0.try_reserve().is_ok());
    assert!(shop.jobs.1.is_empty());
    assert!(shop.rules.try_write().is_some());
    assert_eq!(shop.permits.available(), 3);
}
