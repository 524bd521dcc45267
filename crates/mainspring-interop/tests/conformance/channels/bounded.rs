//! Channels that are full now and then, and their senders, which wait.

use super::Only;
use crate::peers::SLOTS;
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Channel, ChannelShape, Parcel, Sent};
use std::sync::{Arc, Mutex};

pub(crate) struct BoundedTokioMpsc {
    sender: tokio::sync::mpsc::Sender<Parcel>,
    receiver: Only<tokio::sync::mpsc::Receiver<Parcel>>,
}

impl Channel for BoundedTokioMpsc {
    fn shape() -> ChannelShape {
        ChannelShape::one_receiver(SLOTS).closes().senders_wait()
    }

    fn new() -> Self {
        let (sender, receiver) = tokio::sync::mpsc::channel(SLOTS);
        Self {
            sender,
            receiver: Only::new(receiver),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let sent = self.sender.try_send(parcel);
        sent.map_err(tokio::sync::mpsc::error::TrySendError::into_inner)
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            let sent = this.sender.send(parcel).await;
            sent.map_err(|back| Some(back.0))
        }))
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            this.receiver
                .recv(|receiver, cx| receiver.poll_recv(cx))
                .await
        })
    }

    fn close(&self) {
        let mut taken = self.receiver.take();
        if let Some(receiver) = &mut taken.1 {
            receiver.close();
        }
    }

    fn drop_receiver(&self) {
        self.receiver.drop_it();
    }
}

pub(crate) struct BoundedAsyncChannel {
    sender: async_channel::Sender<Parcel>,
    receiver: Mutex<Option<async_channel::Receiver<Parcel>>>,
}

impl Channel for BoundedAsyncChannel {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(SLOTS).closes().senders_wait()
    }

    fn new() -> Self {
        let (sender, receiver) = async_channel::bounded(SLOTS);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let sent = self.sender.try_send(parcel);
        sent.map_err(async_channel::TrySendError::into_inner)
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            let sent = this.sender.send(parcel).await;
            sent.map_err(|back| Some(back.0))
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

pub(crate) struct BoundedFlume {
    sender: flume::Sender<Parcel>,
    receiver: Mutex<Option<flume::Receiver<Parcel>>>,
}

impl Channel for BoundedFlume {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(SLOTS).takes_from_senders()
    }

    fn new() -> Self {
        let (sender, receiver) = flume::bounded(SLOTS);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let sent = self.sender.try_send(parcel);
        sent.map_err(flume::TrySendError::into_inner)
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            let sent = this.sender.send_async(parcel).await;
            sent.map_err(|back| Some(back.0))
        }))
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let receiver = this.receiver.lock().unwrap().clone();
            receiver?.recv_async().await.ok()
        })
    }

    fn drop_receiver(&self) {
        let receiver = self.receiver.lock().unwrap().take();
        drop(receiver);
    }
}

pub(crate) struct BoundedKanal {
    sender: kanal::AsyncSender<Parcel>,
    receiver: Mutex<Option<kanal::AsyncReceiver<Parcel>>>,
}

impl Channel for BoundedKanal {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(SLOTS).takes_from_senders()
    }

    fn new() -> Self {
        let (sender, receiver) = kanal::bounded_async(SLOTS);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let mut parcel = Some(parcel);
        let _ = self.sender.try_send_option(&mut parcel);
        parcel.map_or(Ok(()), Err)
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        let this = Arc::clone(self);
        Some(Box::pin(async move {
            // It drops what it refuses.
            let sent = this.sender.send(parcel).await;
            sent.map_err(|_| None)
        }))
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let receiver = this.receiver.lock().unwrap().clone();
            receiver?.recv().await.ok()
        })
    }

    fn drop_receiver(&self) {
        let receiver = self.receiver.lock().unwrap().take();
        drop(receiver);
    }
}
