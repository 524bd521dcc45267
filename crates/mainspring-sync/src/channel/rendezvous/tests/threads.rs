//! Threads that block, and what is put into their hands.

use super::behaviour::poll_spent;
use crate::channel::tests::kit::Hand;
use crate::channel::{self, Closed, RecvTimeoutError, SendTimeoutError, TrySendError};
use mainspring_core::poll;
use std::thread;
use std::time::Duration;

/// A limit that has passed at once, and one that is only there to fail.
const NONE: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(60);

// WITNESS: meeting.seat, meeting.once
#[test]
fn blocked_thread_is_handed_the_message_at_once() {
    let (tx, rx) = channel::rendezvous();
    let mut task = Hand::waiting(rx.recv());
    assert_eq!(tx.try_send(0), Err(TrySendError::Full(0)), "a task may go");
    let threads: Vec<_> = (1..=3)
        .map(|count| {
            let (blocks, limited) = (rx.clone(), count == 2);
            let thread = thread::spawn(move || match limited {
                true => blocks.recv_timeout(LONG).map_err(|_| Closed),
                false => blocks.recv_blocking(),
            });
            while rx.waiting() != (0, 1 + count) {
                thread::yield_now();
            }
            thread
        })
        .collect();
    tx.try_send(1).unwrap();
    Hand::new(tx.send(2)).ready().unwrap();
    tx.send_blocking(3).unwrap();
    let received: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert_eq!(received, [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(tx.try_send(4), Err(TrySendError::Full(4)));
    assert_eq!((task.wakes(), task.poll().is_pending()), (0, true));
}

// WITNESS: meeting.seat
/// What was put into the hands of a thread before the end is its own.
#[test]
fn thread_that_was_handed_a_message_has_it_after_the_end() {
    for gives_up in [false, true] {
        let (tx, rx) = channel::rendezvous();
        let mut blocks = Hand::waiting(rx.blocks());
        tx.try_send(1).unwrap();
        tx.close();
        let received = if gives_up {
            blocks.future.as_mut().give_up()
        } else {
            blocks.ready().ok()
        };
        assert_eq!(received, Some(1));
    }
}

// WITNESS: meeting.pairs
#[test]
fn thread_that_gives_up_passes_its_wake_on() {
    let (tx, rx) = channel::rendezvous();
    let mut blocks = Hand::waiting(rx.blocks());
    let mut task = Hand::waiting(rx.recv());
    // Without budget a send hands nothing over: it parks, and tells the thread.
    let mut send = Hand::new(tx.send(1));
    assert!(poll_spent(&mut send).is_pending());
    assert_eq!((blocks.wakes(), task.wakes()), (1, 0));
    assert_eq!(blocks.future.as_mut().give_up(), None);
    assert_eq!(task.wakes(), 1);
    assert_eq!(task.ready(), Ok(1));
}

// WITNESS: meeting.seat, meeting.pairs
/// S16: an offer that a message in hand has used up is nobody else's.
#[test]
fn thread_that_gives_up_with_a_message_wakes_nobody() {
    let (tx, rx) = channel::rendezvous();
    let tasks = [Hand::waiting(rx.recv()), Hand::waiting(rx.recv())];
    let mut blocks = Hand::waiting(rx.blocks());
    tx.try_send(1).unwrap();
    let _send = Hand::waiting(tx.send(2));
    assert_eq!((tasks[0].wakes(), tasks[1].wakes()), (1, 0));
    assert_eq!(blocks.future.as_mut().give_up(), Some(1));
    assert_eq!((tasks[0].wakes(), tasks[1].wakes()), (0, 0));
}

// WITNESS: meeting.seat
/// B169: a message that is parked is not overtaken by one for a blocked thread.
#[test]
fn message_is_not_handed_over_past_one_that_is_parked() {
    let (tx, rx) = channel::rendezvous();
    let mut task = Hand::waiting(rx.recv());
    let mut blocks = Hand::waiting(rx.blocks());
    let mut first = Hand::new(tx.send(1));
    assert!(poll_spent(&mut first).is_pending());
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    let _second = Hand::waiting(tx.send(3));
    assert_eq!((task.ready(), blocks.ready()), (Ok(1), Ok(3)));
}

#[test]
fn limits_pass_and_give_the_message_back() {
    let (tx, rx) = channel::rendezvous();
    assert_eq!(rx.recv_timeout(NONE), Err(RecvTimeoutError::Timeout));
    assert_eq!(tx.send_timeout(1, NONE), Err(SendTimeoutError::Timeout(1)));
    assert_eq!(rx.waiting(), (0, 0));
    let _send = Hand::waiting(tx.send(2));
    assert_eq!(rx.recv_timeout(NONE), Ok(2));
    let receiver = thread::spawn(move || {
        let received = rx.recv_timeout(LONG);
        drop(rx);
        received
    });
    tx.send_timeout(3, LONG).unwrap();
    assert_eq!(receiver.join().unwrap(), Ok(3));
    let closed = Err(SendTimeoutError::Closed(4));
    assert_eq!(tx.send_timeout(4, LONG), closed);
}

#[test]
#[should_panic = "MS0013"]
fn blocking_send_inside_a_task_panics() {
    let (tx, _rx) = channel::rendezvous();
    poll::root(|| tx.send_blocking(1).unwrap());
}

#[test]
#[should_panic = "MS0013"]
fn blocking_receive_inside_a_task_panics() {
    let (_tx, rx) = channel::rendezvous::<u8>();
    poll::root(|| rx.recv_timeout(LONG).unwrap());
}
