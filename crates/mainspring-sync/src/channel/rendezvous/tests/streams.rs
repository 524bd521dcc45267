//! A stream's place outlives a `next` that is dropped: whoever uses the receiver in another way
//! leaves it, and passes on what it was told.

use crate::channel::rendezvous::Receiver;
use crate::channel::tests::kit::{Bell, Hand};
use crate::channel::{self, TryRecvError};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn next(stream: &mut Receiver<u32>) -> Poll<Option<u32>> {
    let waker = Waker::from(Arc::new(Bell::default()));
    Pin::new(stream).poll_next(&mut Context::from_waker(&waker))
}

/// Uses a receiver in one of the ways that are not the stream's, without waiting for long.
type Way = fn(&Receiver<u32>);

const WAYS: [(&str, Way); 3] = [
    ("recv", |rx| drop(rx.recv())),
    ("try_recv", |rx| _ = rx.try_recv()),
    ("recv_timeout", |rx| _ = rx.recv_timeout(Duration::ZERO)),
];

// WITNESS: place.left
/// S1: one receiver, whose `next` lost a race.
#[test]
fn message_wakes_the_receiver_whose_next_was_dropped() {
    let (tx, mut rx) = channel::rendezvous();
    assert!(next(&mut rx).is_pending());
    let mut recv = Hand::waiting(rx.recv());
    assert_eq!(rx.waiting(), (0, 1));
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Ok(1));
    send.ready().unwrap();
    drop(recv);
    // And as a stream again.
    assert!(next(&mut rx).is_pending());
    let mut send = Hand::waiting(tx.send(2));
    assert_eq!(next(&mut rx), Poll::Ready(Some(2)));
    send.ready().unwrap();
}

// WITNESS: place.left
#[test]
fn every_other_way_to_receive_leaves_the_streams_place() {
    for (name, way) in WAYS {
        let (tx, rx) = channel::rendezvous();
        let mut stream = rx.clone();
        assert!(next(&mut stream).is_pending());
        let recv = Hand::waiting(rx.recv());
        way(&stream);
        assert_eq!(rx.waiting(), (0, 1), "{name}");
        let _send = Hand::waiting(tx.send(1));
        assert_eq!(recv.wakes(), 1, "{name}");
    }
}

// WITNESS: place.left
#[test]
fn what_the_stream_was_told_is_passed_on_by_every_other_way() {
    for (name, way) in WAYS {
        let (tx, rx) = channel::rendezvous();
        let mut stream = rx.clone();
        assert!(next(&mut stream).is_pending());
        let recv = Hand::waiting(rx.recv());
        let _send = Hand::waiting(tx.send(1));
        assert_eq!(recv.wakes(), 0, "{name}: the stream came first");
        way(&stream);
        assert_eq!(recv.wakes(), 1, "{name}");
    }
}

/// What the documentation promises of one that is put aside, and no more than that.
#[test]
fn receiver_that_is_put_aside_is_told_of_one_message() {
    let (tx, rx) = channel::rendezvous();
    let mut aside = rx.clone();
    assert!(next(&mut aside).is_pending());
    let mut recv = Hand::waiting(rx.recv());
    let _first = Hand::waiting(tx.send(1));
    assert_eq!(recv.wakes(), 0);
    let _second = Hand::waiting(tx.send(2));
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Ok(1));
    assert_eq!(rx.try_recv(), Ok(2));
    drop(aside);
}

/// It says that it has ended when it has said so, not when the channel has.
#[test]
fn stream_has_ended_when_it_said_so() {
    let (tx, mut rx) = channel::rendezvous();
    drop(tx);
    assert!(rx.is_closed() && !rx.is_terminated());
    assert_eq!(next(&mut rx), Poll::Ready(None));
    assert!(rx.is_terminated());
    assert_eq!(next(&mut rx), Poll::Ready(None));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert!(!rx.clone().is_terminated());
}
