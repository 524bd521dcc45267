//! A stream's place outlives a `next` that is dropped: whoever uses the receiver in another way
//! leaves it, and passes on what it was told.

use super::kit::{Bell, Hand};
use crate::channel::{Receiver, Sender, bounded, unbounded};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

fn next(stream: &mut Receiver<u32>) -> Poll<Option<u32>> {
    let waker = Waker::from(Arc::new(Bell::default()));
    Pin::new(stream).poll_next(&mut Context::from_waker(&waker))
}

/// Uses a receiver in one of the ways that are not the stream's, without waiting for long.
type Way = fn(&Receiver<u32>);

const WAYS: [(&str, Way); 5] = [
    ("recv", |rx| drop(rx.recv())),
    ("recv_many", |rx| drop(rx.recv_many(&mut Vec::new(), 2))),
    ("try_recv", |rx| _ = rx.try_recv()),
    ("drain", |rx| _ = rx.drain()),
    ("recv_timeout", |rx| _ = rx.recv_timeout(Duration::ZERO)),
];

fn ends() -> [(Sender<u32>, Receiver<u32>); 3] {
    [bounded(1), bounded(5_000), unbounded()]
}

// WITNESS: place.left
/// S1: one receiver, whose `next` lost a race.
#[test]
fn message_wakes_the_receiver_whose_next_was_dropped() {
    for (tx, mut rx) in ends() {
        assert!(next(&mut rx).is_pending());
        let mut recv = Hand::waiting(rx.recv());
        assert_eq!(rx.shared().waiting(), (0, 1));
        tx.try_send(1).unwrap();
        assert_eq!(recv.wakes(), 1);
        assert_eq!(recv.ready(), Ok(1));
        drop(recv);
        // And as a stream again.
        assert!(next(&mut rx).is_pending());
        tx.try_send(2).unwrap();
        assert_eq!(next(&mut rx), Poll::Ready(Some(2)));
    }
}

// WITNESS: place.left
#[test]
fn every_other_way_to_receive_leaves_the_streams_place() {
    for (name, way) in WAYS {
        for (tx, rx) in ends() {
            let mut stream = rx.clone();
            assert!(next(&mut stream).is_pending());
            let recv = Hand::waiting(rx.recv());
            way(&stream);
            assert_eq!(rx.shared().waiting(), (0, 1), "{name}");
            tx.try_send(1).unwrap();
            assert_eq!(recv.wakes(), 1, "{name}");
        }
    }
}

// WITNESS: place.left
#[test]
fn what_the_stream_was_told_is_passed_on_by_every_other_way() {
    for (name, way) in WAYS {
        for (tx, rx) in ends() {
            let mut stream = rx.clone();
            assert!(next(&mut stream).is_pending());
            let recv = Hand::waiting(rx.recv());
            tx.try_send(1).unwrap();
            assert_eq!(recv.wakes(), 0, "{name}: the stream came first");
            way(&stream);
            assert_eq!(recv.wakes(), 1, "{name}");
        }
    }
}

/// What the documentation promises of one that is put aside, and no more than that.
#[test]
fn receiver_that_is_put_aside_is_told_of_one_message() {
    let (tx, rx) = unbounded();
    let mut aside = rx.clone();
    assert!(next(&mut aside).is_pending());
    let mut recv = Hand::waiting(rx.recv());
    tx.try_send(1).unwrap();
    assert_eq!(recv.wakes(), 0);
    tx.try_send(2).unwrap();
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Ok(1));
    assert_eq!(rx.try_recv(), Ok(2));
    drop(aside);
}

/// Receives when it is woken, with the receiver that is just leaving its place.
struct Back {
    receiver: Arc<Receiver<u32>>,
    received: Mutex<Vec<u32>>,
}

impl Wake for Back {
    fn wake(self: Arc<Self>) {
        let received = self.receiver.drain().collect();
        *self.received.lock().unwrap() = received;
    }
}

// WITNESS: place.alone
#[test]
fn waker_may_use_the_receiver_that_passes_on() {
    let (tx, rx) = unbounded();
    let mut stream = rx.clone();
    assert!(next(&mut stream).is_pending());
    let back = Arc::new(Back {
        receiver: Arc::new(stream),
        received: Mutex::default(),
    });
    let waker = Waker::from(Arc::clone(&back));
    let mut recv = std::pin::pin!(rx.recv());
    let polled = recv.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    tx.try_send(1).unwrap();
    assert!(back.receiver.try_recv().is_err(), "the waker has it");
    assert_eq!(*back.received.lock().unwrap(), [1]);
}

/// It says that it has ended when it has said so, not when the channel has: one who looked before
/// may have been told otherwise.
#[test]
fn stream_has_ended_when_it_said_so() {
    for (tx, mut rx) in ends() {
        tx.try_send(1).unwrap();
        drop(tx);
        assert_eq!(next(&mut rx), Poll::Ready(Some(1)));
        assert!(rx.is_closed() && !rx.is_terminated());
        assert_eq!(next(&mut rx), Poll::Ready(None));
        assert!(rx.is_terminated());
        assert_eq!(next(&mut rx), Poll::Ready(None));
        let mut clone = rx.clone();
        assert!(!clone.is_terminated());
        assert_eq!(next(&mut clone), Poll::Ready(None));
    }
}

/// The waiter is whole again after it was left while another one was polled.
#[test]
fn stream_waits_again_after_its_place_was_left() {
    let (tx, mut rx) = unbounded();
    for number in 0..3 {
        assert!(next(&mut rx).is_pending());
        assert!(rx.try_recv().is_err());
        tx.try_send(number).unwrap();
        assert_eq!(next(&mut rx), Poll::Ready(Some(number)));
        tx.try_send(number).unwrap();
        assert_eq!(rx.try_recv(), Ok(number));
    }
}
