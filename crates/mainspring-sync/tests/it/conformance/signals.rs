//! Signals: a grant is a notification, or everybody is released together.

use Waited::{Closed, Granted};
use mainspring_sync::wait_group::Worker;
use mainspring_sync::{Notify, SetOnce, WaitGroup, watch};
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use mainspring_testkit::{Boxed, conformance};
use std::sync::{Arc, Mutex};

conformance! { mod notify: super::Oldest; }
conformance! { mod notify_newest: super::Newest; }
conformance! { mod watch_changed: super::Changed; }
conformance! { mod watch_wait_for: super::WaitFor; }
conformance! { mod watch_closed: super::WatchClosed; }
conformance! { mod wait_group: super::OnWaitGroup; }
conformance! { mod set_once: super::OnSetOnce; }

pub(super) struct Oldest(Notify);

impl Subject for Oldest {
    fn shape() -> Shape {
        Shape::remembering().fifo().budgeted().releases_all()
    }

    fn new() -> Self {
        Self(Notify::new())
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
        self.0.notify_all();
    }
}

/// The last who came is the first to be served: the suite is promised no order.
pub(super) struct Newest(Notify);

impl Subject for Newest {
    fn shape() -> Shape {
        Shape::remembering().budgeted().releases_all()
    }

    fn new() -> Self {
        Self(Notify::new())
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.0.notified().await;
            Granted
        })
    }

    fn grant(&self) {
        self.0.notify_last();
    }

    fn grant_all(&self) {
        self.0.notify_all();
    }
}

/// A sender that one can close by dropping it.
struct Sending<T>(Mutex<Option<Arc<watch::Sender<T>>>>);

impl<T> Sending<T> {
    fn new(sender: watch::Sender<T>) -> Self {
        Self(Mutex::new(Some(Arc::new(sender))))
    }

    fn send(&self, value: T) {
        let sender = self.0.lock().unwrap().clone();
        if let Some(sender) = sender {
            sender.send(value);
        }
    }

    fn close(&self) {
        let sender = self.0.lock().unwrap().take();
        drop(sender);
    }
}

struct Changed {
    sending: Sending<()>,
    receiver: watch::Receiver<()>,
}

impl Subject for Changed {
    fn shape() -> Shape {
        Shape::broadcasting().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = watch::channel(());
        Self {
            sending: Sending::new(sender),
            receiver,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let mut receiver = this.receiver.clone();
            receiver.mark_unchanged();
            match receiver.changed().await {
                Ok(()) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant_all(&self) {
        self.sending.send(());
    }

    fn close(&self) {
        self.sending.close();
    }
}

struct WaitFor {
    sending: Sending<bool>,
    receiver: watch::Receiver<bool>,
}

impl Subject for WaitFor {
    fn shape() -> Shape {
        Shape::broadcasting().latching().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = watch::channel(false);
        Self {
            sending: Sending::new(sender),
            receiver,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let mut receiver = this.receiver.clone();
            let is_granted = receiver.wait_for(|is_set| *is_set).await.is_ok();
            if is_granted { Granted } else { Closed }
        })
    }

    fn grant_all(&self) {
        self.sending.send(true);
    }

    fn close(&self) {
        self.sending.close();
    }
}

/// A sender that waits until the last receiver has gone.
struct WatchClosed {
    sender: watch::Sender<()>,
    receiver: Mutex<Option<watch::Receiver<()>>>,
}

impl Subject for WatchClosed {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        let (sender, receiver) = watch::channel(());
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.sender.closed().await;
            Granted
        })
    }

    fn grant_all(&self) {
        let receiver = self.receiver.lock().unwrap().take();
        drop(receiver);
    }
}

struct OnWaitGroup {
    group: WaitGroup,
    worker: Mutex<Option<Worker>>,
}

impl Subject for OnWaitGroup {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        let group = WaitGroup::new();
        Self {
            worker: Mutex::new(Some(group.worker())),
            group,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.group.wait().await;
            Granted
        })
    }

    fn grant_all(&self) {
        let worker = self.worker.lock().unwrap().take();
        drop(worker);
    }
}

struct OnSetOnce(SetOnce<()>);

impl Subject for OnSetOnce {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        Self(SetOnce::new())
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
