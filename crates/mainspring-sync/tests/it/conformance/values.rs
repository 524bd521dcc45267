//! Channels, for what concerns their values.

use super::{LARGE, UNBOUNDED, open};
use mainspring_sync::channel::rendezvous;
use mainspring_sync::{broadcast, channel};
use mainspring_testkit::conformance::{Channel, ChannelShape, Parcel, Sent};
use mainspring_testkit::{Boxed, channel_conformance};
use std::sync::{Arc, Mutex, PoisonError};

channel_conformance! { mod bounded: super::OnChannel<4, false>; }
channel_conformance! { mod bounded_reserved: super::OnChannel<4, true>; }
channel_conformance! { mod large: super::OnChannel<{ super::LARGE }, false>; }
channel_conformance! { mod large_reserved: super::OnChannel<{ super::LARGE }, true>; }
channel_conformance! { mod unbounded: super::OnChannel<{ super::UNBOUNDED }, false>; }
channel_conformance! { mod unbounded_reserved: super::OnChannel<{ super::UNBOUNDED }, true>; }
channel_conformance! { mod broadcast_lossless: super::Lossless; }
channel_conformance! { mod meeting: super::Meeting; }

const SLOTS: usize = 4;

struct OnChannel<const CAPACITY: usize, const RESERVE: bool> {
    sender: channel::Sender<Parcel>,
    receiver: Mutex<Option<channel::Receiver<Parcel>>>,
}

impl<const CAPACITY: usize, const RESERVE: bool> Channel for OnChannel<CAPACITY, RESERVE> {
    fn shape() -> ChannelShape {
        let shape = ChannelShape::many_receivers(CAPACITY).closes();
        match CAPACITY {
            UNBOUNDED => shape,
            _ => shape.senders_wait(),
        }
    }

    fn new() -> Self {
        let (sender, receiver) = open(CAPACITY);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        if !RESERVE {
            return self
                .sender
                .try_send(parcel)
                .map_err(|back| back.into_inner());
        }
        match self.sender.try_reserve() {
            Ok(permit) => permit.send(parcel).map_err(|back| back.into_inner()),
            Err(_) => Err(parcel),
        }
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            if !RESERVE {
                let sent = this.sender.send(parcel).await;
                return sent.map_err(|back| Some(back.into_inner()));
            }
            match this.sender.reserve().await {
                Ok(permit) => permit.send(parcel).map_err(|back| Some(back.into_inner())),
                Err(_) => Err(Some(parcel)),
            }
        }))
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let receiver = this.receiver.lock().unwrap().clone();
            receiver?.recv().await.ok()
        })
    }

    fn close(&self) {
        self.sender.close();
    }

    fn drop_receiver(&self) {
        let receiver = self.receiver.lock().unwrap().take();
        drop(receiver);
    }
}

/// A parcel that is cloned by nobody: the only receiver is the last one. What is broadcast has to
/// be `Sync`.
struct Whole(Mutex<Parcel>);

impl Whole {
    fn open(self) -> Parcel {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Whole {
    fn clone(&self) -> Self {
        panic!("the only receiver has cloned {:?}", self.0)
    }
}

struct Lossless {
    sender: broadcast::Sender<Whole>,
    receiver: Mutex<Option<broadcast::Receiver<Whole>>>,
}

/// The receiver while a future has it.
struct Taken<'a>(&'a Lossless, Option<broadcast::Receiver<Whole>>);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(receiver) = self.1.take() {
            *self.0.receiver.lock().unwrap() = Some(receiver);
        }
    }
}

impl Channel for Lossless {
    fn shape() -> ChannelShape {
        ChannelShape::one_receiver(SLOTS).closes().senders_wait()
    }

    fn new() -> Self {
        let (sender, receiver) = broadcast::lossless(SLOTS);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let sent = self.sender.try_send(Whole(Mutex::new(parcel)));
        sent.map_err(|back| back.into_inner().open())
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            let sent = this.sender.send(Whole(Mutex::new(parcel))).await;
            sent.map_err(|back| Some(back.into_inner().open()))
        }))
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let receiver = this.receiver.lock().unwrap().take();
            let mut taken = Taken(&this, receiver);
            let received = taken.1.as_mut()?.recv().await;
            received.ok().map(Whole::open)
        })
    }

    fn close(&self) {
        self.sender.close();
    }

    fn drop_receiver(&self) {
        let receiver = self.receiver.lock().unwrap().take();
        drop(receiver);
    }
}

/// It keeps nothing: who receives takes it from a sender that waits.
struct Meeting {
    sender: rendezvous::Sender<Parcel>,
    receiver: Mutex<Option<rendezvous::Receiver<Parcel>>>,
}

impl Channel for Meeting {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(0)
            .closes()
            .takes_from_senders()
    }

    fn new() -> Self {
        let (sender, receiver) = channel::rendezvous();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let sent = self.sender.try_send(parcel);
        sent.map_err(|back| back.into_inner())
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            let sent = this.sender.send(parcel).await;
            sent.map_err(|back| Some(back.into_inner()))
        }))
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let receiver = this.receiver.lock().unwrap().clone();
            receiver?.recv().await.ok()
        })
    }

    fn close(&self) {
        self.sender.close();
    }

    fn drop_receiver(&self) {
        let receiver = self.receiver.lock().unwrap().take();
        drop(receiver);
    }
}
