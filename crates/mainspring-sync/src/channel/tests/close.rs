//! The end of a channel, from either side.

use super::kit::{Grenade, Hand};
use crate::channel::{Closed, Receiver, TryRecvError, TryReserveError, TrySendError, bounded};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

/// S7, S9, S16: closing is for ever, wakes all, and loses nothing.
#[test]
fn close_wakes_all_and_hands_back_what_was_not_sent() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let mut sends: Vec<_> = (1..40).map(|n| (n, Hand::waiting(tx.send(n)))).collect();
    let mut reserve = Hand::waiting(tx.reserve());
    let mut closed = Hand::waiting(tx.closed());
    rx.close();
    for (number, send) in &mut sends {
        assert_eq!(send.wakes(), 1);
        assert_eq!(send.ready().unwrap_err().into_inner(), *number);
    }
    assert_eq!(reserve.wakes(), 1);
    assert_eq!(reserve.ready().unwrap_err(), Closed);
    assert_eq!(closed.wakes(), 1);
    closed.ready();
    assert_eq!(tx.try_send(5), Err(TrySendError::Closed(5)));
    assert_eq!(tx.try_reserve().unwrap_err(), TryReserveError::Closed);
    assert_eq!(Hand::new(tx.send(5)).ready().unwrap_err().into_inner(), 5);
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(Hand::new(rx.recv()).ready(), Err(Closed));
    tx.close();
    rx.close();
    assert!(tx.is_closed() && rx.is_closed());
}

/// B167: the last message of a sender that goes is not lost.
#[test]
fn dropped_sender_ends_the_channel_after_its_messages() {
    let (tx, rx) = bounded(2);
    let other = tx.clone();
    let mut waiting = [Hand::waiting(rx.recv()), Hand::waiting(rx.recv())];
    drop(tx);
    assert!(!rx.is_closed());
    other.try_send(1).unwrap();
    drop(other);
    assert_eq!(waiting[0].ready(), Ok(1));
    assert_eq!(waiting[1].wakes(), 1);
    assert_eq!(waiting[1].ready(), Err(Closed));
}

// WITNESS: permit.once
/// S8, B155: every way in which the last permit goes tells the receivers.
#[test]
fn receivers_are_told_of_the_end_when_the_last_permit_goes() {
    for used in [false, true] {
        let (tx, rx) = bounded(2);
        let permits = [tx.try_reserve().unwrap(), tx.try_reserve().unwrap()];
        rx.close();
        let mut waiting = [Hand::waiting(rx.recv()), Hand::waiting(rx.recv())];
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        let [first, last] = permits;
        drop(first);
        assert_eq!((waiting[0].wakes(), waiting[1].wakes()), (0, 0));
        if used {
            last.send(1).unwrap();
        } else {
            drop(last);
        }
        assert_eq!((waiting[0].wakes(), waiting[1].wakes()), (1, 1));
        let expected = if used { Ok(1) } else { Err(Closed) };
        assert_eq!(waiting[0].ready(), expected);
        assert_eq!(waiting[1].ready(), Err(Closed));
    }
    // A reservation that was granted, and is dropped without having been polled since.
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let granted = Hand::waiting(tx.reserve());
    assert_eq!(rx.try_recv(), Ok(0));
    rx.close();
    let mut recv = Hand::waiting(rx.recv());
    drop(granted);
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Err(Closed));
    // And one that is polled.
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let mut granted = Hand::waiting(tx.send(1));
    assert_eq!(rx.try_recv(), Ok(0));
    rx.close();
    let mut recv = Hand::waiting(rx.recv());
    assert_eq!(granted.ready().unwrap_err().into_inner(), 1);
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Err(Closed));
}

/// B154: a permit sends after a close, and not after the last receiver.
#[test]
fn permit_gives_the_message_back_when_no_receiver_is_left() {
    let (tx, rx) = bounded(2);
    let first = tx.try_reserve().unwrap();
    let second = tx.clone().try_reserve_owned().unwrap();
    rx.close();
    first.send(Rc::new(1)).unwrap();
    let message = rx.try_recv().unwrap();
    drop(rx);
    let refused = second.send(Rc::clone(&message)).unwrap_err();
    drop(refused);
    assert_eq!(Rc::strong_count(&message), 1);
}

// WITNESS: channel.last
/// S10, B170, B151: what the last receiver leaves is dropped at once, and so is who waited.
#[test]
fn dropped_receiver_drops_the_messages_and_wakes_the_senders() {
    let (tx, rx) = bounded(2);
    let message = Rc::new(());
    tx.try_send(Rc::clone(&message)).unwrap();
    tx.try_send(Rc::clone(&message)).unwrap();
    let mut send = Hand::waiting(tx.send(Rc::clone(&message)));
    let mut stream = rx.clone();
    assert_eq!(Rc::strong_count(&message), 4);
    drop(rx);
    assert!(!tx.is_closed());
    assert!(stream.drain().next().is_some());
    let waker = Waker::from(Arc::clone(&send.bell));
    for _ in 0..2 {
        // The second poll waits, with a waker.
        let poll = futures_core::Stream::poll_next(
            std::pin::Pin::new(&mut stream),
            &mut Context::from_waker(&waker),
        );
        drop(poll);
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&send.bell), 2, "the stream's");
    tx.try_send(Rc::clone(&message)).unwrap_or_default();
    drop(stream);
    assert!(tx.is_closed() && tx.is_empty());
    assert_eq!(Arc::strong_count(&send.bell), 1);
    assert_eq!(Rc::strong_count(&message), 2);
    drop(send.ready().unwrap_err());
    assert_eq!(Rc::strong_count(&message), 1);
}

/// S11, B164: a destructor that panics costs neither the other messages nor the wakes.
#[test]
fn panic_of_a_destructor_leaves_nothing_undone() {
    let drops = Cell::new(0);
    let (tx, rx) = bounded(3);
    for _ in 0..3 {
        assert!(tx.try_send(Grenade(&drops)).is_ok());
    }
    let mut closed = Hand::waiting(tx.closed());
    let result = catch_unwind(AssertUnwindSafe(|| drop(rx)));
    assert!(result.is_err());
    assert_eq!(drops.get(), 3);
    assert_eq!(closed.wakes(), 1);
    closed.ready();
    assert!(tx.is_empty());
}

struct Shouts;

impl Wake for Shouts {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

/// S11, B127: a waker that panics costs the others nothing.
#[test]
fn panic_of_a_waker_leaves_nothing_undone() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let mut shouting = Box::pin(tx.closed());
    let shouts = Waker::from(Arc::new(Shouts));
    let mut cx = Context::from_waker(&shouts);
    assert!(shouting.as_mut().poll(&mut cx).is_pending());
    let mut first = Box::pin(tx.send(1));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    let mut second = Hand::waiting(tx.send(2));
    let mut closed = Hand::waiting(tx.closed());
    let result = catch_unwind(AssertUnwindSafe(|| drop(rx)));
    assert!(result.is_err());
    assert_eq!((second.wakes(), closed.wakes()), (1, 1));
    assert!(second.ready().is_err());
    closed.ready();
    assert!(tx.is_empty() && tx.receiver_count() == 0);
}

/// S11: nor does that of a sender take along the message whose room it is told of.
#[test]
fn waker_that_panics_takes_no_message_along() {
    type Receive = fn(&Receiver<i32>) -> Vec<i32>;
    let shouts = Waker::from(Arc::new(Shouts));
    let receive: [Receive; 4] = [
        |rx| vec![rx.try_recv().unwrap()],
        |rx| vec![rx.recv_blocking().unwrap()],
        |rx| vec![Hand::new(rx.recv()).ready().unwrap()],
        |rx| {
            let mut buffer = Vec::new();
            assert_eq!(Hand::new(rx.recv_many(&mut buffer, 1)).ready(), Ok(1));
            buffer
        },
    ];
    for receive in receive {
        let (tx, rx) = bounded(1);
        tx.try_send(0).unwrap();
        let mut send = Box::pin(tx.send(1));
        let mut cx = Context::from_waker(&shouts);
        assert!(send.as_mut().poll(&mut cx).is_pending());
        assert_eq!(receive(&rx), [0]);
        assert!(send.as_mut().poll(&mut cx).is_ready());
        assert_eq!(rx.try_recv(), Ok(1));
    }
}

/// B152: every call in every state.
#[test]
fn every_call_has_an_answer_after_the_end() {
    let (tx, rx) = bounded::<u8>(1);
    tx.close();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.recv_blocking(), Err(Closed));
    let mut buffer = Vec::new();
    assert_eq!(Hand::new(rx.recv_many(&mut buffer, 5)).ready(), Err(Closed));
    assert_eq!(rx.drain().count(), 0);
    assert!(tx.try_send(1).is_err() && tx.force_send(1).is_err());
    assert!(tx.clone().try_reserve_owned().is_err());
    assert!(Hand::new(tx.clone().reserve_owned()).ready().is_err());
    assert_eq!(Hand::new(tx.send_many([1, 2])).ready().unwrap_err().sent, 0);
    assert_eq!((tx.len(), tx.is_full(), tx.is_empty()), (0, false, true));
    Hand::new(tx.closed()).ready();
    let closed = tx.clone();
    drop(rx);
    assert!(closed.is_closed());
}
