use super::kit::{Bell, Hand};
use crate::channel::{TrySendError, bounded};
use futures_sink::Sink;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[test]
fn sink_holds_room_between_ready_and_send() {
    let (mut tx, rx) = bounded(1);
    let other = tx.clone();
    let waker = Waker::from(Arc::new(Bell::default()));
    let mut cx = Context::from_waker(&waker);
    assert_eq!(Pin::new(&mut tx).poll_ready(&mut cx), Poll::Ready(Ok(())));
    assert_eq!(Pin::new(&mut tx).poll_ready(&mut cx), Poll::Ready(Ok(())));
    assert_eq!(other.try_send(2), Err(TrySendError::Full(2)));
    Pin::new(&mut tx).start_send(1).unwrap();
    assert_eq!(Pin::new(&mut tx).poll_flush(&mut cx), Poll::Ready(Ok(())));
    assert!(Pin::new(&mut tx).poll_ready(&mut cx).is_pending());
    let mut waits = Hand::waiting(other.send(3));
    assert_eq!(rx.try_recv(), Ok(1));
    // Dropped, or closed, it gives its room back.
    assert_eq!(Pin::new(&mut tx).poll_close(&mut cx), Poll::Ready(Ok(())));
    assert_eq!(waits.wakes(), 1);
    waits.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(3));
    assert_eq!(Pin::new(&mut tx).poll_ready(&mut cx), Poll::Ready(Ok(())));
    drop(rx);
    let refused = Pin::new(&mut tx).start_send(4).unwrap_err();
    assert_eq!(refused.into_inner(), Some(4));
    assert!(Pin::new(&mut tx).poll_ready(&mut cx).is_ready());
    drop(tx);
    assert_eq!(other.sender_count(), 1);
}

#[test]
#[should_panic(expected = "MS0018: `start_send` without a `poll_ready`")]
fn sink_that_was_not_ready_takes_nothing() {
    let (mut tx, _rx) = bounded(1);
    let _ = Pin::new(&mut tx).start_send(1);
}
