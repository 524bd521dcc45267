//! How each peer's channel is plugged in, for what concerns its values: without a bound; and with
//! one, where senders wait.

mod bounded;

pub(crate) use self::bounded::{BoundedAsyncChannel, BoundedFlume, BoundedKanal, BoundedTokioMpsc};

use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Channel, ChannelShape, Parcel};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// A receiver that one future at a time has in its hands, and puts back when it is dropped.
struct Only<R>(Mutex<Option<R>>);

/// The receiver while a future has it.
struct Taken<'a, R>(&'a Only<R>, Option<R>);

impl<R> Only<R> {
    fn new(receiver: R) -> Self {
        Self(Mutex::new(Some(receiver)))
    }

    fn take(&self) -> Taken<'_, R> {
        let receiver = self.0.lock().unwrap().take();
        Taken(self, receiver)
    }

    /// Receives one; `None` if the receiver has gone.
    async fn recv<T>(
        &self,
        poll: impl Fn(&mut R, &mut Context<'_>) -> Poll<Option<T>>,
    ) -> Option<T> {
        let mut taken = self.take();
        let receiver = taken.1.as_mut()?;
        poll_fn(|cx| poll(receiver, cx)).await
    }

    fn drop_it(&self) {
        let receiver = self.0.lock().unwrap().take();
        drop(receiver);
    }
}

impl<R> Drop for Taken<'_, R> {
    fn drop(&mut self) {
        if let Some(receiver) = self.1.take() {
            *self.0.0.lock().unwrap() = Some(receiver);
        }
    }
}

pub(crate) struct TokioMpsc {
    sender: tokio::sync::mpsc::UnboundedSender<Parcel>,
    receiver: Only<tokio::sync::mpsc::UnboundedReceiver<Parcel>>,
}

impl Channel for TokioMpsc {
    fn shape() -> ChannelShape {
        ChannelShape::one_receiver(usize::MAX).closes()
    }

    fn new() -> Self {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        Self {
            sender,
            receiver: Only::new(receiver),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        self.sender.send(parcel).map_err(|back| back.0)
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

pub(crate) struct FuturesMpsc {
    sender: futures_channel::mpsc::UnboundedSender<Parcel>,
    receiver: Only<futures_channel::mpsc::UnboundedReceiver<Parcel>>,
}

impl Channel for FuturesMpsc {
    fn shape() -> ChannelShape {
        ChannelShape::one_receiver(usize::MAX).closes()
    }

    fn new() -> Self {
        let (sender, receiver) = futures_channel::mpsc::unbounded();
        Self {
            sender,
            receiver: Only::new(receiver),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let sent = self.sender.unbounded_send(parcel);
        sent.map_err(futures_channel::mpsc::TrySendError::into_inner)
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        use futures_util::StreamExt;
        let this = Arc::clone(self);
        Box::pin(async move {
            let next = this
                .receiver
                .recv(|receiver, cx| receiver.poll_next_unpin(cx));
            next.await
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

pub(crate) struct AsyncChannel {
    sender: async_channel::Sender<Parcel>,
    receiver: Mutex<Option<async_channel::Receiver<Parcel>>>,
}

impl Channel for AsyncChannel {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(usize::MAX).closes()
    }

    fn new() -> Self {
        let (sender, receiver) = async_channel::unbounded();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        self.sender
            .try_send(parcel)
            .map_err(|back| back.into_inner())
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

pub(crate) struct Flume {
    sender: flume::Sender<Parcel>,
    receiver: Mutex<Option<flume::Receiver<Parcel>>>,
}

impl Channel for Flume {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(usize::MAX)
    }

    fn new() -> Self {
        let (sender, receiver) = flume::unbounded();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        self.sender.send(parcel).map_err(|back| back.0)
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

pub(crate) struct Kanal {
    sender: kanal::Sender<Parcel>,
    receiver: Mutex<Option<kanal::AsyncReceiver<Parcel>>>,
}

impl Channel for Kanal {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(usize::MAX)
    }

    fn new() -> Self {
        let (sender, receiver) = kanal::unbounded();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver.to_async())),
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let mut parcel = Some(parcel);
        let sent = self.sender.try_send_option(&mut parcel);
        match parcel {
            Some(back) => Err(back),
            None => {
                debug_assert!(sent.is_ok());
                Ok(())
            }
        }
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
