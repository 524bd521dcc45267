//! Receivers that are kept after a `next` was dropped while it waited, and then used otherwise.

use super::{LARGE, UNBOUNDED, now, open};
use futures_core::Stream;
use mainspring_testkit::Hand;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// A `next` that waits and is dropped.
fn give_up_next<S: Stream + Unpin>(stream: &mut S) {
    let next = poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx));
    assert!(now(next).is_none(), "there is nothing yet");
}

macro_rules! receivers {
    ($($name:ident: $ends:expr, $send:expr;)*) => {$(
        /// S1: what comes then wakes whoever waits with the receiver, and is received.
        #[test]
        fn $name() {
            let (tx, mut rx) = $ends;
            for number in 0..3 {
                give_up_next(&mut rx);
                let mut recv = Hand::new(async move {
                    let received = rx.recv().await;
                    (received, rx)
                });
                assert!(recv.poll().is_pending());
                let tx = tx.clone();
                let mut send = Hand::new($send(tx, number));
                let sent = send.poll();
                assert!(recv.is_woken(), "message {number}");
                let Poll::Ready((received, back)) = recv.poll() else {
                    panic!("message {number} was not received");
                };
                assert_eq!(received, Ok(number));
                assert!(sent.is_ready() || send.poll().is_ready());
                rx = back;
            }
        }
    )*};
}

mod queues {
    use super::*;
    use mainspring_sync::channel::rendezvous::Sender as Meets;
    use mainspring_sync::channel::{self, Sender};

    async fn send(tx: Sender<u8>, number: u8) {
        tx.send(number).await.unwrap();
    }

    async fn meet(tx: Meets<u8>, number: u8) {
        tx.send(number).await.unwrap();
    }

    receivers! {
        of_one: open(1), send;
        of_many: open(LARGE), send;
        unbounded: open(UNBOUNDED), send;
        of_none: channel::rendezvous(), meet;
    }
}

mod broadcasts {
    use super::*;
    use mainspring_sync::broadcast::{self, Sender, lossless, lossy};

    async fn send(tx: Sender<u8>, number: u8) {
        tx.send(number).await.unwrap();
    }

    async fn send_at_once(tx: broadcast::LossySender<u8>, number: u8) {
        tx.send(number).unwrap();
    }

    receivers! {
        of_lossless: lossless(2), send;
        of_lossy: lossy(2), send_at_once;
    }
}
