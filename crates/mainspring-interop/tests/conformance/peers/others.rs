//! flume, kanal, thingbuf and futures.

use super::{Lent, SLOTS};
use Waited::{Closed, Granted};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use std::sync::{Arc, Mutex};

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
            let old = this.held.lock().unwrap().replace(guard);
            drop(old);
            Granted
        })
    }

    fn grant(&self) {
        let guard = self.held.lock().unwrap().take();
        drop(guard);
    }
}
