//! tokio.

use super::{Lent, SLOTS};
use Waited::{Closed, Granted};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use std::sync::{Arc, Mutex};

pub(crate) struct TokioSemaphore(::tokio::sync::Semaphore);

impl Subject for TokioSemaphore {
    fn shape() -> Shape {
        Shape::counting().fifo().closes()
    }

    fn new() -> Self {
        Self(::tokio::sync::Semaphore::new(0))
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
    mutex: Arc<::tokio::sync::Mutex<()>>,
    held: Mutex<Option<::tokio::sync::OwnedMutexGuard<()>>>,
}

impl Subject for TokioMutex {
    fn shape() -> Shape {
        Shape::exclusive().fifo()
    }

    fn new() -> Self {
        let mutex = Arc::new(::tokio::sync::Mutex::new(()));
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

pub(crate) struct TokioNotify(::tokio::sync::Notify);

impl Subject for TokioNotify {
    fn shape() -> Shape {
        Shape::remembering().fifo().releases_all()
    }

    fn new() -> Self {
        Self(::tokio::sync::Notify::new())
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

pub(crate) struct TokioMpscSend {
    sender: ::tokio::sync::mpsc::Sender<u8>,
    receiver: Lent<::tokio::sync::mpsc::Receiver<u8>>,
}

impl Subject for TokioMpscSend {
    fn shape() -> Shape {
        Shape::up_to(SLOTS).fifo().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = ::tokio::sync::mpsc::channel(SLOTS);
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

pub(crate) struct TokioWatch(::tokio::sync::watch::Sender<()>);

impl Subject for TokioWatch {
    fn shape() -> Shape {
        Shape::broadcasting()
    }

    fn new() -> Self {
        Self(::tokio::sync::watch::Sender::new(()))
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

pub(crate) struct TokioSetOnce(::tokio::sync::SetOnce<()>);

impl Subject for TokioSetOnce {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        Self(::tokio::sync::SetOnce::new())
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
