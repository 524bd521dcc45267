//! Channels: alone, between tasks on one thread and on two, between threads.

use std::future::Future;
use std::thread;

use mainspring_executor::spawn_local;

use super::{Entry, on_one_thread, on_two_workers, timed};

/// A channel whose ends are used by tasks.
trait Channel: 'static {
    type Sender: Clone + Send + 'static;
    type Receiver: Send + 'static;

    /// `None` for the capacity: unbounded.
    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver);
    fn send(sender: &Self::Sender, value: u64) -> impl Future<Output = ()> + Send;
    fn receive(receiver: &mut Self::Receiver) -> impl Future<Output = u64> + Send;
}

/// One whose receiver can be cloned.
trait ManyReceivers: Channel {
    fn clone_receiver(receiver: &Self::Receiver) -> Self::Receiver;
}

/// One whose ends can be used by threads.
trait Blocking: 'static {
    type Sender: Send + 'static;
    type Receiver;

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver);
    fn send(sender: &Self::Sender, value: u64);
    fn receive(receiver: &Self::Receiver) -> u64;
}

fn solo<C: Channel>(passes: u32, capacity: Option<usize>) -> crate::outcome::Outcome {
    timed(passes, |messages| {
        let (sender, mut receiver) = C::channel(capacity);
        futures_lite::future::block_on(async move {
            for number in 0..messages {
                C::send(&sender, number).await;
                assert_eq!(C::receive(&mut receiver).await, number);
            }
        });
    })
}

fn solo_bounded<C: Channel>(passes: u32) -> crate::outcome::Outcome {
    solo::<C>(passes, Some(64))
}

fn solo_unbounded<C: Channel>(passes: u32) -> crate::outcome::Outcome {
    solo::<C>(passes, None)
}

async fn pour<C: Channel>(sender: C::Sender, messages: u64) {
    for number in 0..messages {
        C::send(&sender, number).await;
    }
}

async fn drain<C: Channel>(mut receiver: C::Receiver, messages: u64) {
    let mut sum = 0;
    for _ in 0..messages {
        sum += C::receive(&mut receiver).await;
    }
    std::hint::black_box(sum);
}

fn tasks<C: Channel>(passes: u32, capacity: usize) -> crate::outcome::Outcome {
    timed(passes, |messages| {
        on_one_thread(async move {
            let (sender, receiver) = C::channel(Some(capacity));
            let pouring = spawn_local(pour::<C>(sender, messages));
            let draining = spawn_local(drain::<C>(receiver, messages));
            assert!(pouring.await.is_ok());
            assert!(draining.await.is_ok());
        });
    })
}

fn tasks_64<C: Channel>(passes: u32) -> crate::outcome::Outcome {
    tasks::<C>(passes, 64)
}

fn tasks_1<C: Channel>(passes: u32) -> crate::outcome::Outcome {
    tasks::<C>(passes, 1)
}

fn two_1p1c<C: Channel>(passes: u32) -> crate::outcome::Outcome {
    timed(passes, |messages| {
        on_two_workers(async move {
            let (sender, receiver) = C::channel(Some(64));
            let pouring = tokio::spawn(pour::<C>(sender, messages));
            let draining = tokio::spawn(drain::<C>(receiver, messages));
            pouring.await.expect("no task of a row panics");
            draining.await.expect("no task of a row panics");
        });
    })
}

fn two_4p4c<C: ManyReceivers>(passes: u32) -> crate::outcome::Outcome {
    timed(passes, |messages| {
        let each = messages.div_ceil(4);
        on_two_workers(async move {
            let (sender, receiver) = C::channel(Some(64));
            let tasks: Vec<_> = (0..4)
                .flat_map(|_| {
                    [
                        tokio::spawn(pour::<C>(sender.clone(), each)),
                        tokio::spawn(drain::<C>(C::clone_receiver(&receiver), each)),
                    ]
                })
                .collect();
            for task in tasks {
                task.await.expect("no task of a row panics");
            }
        });
    })
}

fn threads<C: Blocking>(passes: u32) -> crate::outcome::Outcome {
    timed(passes, |messages| {
        let (sender, receiver) = C::channel(1_024);
        let pouring = thread::spawn(move || {
            for number in 0..messages {
                C::send(&sender, number);
            }
        });
        for number in 0..messages {
            assert_eq!(C::receive(&receiver), number);
        }
        pouring.join().expect("no thread of a row panics");
    })
}

struct Ours;
struct Kanal;
struct Flume;
struct AsyncChannel;
struct Tokio;
struct Futures;
struct Thingbuf;
struct Crossbeam;

impl Channel for Ours {
    type Sender = mainspring_sync::channel::Sender<u64>;
    type Receiver = mainspring_sync::channel::Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver) {
        match capacity {
            Some(capacity) => mainspring_sync::channel::bounded(capacity),
            None => mainspring_sync::channel::unbounded(),
        }
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).await.expect("the receiver is there");
    }

    async fn receive(receiver: &mut Self::Receiver) -> u64 {
        receiver.recv().await.expect("the sender is there")
    }
}

impl ManyReceivers for Ours {
    fn clone_receiver(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

impl Blocking for Ours {
    type Sender = mainspring_sync::channel::Sender<u64>;
    type Receiver = mainspring_sync::channel::Receiver<u64>;

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mainspring_sync::channel::bounded(capacity)
    }

    fn send(sender: &Self::Sender, value: u64) {
        sender.send_blocking(value).expect("the receiver is there");
    }

    fn receive(receiver: &Self::Receiver) -> u64 {
        receiver.recv_blocking().expect("the sender is there")
    }
}

impl Channel for Kanal {
    type Sender = kanal::AsyncSender<u64>;
    type Receiver = kanal::AsyncReceiver<u64>;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver) {
        match capacity {
            Some(capacity) => kanal::bounded_async(capacity),
            None => kanal::unbounded_async(),
        }
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).await.expect("the receiver is there");
    }

    async fn receive(receiver: &mut Self::Receiver) -> u64 {
        receiver.recv().await.expect("the sender is there")
    }
}

impl ManyReceivers for Kanal {
    fn clone_receiver(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

impl Blocking for Kanal {
    type Sender = kanal::Sender<u64>;
    type Receiver = kanal::Receiver<u64>;

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        kanal::bounded(capacity)
    }

    fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }

    fn receive(receiver: &Self::Receiver) -> u64 {
        receiver.recv().expect("the sender is there")
    }
}

impl Channel for Flume {
    type Sender = flume::Sender<u64>;
    type Receiver = flume::Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver) {
        match capacity {
            Some(capacity) => flume::bounded(capacity),
            None => flume::unbounded(),
        }
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender
            .send_async(value)
            .await
            .expect("the receiver is there");
    }

    async fn receive(receiver: &mut Self::Receiver) -> u64 {
        receiver.recv_async().await.expect("the sender is there")
    }
}

impl ManyReceivers for Flume {
    fn clone_receiver(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

impl Blocking for Flume {
    type Sender = flume::Sender<u64>;
    type Receiver = flume::Receiver<u64>;

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        flume::bounded(capacity)
    }

    fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }

    fn receive(receiver: &Self::Receiver) -> u64 {
        receiver.recv().expect("the sender is there")
    }
}

impl Channel for AsyncChannel {
    type Sender = async_channel::Sender<u64>;
    type Receiver = async_channel::Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver) {
        match capacity {
            Some(capacity) => async_channel::bounded(capacity),
            None => async_channel::unbounded(),
        }
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).await.expect("the receiver is there");
    }

    async fn receive(receiver: &mut Self::Receiver) -> u64 {
        receiver.recv().await.expect("the sender is there")
    }
}

impl ManyReceivers for AsyncChannel {
    fn clone_receiver(receiver: &Self::Receiver) -> Self::Receiver {
        receiver.clone()
    }
}

/// tokio has two types: one with a capacity and one without.
#[derive(Clone)]
enum TokioSender {
    Bounded(tokio::sync::mpsc::Sender<u64>),
    Unbounded(tokio::sync::mpsc::UnboundedSender<u64>),
}

enum TokioReceiver {
    Bounded(tokio::sync::mpsc::Receiver<u64>),
    Unbounded(tokio::sync::mpsc::UnboundedReceiver<u64>),
}

impl Channel for Tokio {
    type Sender = TokioSender;
    type Receiver = TokioReceiver;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver) {
        match capacity {
            Some(capacity) => {
                let (sender, receiver) = tokio::sync::mpsc::channel(capacity);
                (
                    TokioSender::Bounded(sender),
                    TokioReceiver::Bounded(receiver),
                )
            }
            None => {
                let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
                (
                    TokioSender::Unbounded(sender),
                    TokioReceiver::Unbounded(receiver),
                )
            }
        }
    }

    async fn send(sender: &Self::Sender, value: u64) {
        match sender {
            TokioSender::Bounded(sender) => sender.send(value).await,
            TokioSender::Unbounded(sender) => sender.send(value),
        }
        .expect("the receiver is there");
    }

    async fn receive(receiver: &mut Self::Receiver) -> u64 {
        match receiver {
            TokioReceiver::Bounded(receiver) => receiver.recv().await,
            TokioReceiver::Unbounded(receiver) => receiver.recv().await,
        }
        .expect("the sender is there")
    }
}

/// Unbounded alone: the bounded one counts its senders into the capacity.
impl Channel for Futures {
    type Sender = futures_channel::mpsc::UnboundedSender<u64>;
    type Receiver = futures_channel::mpsc::UnboundedReceiver<u64>;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver) {
        assert_eq!(capacity, None, "no row asks for that");
        futures_channel::mpsc::unbounded()
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.unbounded_send(value).expect("the receiver is there");
    }

    async fn receive(receiver: &mut Self::Receiver) -> u64 {
        futures_util::StreamExt::next(receiver)
            .await
            .expect("the sender is there")
    }
}

impl Blocking for Thingbuf {
    type Sender = thingbuf::mpsc::blocking::Sender<u64>;
    type Receiver = thingbuf::mpsc::blocking::Receiver<u64>;

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        thingbuf::mpsc::blocking::channel(capacity)
    }

    fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }

    fn receive(receiver: &Self::Receiver) -> u64 {
        receiver.recv().expect("the sender is there")
    }
}

impl Blocking for Crossbeam {
    type Sender = crossbeam_channel::Sender<u64>;
    type Receiver = crossbeam_channel::Receiver<u64>;

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        crossbeam_channel::bounded(capacity)
    }

    fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }

    fn receive(receiver: &Self::Receiver) -> u64 {
        receiver.recv().expect("the sender is there")
    }
}

pub(super) const ENTRIES: &[Entry] = &[
    ("channel-solo", "ours", solo_bounded::<Ours>),
    ("channel-solo", "kanal", solo_bounded::<Kanal>),
    ("channel-solo", "flume", solo_bounded::<Flume>),
    (
        "channel-solo",
        "async-channel",
        solo_bounded::<AsyncChannel>,
    ),
    ("channel-solo", "tokio", solo_bounded::<Tokio>),
    ("channel-unbounded", "ours", solo_unbounded::<Ours>),
    ("channel-unbounded", "kanal", solo_unbounded::<Kanal>),
    ("channel-unbounded", "flume", solo_unbounded::<Flume>),
    (
        "channel-unbounded",
        "async-channel",
        solo_unbounded::<AsyncChannel>,
    ),
    ("channel-unbounded", "tokio", solo_unbounded::<Tokio>),
    ("channel-unbounded", "futures", solo_unbounded::<Futures>),
    ("channel-tasks-64", "ours", tasks_64::<Ours>),
    ("channel-tasks-64", "kanal", tasks_64::<Kanal>),
    ("channel-tasks-64", "flume", tasks_64::<Flume>),
    (
        "channel-tasks-64",
        "async-channel",
        tasks_64::<AsyncChannel>,
    ),
    ("channel-tasks-64", "tokio", tasks_64::<Tokio>),
    ("channel-tasks-1", "ours", tasks_1::<Ours>),
    ("channel-tasks-1", "kanal", tasks_1::<Kanal>),
    ("channel-tasks-1", "flume", tasks_1::<Flume>),
    ("channel-tasks-1", "async-channel", tasks_1::<AsyncChannel>),
    ("channel-tasks-1", "tokio", tasks_1::<Tokio>),
    ("channel-two-1p1c", "ours", two_1p1c::<Ours>),
    ("channel-two-1p1c", "kanal", two_1p1c::<Kanal>),
    ("channel-two-1p1c", "flume", two_1p1c::<Flume>),
    (
        "channel-two-1p1c",
        "async-channel",
        two_1p1c::<AsyncChannel>,
    ),
    ("channel-two-1p1c", "tokio", two_1p1c::<Tokio>),
    ("channel-two-4p4c", "ours", two_4p4c::<Ours>),
    ("channel-two-4p4c", "kanal", two_4p4c::<Kanal>),
    ("channel-two-4p4c", "flume", two_4p4c::<Flume>),
    (
        "channel-two-4p4c",
        "async-channel",
        two_4p4c::<AsyncChannel>,
    ),
    ("channel-blocking", "ours", threads::<Ours>),
    ("channel-blocking", "kanal", threads::<Kanal>),
    ("channel-blocking", "flume", threads::<Flume>),
    ("channel-blocking", "thingbuf", threads::<Thingbuf>),
    ("channel-blocking", "crossbeam", threads::<Crossbeam>),
];
