use super::kit::{Bell, Hand};
use crate::channel::{SendError, Sender, TrySendError, bounded};
use futures_sink::Sink;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

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

/// Uses a sender in one of the ways that are not the sink's. `true` if it got room.
type Way = fn(Sender<u32>) -> bool;

const WAYS: [(&str, Way); 9] = [
    ("send", |tx| Hand::new(tx.send(1)).poll().is_ready()),
    ("send_many", |tx| {
        Hand::new(tx.send_many([1])).poll().is_ready()
    }),
    ("reserve", |tx| Hand::new(tx.reserve()).poll().is_ready()),
    ("reserve_owned", |tx| {
        Hand::new(tx.reserve_owned()).poll().is_ready()
    }),
    ("try_send", |tx| tx.try_send(1).is_ok()),
    ("try_reserve", |tx| tx.try_reserve().is_ok()),
    ("try_reserve_owned", |tx| tx.try_reserve_owned().is_ok()),
    ("force_send", |tx| tx.force_send(1) == Ok(None)),
    ("send_timeout", |tx| {
        tx.send_timeout(1, Duration::ZERO).is_ok()
    }),
];

fn poll_ready(tx: &mut Sender<u32>) -> Poll<Result<(), SendError<Option<u32>>>> {
    let waker = Waker::from(Arc::new(Bell::default()));
    Pin::new(tx).poll_ready(&mut Context::from_waker(&waker))
}

// WITNESS: place.left
/// S1: a `send` of the futures crates that was dropped while it waited does not keep the room that
/// came from the sender itself.
#[test]
fn every_other_way_to_send_gives_up_the_sinks_place() {
    for (name, way) in WAYS {
        let (mut tx, rx) = bounded(1);
        tx.try_send(0).unwrap();
        assert!(poll_ready(&mut tx).is_pending());
        assert_eq!(rx.try_recv(), Ok(0));
        assert!(tx.is_full(), "{name}: the room is the sink's");
        assert!(way(tx), "{name}");
    }
}

// WITNESS: place.left
#[test]
fn room_that_the_sink_gives_up_goes_to_the_next() {
    let (mut tx, rx) = bounded(1);
    let other = tx.clone();
    tx.try_send(0).unwrap();
    assert!(poll_ready(&mut tx).is_pending());
    let mut waits = Hand::waiting(other.send(2));
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(waits.wakes(), 0);
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
    assert_eq!(waits.wakes(), 1);
    waits.ready().unwrap();
    // And as a sink again.
    assert!(poll_ready(&mut tx).is_pending());
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(poll_ready(&mut tx), Poll::Ready(Ok(())));
    // What was announced stays, whatever else the sender is used for.
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
    Pin::new(&mut tx).start_send(4).unwrap();
    assert_eq!(rx.try_recv(), Ok(4));
}
