//! The crates of smol.

use super::SLOTS;
use Waited::{Closed, Granted};
use event_listener::{Event, IntoNotification};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use std::sync::{Arc, Mutex};

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
