//! Broadcast: to a sender a grant is that the slowest receiver receives; receivers are released
//! together, by a message.

use super::Lent;
use Waited::{Closed, Granted};
use mainspring_sync::broadcast::{self, LossySender, Receiver, Sender, Slow};
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use mainspring_testkit::{Boxed, conformance};
use std::sync::Arc;

conformance! { mod broadcast_send: super::Senders<false>; }
conformance! { mod broadcast_reserve: super::Senders<true>; }
conformance! { mod broadcast_recv: super::Receivers; }
conformance! { mod broadcast_recv_latest: super::LatestReceivers; }
conformance! { mod broadcast_recv_lossy: super::LossyReceivers; }

/// Slots of the channels whose senders wait.
const SLOTS: usize = 4;

/// Slots of the channels whose receivers wait: more than the suite sends before they receive.
const ROOM: usize = 16;

pub(super) struct Senders<const RESERVE: bool> {
    sender: Sender<u8>,
    receiver: Lent<Receiver<u8>>,
}

impl<const RESERVE: bool> Subject for Senders<RESERVE> {
    fn shape() -> Shape {
        Shape::up_to(SLOTS).fifo().budgeted().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = broadcast::lossless(SLOTS);
        while sender.try_send(0).is_ok() {}
        Self {
            sender,
            receiver: Lent::new(receiver),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let sent = if RESERVE {
                match this.sender.reserve().await {
                    Ok(permit) => permit.send(0),
                    Err(_) => return Closed,
                }
            } else {
                this.sender.send(0).await
            };
            match sent {
                Ok(()) => Granted,
                Err(_) => Closed,
            }
        })
    }

    fn grant(&self) {
        self.receiver.call(|receiver| {
            if let Err(refused) = receiver.try_recv() {
                assert!(refused.is_closed(), "{refused}");
            }
        });
    }

    fn close(&self) {
        self.sender.close();
    }
}

async fn next(mut receiver: Receiver<u8>) -> Waited {
    match receiver.recv().await {
        Ok(_) => Granted,
        Err(error) => {
            assert!(error.is_closed(), "{error}");
            Closed
        }
    }
}

/// Receivers that senders wait for.
pub(super) struct Receivers(Sender<u8>);

impl Subject for Receivers {
    fn shape() -> Shape {
        Shape::broadcasting().closes()
    }

    fn new() -> Self {
        Self(broadcast::lossless(ROOM).0)
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move { next(this.0.subscribe()).await })
    }

    fn grant_all(&self) {
        // Refused where nobody waits.
        let _ = self.0.try_send(0);
    }

    fn close(&self) {
        self.0.close();
    }
}

/// Receivers that see the newest message alone.
struct LatestReceivers(Sender<u8>);

impl Subject for LatestReceivers {
    fn shape() -> Shape {
        Shape::broadcasting().closes()
    }

    fn new() -> Self {
        Self(broadcast::lossless(1).0)
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move { next(this.0.subscribe_with(Slow::Latest)).await })
    }

    fn grant_all(&self) {
        let _ = self.0.try_send(0);
    }

    fn close(&self) {
        self.0.close();
    }
}

struct LossyReceivers(LossySender<u8>);

impl Subject for LossyReceivers {
    fn shape() -> Shape {
        Shape::broadcasting().closes()
    }

    fn new() -> Self {
        Self(broadcast::lossy(ROOM).0)
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move { next(this.0.subscribe()).await })
    }

    fn grant_all(&self) {
        let _ = self.0.send(0);
    }

    fn close(&self) {
        self.0.close();
    }
}
