//! How each peer's primitive is plugged in, by what its documentation promises.

use Waited::{Closed, Granted};
use event_listener::{Event, IntoNotification};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Slots of the channels whose senders wait.
const SLOTS: usize = 4;

pub(crate) struct TokioSemaphore(tokio::sync::Semaphore);

impl Subject for TokioSemaphore {
    fn shape() -> Shape {
        Shape::counting().fifo().closes()
    }

    fn new() -> Self {
        Self(tokio::sync::Semaphore::new(0))
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.0.acquire().await {
                Ok(permit) => {
                    permit.forget();
                    Granted
                }
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        self.0.add_permits(1);
    }

    fn grant_many(&self, count: usize) -> bool {
        self.0.add_permits(count);
        true
    }

    fn close(&self) {
        self.0.close();
    }
}

pub(crate) struct TokioMutex {
    mutex: Arc<tokio::sync::Mutex<()>>,
    held: Mutex<Option<tokio::sync::OwnedMutexGuard<()>>>,
}

impl Subject for TokioMutex {
    fn shape() -> Shape {
        Shape::exclusive().fifo()
    }

    fn new() -> Self {
        let mutex = Arc::new(tokio::sync::Mutex::new(()));
        let held = Arc::clone(&mutex).try_lock_owned().ok();
        Self {
            mutex,
            held: Mutex::new(held),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let guard = Arc::clone(&this.mutex).lock_owned().await;
            *this.held.lock().unwrap() = Some(guard);
            Granted
        })
    }

    fn grant(&self) {
        let guard = self.held.lock().unwrap().take();
        drop(guard);
    }
}

pub(crate) struct TokioNotify(tokio::sync::Notify);

impl Subject for TokioNotify {
    fn shape() -> Shape {
        Shape::remembering().fifo().releases_all()
    }

    fn new() -> Self {
        Self(tokio::sync::Notify::new())
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.0.notified().await;
            Granted
        })
    }

    fn grant(&self) {
        self.0.notify_one();
    }

    fn grant_all(&self) {
        self.0.notify_waiters();
    }
}

/// Something that one call at a time may use, and calls that come from inside of it may not: those
/// are owed, and made up for afterwards.
struct Lent<T> {
    slot: Mutex<Option<T>>,
    owed: AtomicUsize,
}

impl<T> Lent<T> {
    fn new(value: T) -> Self {
        Self {
            slot: Mutex::new(Some(value)),
            owed: AtomicUsize::new(0),
        }
    }

    fn call(&self, f: impl Fn(&mut T)) {
        struct Back<'a, T>(&'a Lent<T>, Option<T>);
        impl<T> Drop for Back<'_, T> {
            fn drop(&mut self) {
                *self.0.slot.lock().unwrap() = self.1.take();
            }
        }
        self.owed.fetch_add(1, Relaxed);
        loop {
            let taken = self.slot.lock().unwrap().take();
            let Some(taken) = taken else { return };
            let mut back = Back(self, Some(taken));
            while self.owed.load(Relaxed) > 0 {
                self.owed.fetch_sub(1, Relaxed);
                f(back.1.as_mut().expect("it is put back at the end"));
            }
            drop(back);
            if self.owed.load(Relaxed) == 0 {
                return;
            }
        }
    }
}

pub(crate) struct TokioMpscSend {
    sender: tokio::sync::mpsc::Sender<u8>,
    receiver: Lent<tokio::sync::mpsc::Receiver<u8>>,
}

impl Subject for TokioMpscSend {
    fn shape() -> Shape {
        Shape::up_to(SLOTS).fifo().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = tokio::sync::mpsc::channel(SLOTS);
        while sender.try_send(0).is_ok() {}
        Self {
            sender,
            receiver: Lent::new(receiver),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.sender.send(0).await {
                Ok(()) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        self.receiver.call(|receiver| {
            let _ = receiver.try_recv();
        });
    }

    fn close(&self) {
        self.receiver.call(|receiver| receiver.close());
    }
}

pub(crate) struct TokioWatch(tokio::sync::watch::Sender<()>);

impl Subject for TokioWatch {
    fn shape() -> Shape {
        Shape::broadcasting()
    }

    fn new() -> Self {
        Self(tokio::sync::watch::Sender::new(()))
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.0.subscribe().changed().await {
                Ok(()) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant_all(&self) {
        self.0.send_replace(());
    }
}

pub(crate) struct TokioSetOnce(tokio::sync::SetOnce<()>);

impl Subject for TokioSetOnce {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        Self(tokio::sync::SetOnce::new())
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.0.wait().await;
            Granted
        })
    }

    fn grant_all(&self) {
        let _ = self.0.set(());
    }
}

pub(crate) struct AsyncLockMutex {
    mutex: Arc<async_lock::Mutex<()>>,
    held: Mutex<Option<async_lock::MutexGuardArc<()>>>,
}

impl Subject for AsyncLockMutex {
    fn shape() -> Shape {
        Shape::exclusive()
    }

    fn new() -> Self {
        let mutex = Arc::new(async_lock::Mutex::new(()));
        let held = mutex.try_lock_arc();
        Self {
            mutex,
            held: Mutex::new(held),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let guard = this.mutex.lock_arc().await;
            *this.held.lock().unwrap() = Some(guard);
            Granted
        })
    }

    fn grant(&self) {
        let guard = self.held.lock().unwrap().take();
        drop(guard);
    }
}

pub(crate) struct AsyncLockSemaphore(async_lock::Semaphore);

impl Subject for AsyncLockSemaphore {
    fn shape() -> Shape {
        Shape::counting()
    }

    fn new() -> Self {
        Self(async_lock::Semaphore::new(0))
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.0.acquire().await.forget();
            Granted
        })
    }

    fn grant(&self) {
        self.0.add_permits(1);
    }

    fn grant_many(&self, count: usize) -> bool {
        self.0.add_permits(count);
        true
    }
}

pub(crate) struct EventListener(Event);

impl Subject for EventListener {
    fn shape() -> Shape {
        Shape::fleeting().fifo().releases_all()
    }

    fn new() -> Self {
        Self(Event::new())
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.0.listen().await;
            Granted
        })
    }

    fn grant(&self) {
        self.0.notify(1.additional());
    }

    fn grant_many(&self, count: usize) -> bool {
        self.0.notify(count.additional());
        true
    }

    fn grant_all(&self) {
        self.0.notify(usize::MAX);
    }
}

pub(crate) struct AsyncChannelRecv {
    sender: async_channel::Sender<u8>,
    receiver: async_channel::Receiver<u8>,
}

impl Subject for AsyncChannelRecv {
    fn shape() -> Shape {
        Shape::counting().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = async_channel::unbounded();
        Self { sender, receiver }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.receiver.recv().await {
                Ok(_) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        let _ = self.sender.try_send(0);
    }

    fn close(&self) {
        self.sender.close();
    }
}

pub(crate) struct AsyncChannelSend {
    sender: async_channel::Sender<u8>,
    receiver: async_channel::Receiver<u8>,
}

impl Subject for AsyncChannelSend {
    fn shape() -> Shape {
        Shape::up_to(SLOTS).closes()
    }

    fn new() -> Self {
        let (sender, receiver) = async_channel::bounded(SLOTS);
        while sender.try_send(0).is_ok() {}
        Self { sender, receiver }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.sender.send(0).await {
                Ok(()) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        let _ = self.receiver.try_recv();
    }

    fn close(&self) {
        self.receiver.close();
    }
}

pub(crate) struct FlumeRecv {
    sender: Mutex<Option<flume::Sender<u8>>>,
    receiver: flume::Receiver<u8>,
}

impl Subject for FlumeRecv {
    fn shape() -> Shape {
        // Closed when the last sender goes.
        Shape::counting().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = flume::unbounded();
        Self {
            sender: Mutex::new(Some(sender)),
            receiver,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.receiver.recv_async().await {
                Ok(_) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        let sender = self.sender.lock().unwrap().clone();
        if let Some(sender) = sender {
            let _ = sender.send(0);
        }
    }

    fn close(&self) {
        let sender = self.sender.lock().unwrap().take();
        drop(sender);
    }
}

pub(crate) struct KanalRecv {
    sender: kanal::AsyncSender<u8>,
    receiver: kanal::AsyncReceiver<u8>,
}

impl Subject for KanalRecv {
    fn shape() -> Shape {
        Shape::counting().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = kanal::unbounded_async();
        Self { sender, receiver }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.receiver.recv().await {
                Ok(_) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        let _ = self.sender.try_send(0);
    }

    fn close(&self) {
        let _ = self.sender.close();
    }
}

pub(crate) struct ThingbufSend {
    sender: thingbuf::mpsc::Sender<u8>,
    receiver: Lent<thingbuf::mpsc::Receiver<u8>>,
}

impl Subject for ThingbufSend {
    fn shape() -> Shape {
        Shape::up_to(SLOTS)
    }

    fn new() -> Self {
        let (sender, receiver) = thingbuf::mpsc::channel(SLOTS);
        while sender.try_send(0).is_ok() {}
        Self {
            sender,
            receiver: Lent::new(receiver),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.sender.send(0).await {
                Ok(()) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        self.receiver.call(|receiver| {
            let _ = receiver.try_recv();
        });
    }
}

type FuturesGuard = futures_util::lock::OwnedMutexGuard<()>;

pub(crate) struct FuturesMutex {
    mutex: Arc<futures_util::lock::Mutex<()>>,
    held: Mutex<Option<FuturesGuard>>,
}

impl Subject for FuturesMutex {
    fn shape() -> Shape {
        Shape::exclusive()
    }

    fn new() -> Self {
        let mutex = Arc::new(futures_util::lock::Mutex::new(()));
        let held = mutex.try_lock_owned();
        Self {
            mutex,
            held: Mutex::new(held),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let guard = Arc::clone(&this.mutex).lock_owned().await;
            let old = mem::replace(&mut *this.held.lock().unwrap(), Some(guard));
            drop(old);
            Granted
        })
    }

    fn grant(&self) {
        let guard = self.held.lock().unwrap().take();
        drop(guard);
    }
}
