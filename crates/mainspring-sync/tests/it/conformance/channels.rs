//! Channels, seen from either end: to a receiver a grant is a message, to a sender it is
//! room for one.
//!
//! `send_many` and `recv_many` are no grants of many: each message is one, and a waker that panics
//! at the first of them ends the call before the second.

use super::{LARGE, UNBOUNDED, open};
use Waited::{Closed, Granted};
use futures_core::Stream;
use mainspring_sync::channel::{self, Receiver, Sender};
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use mainspring_testkit::{Boxed, conformance};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

conformance! { mod recv_of_one: super::Receivers<1, super::Recv>; }
conformance! { mod recv_of_four: super::Receivers<4, super::Recv>; }
conformance! { mod recv_of_many: super::Receivers<{ super::LARGE },  super::Recv>; }
conformance! { mod recv_of_unbounded: super::Receivers<{ super::UNBOUNDED },  super::Recv>; }
conformance! { mod recv_many_of_four: super::Receivers<4, super::RecvMany>; }
conformance! { mod stream_of_four: super::Receivers<4, super::Next>; }
conformance! { mod send_to_one: super::Senders<1, super::Send>; }
conformance! { mod send_to_four: super::Senders<4, super::Send>; }
conformance! { mod send_to_many: super::Senders<{ super::LARGE }, super::Send>; }
conformance! { mod send_many_to_four: super::Senders<4, super::SendMany>; }
conformance! { mod reserve_of_one: super::Senders<1, super::Reserve>; }
conformance! { mod reserve_of_four: super::Senders<4, super::Reserve>; }
conformance! { mod reserve_owned_of_four: super::Senders<4, super::ReserveOwned>; }
conformance! { mod until_closed: super::UntilClosed; }

/// A way to wait on one end of a channel.
pub(super) trait Way<End>: std::marker::Send + Sync + 'static {
    /// Waits and uses up what it gets; `false` if the channel is closed.
    fn wait(end: &End) -> impl Future<Output = bool> + std::marker::Send;
}

/// Receivers do not queue for messages that are there: who is polled first gets one, whoever was
/// woken for it. So no order is promised.
pub(super) struct Receivers<const CAPACITY: usize, W> {
    sender: Sender<u8>,
    receiver: Receiver<u8>,
    way: std::marker::PhantomData<W>,
}

impl<const CAPACITY: usize, W: Way<Receiver<u8>>> Subject for Receivers<CAPACITY, W> {
    fn shape() -> Shape {
        Shape::up_to(CAPACITY).budgeted().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = open(CAPACITY);
        Self {
            sender,
            receiver,
            way: std::marker::PhantomData,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            if W::wait(&this.receiver).await {
                Granted
            } else {
                Closed
            }
        })
    }

    fn grant(&self) {
        if let Err(refused) = self.sender.try_send(0) {
            assert!(refused.is_closed(), "{refused}");
        }
    }

    fn close(&self) {
        self.sender.close();
    }
}

pub(super) struct Recv;

impl Way<Receiver<u8>> for Recv {
    async fn wait(receiver: &Receiver<u8>) -> bool {
        receiver.recv().await.is_ok()
    }
}

pub(super) struct RecvMany;

impl Way<Receiver<u8>> for RecvMany {
    async fn wait(receiver: &Receiver<u8>) -> bool {
        let mut buffer = Vec::new();
        let received = receiver.recv_many(&mut buffer, 1).await;
        assert_eq!(buffer.len(), received.unwrap_or(0));
        received.is_ok()
    }
}

/// As a stream, each waiter with a receiver of its own.
pub(super) struct Next;

impl Way<Receiver<u8>> for Next {
    async fn wait(receiver: &Receiver<u8>) -> bool {
        let mut stream = receiver.clone();
        poll_fn(|cx| Pin::new(&mut stream).poll_next(cx))
            .await
            .is_some()
    }
}

pub(super) struct Senders<const CAPACITY: usize, W> {
    sender: Sender<u8>,
    receiver: Receiver<u8>,
    way: std::marker::PhantomData<W>,
}

impl<const CAPACITY: usize, W: Way<Sender<u8>>> Subject for Senders<CAPACITY, W> {
    fn shape() -> Shape {
        Shape::up_to(CAPACITY).fifo().budgeted().closes()
    }

    fn new() -> Self {
        let (sender, receiver) = open(CAPACITY);
        while sender.try_send(0).is_ok() {}
        Self {
            sender,
            receiver,
            way: std::marker::PhantomData,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            if W::wait(&this.sender).await {
                Granted
            } else {
                Closed
            }
        })
    }

    fn grant(&self) {
        // Nothing is there while a sender that was granted room has not sent yet.
        let _ = self.receiver.try_recv();
    }

    fn close(&self) {
        self.receiver.close();
    }
}

pub(super) struct Send;

impl Way<Sender<u8>> for Send {
    async fn wait(sender: &Sender<u8>) -> bool {
        sender.send(0).await.is_ok()
    }
}

pub(super) struct SendMany;

impl Way<Sender<u8>> for SendMany {
    async fn wait(sender: &Sender<u8>) -> bool {
        sender.send_many([0]).await.is_ok()
    }
}

pub(super) struct Reserve;

impl Way<Sender<u8>> for Reserve {
    async fn wait(sender: &Sender<u8>) -> bool {
        match sender.reserve().await {
            Ok(permit) => permit.send(0).is_ok(),
            Err(_) => false,
        }
    }
}

pub(super) struct ReserveOwned;

impl Way<Sender<u8>> for ReserveOwned {
    async fn wait(sender: &Sender<u8>) -> bool {
        match sender.clone().reserve_owned().await {
            Ok(permit) => permit.send(0).is_ok(),
            Err(_) => false,
        }
    }
}

/// A sender that waits until the last receiver has gone.
struct UntilClosed {
    sender: Sender<u8>,
    receiver: Mutex<Option<Receiver<u8>>>,
}

impl Subject for UntilClosed {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        let (sender, receiver) = channel::bounded(1);
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
