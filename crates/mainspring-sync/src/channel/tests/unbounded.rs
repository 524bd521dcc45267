//! A channel without a bound.

use super::kit::Hand;
use crate::channel::{TryRecvError, unbounded};
use std::sync::Arc;

#[test]
fn no_send_waits_and_nothing_is_replaced() {
    let (tx, rx) = unbounded();
    for number in 0..1_000 {
        match number % 4 {
            0 => tx.try_send(number).unwrap(),
            1 => tx.send_blocking(number).unwrap(),
            2 => assert_eq!(tx.force_send(number).unwrap(), None),
            _ => Hand::new(tx.send(number)).ready().unwrap(),
        }
    }
    assert_eq!(
        (tx.len(), tx.capacity(), tx.is_full()),
        (1_000, None, false)
    );
    let permit = tx.try_reserve().unwrap();
    permit.send(1_000).unwrap();
    assert!(rx.drain().eq(0..=1_000));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn receivers_wait_and_each_message_wakes_one() {
    let (tx, rx) = unbounded();
    let mut first = Hand::waiting(rx.recv());
    let mut second = Hand::waiting(rx.recv());
    tx.try_send(1).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    tx.try_send(2).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert_eq!((first.ready(), second.ready()), (Ok(1), Ok(2)));
}

/// B170, S10: across several blocks.
#[test]
fn last_receiver_takes_the_messages_with_it() {
    let message = Arc::new(());
    let (tx, rx) = unbounded();
    for _ in 0..100 {
        tx.try_send(Arc::clone(&message)).unwrap();
    }
    assert_eq!(Arc::strong_count(&message), 101);
    drop(rx);
    assert_eq!(Arc::strong_count(&message), 1);
    assert!(tx.try_send(message).unwrap_err().is_closed());
}

#[test]
fn end_comes_after_the_messages_and_the_permits() {
    let (tx, rx) = unbounded();
    let permit = tx.try_reserve().unwrap();
    tx.try_send(1).unwrap();
    tx.close();
    assert!(tx.try_send(2).is_err());
    assert_eq!(rx.try_recv(), Ok(1));
    let mut waiting = Hand::waiting(rx.recv());
    permit.send(3).unwrap();
    assert_eq!(waiting.ready(), Ok(3));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}
