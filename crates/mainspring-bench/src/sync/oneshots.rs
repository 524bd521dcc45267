//! One value from one sender: sent before the receiver looks, and after it has parked.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use super::{Entry, timed};
use crate::outcome::Outcome;

trait Oneshot: 'static {
    type Sender;
    type Receiver: Future<Output = Result<u64, Self::Error>>;
    type Error;

    fn channel() -> (Self::Sender, Self::Receiver);
    fn send(sender: Self::Sender, value: u64);
}

fn value_first<O: Oneshot>(passes: u32) -> Outcome {
    timed(passes, |rounds| {
        let mut cx = Context::from_waker(Waker::noop());
        for round in 0..rounds {
            let (sender, receiver) = O::channel();
            O::send(sender, round);
            assert!(is_value(pin!(receiver).poll(&mut cx), round));
        }
    })
}

fn parked_first<O: Oneshot>(passes: u32) -> Outcome {
    timed(passes, |rounds| {
        let mut cx = Context::from_waker(Waker::noop());
        for round in 0..rounds {
            let (sender, receiver) = O::channel();
            let mut receiver = pin!(receiver);
            assert!(Pin::as_mut(&mut receiver).poll(&mut cx).is_pending());
            O::send(sender, round);
            assert!(is_value(receiver.poll(&mut cx), round));
        }
    })
}

fn is_value<E>(poll: Poll<Result<u64, E>>, value: u64) -> bool {
    matches!(poll, Poll::Ready(Ok(found)) if found == value)
}

struct Ours;
struct Crate;
struct Tokio;
struct Futures;

impl Oneshot for Ours {
    type Sender = mainspring_sync::oneshot::Sender<u64>;
    type Receiver = mainspring_sync::oneshot::Receiver<u64>;
    type Error = mainspring_sync::oneshot::RecvError;

    fn channel() -> (Self::Sender, Self::Receiver) {
        mainspring_sync::oneshot::channel()
    }

    fn send(sender: Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }
}

impl Oneshot for Crate {
    type Sender = oneshot::Sender<u64>;
    type Receiver = oneshot::AsyncReceiver<u64>;
    type Error = oneshot::RecvError;

    fn channel() -> (Self::Sender, Self::Receiver) {
        oneshot::async_channel()
    }

    fn send(sender: Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }
}

impl Oneshot for Tokio {
    type Sender = tokio::sync::oneshot::Sender<u64>;
    type Receiver = tokio::sync::oneshot::Receiver<u64>;
    type Error = tokio::sync::oneshot::error::RecvError;

    fn channel() -> (Self::Sender, Self::Receiver) {
        tokio::sync::oneshot::channel()
    }

    fn send(sender: Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }
}

impl Oneshot for Futures {
    type Sender = futures_channel::oneshot::Sender<u64>;
    type Receiver = futures_channel::oneshot::Receiver<u64>;
    type Error = futures_channel::oneshot::Canceled;

    fn channel() -> (Self::Sender, Self::Receiver) {
        futures_channel::oneshot::channel()
    }

    fn send(sender: Self::Sender, value: u64) {
        sender.send(value).expect("the receiver is there");
    }
}

pub(super) const ENTRIES: &[Entry] = &[
    ("oneshot-value-first", "ours", value_first::<Ours>),
    ("oneshot-value-first", "oneshot", value_first::<Crate>),
    ("oneshot-value-first", "tokio", value_first::<Tokio>),
    ("oneshot-value-first", "futures", value_first::<Futures>),
    ("oneshot-parked-first", "ours", parked_first::<Ours>),
    ("oneshot-parked-first", "oneshot", parked_first::<Crate>),
    ("oneshot-parked-first", "tokio", parked_first::<Tokio>),
    ("oneshot-parked-first", "futures", parked_first::<Futures>),
];
