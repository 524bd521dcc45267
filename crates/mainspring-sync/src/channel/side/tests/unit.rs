//! Who gives way to whom, one poll at a time. A poll of the family is one in `poll::root`.

use crate::channel::tests::kit::Hand;
use crate::channel::{Receiver, Sender, bounded};
use futures_core::Stream;
use mainspring_core::poll;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// How many senders and receivers are in the lists.
fn waiting<T>(tx: &Sender<T>) -> (usize, usize) {
    tx.shared().waiting()
}

/// Polls once, in a poll of the family.
fn step<F: Future>(hand: &mut Hand<F>) -> Poll<F::Output> {
    poll::root(|| hand.poll())
}

/// It gave way: it has woken itself, and is in no list.
fn gives_way<F: Future>(hand: &mut Hand<F>) -> bool {
    step(hand).is_pending() && hand.wakes() == 1
}

/// A channel with one message in it, which a receiver was told of that has not come yet.
fn with_receiver_due() -> (Sender<u32>, Receiver<u32>) {
    let (tx, rx) = bounded(1);
    let told = Hand::waiting(rx.recv());
    tx.try_send(0).unwrap();
    assert_eq!(told.wakes(), 1);
    drop(told);
    (tx, rx)
}

// WITNESS: side.owes
/// Two that take turns: after the first wake neither waits, nor is woken by the other.
#[test]
fn two_that_take_turns_stay_out_of_the_lists() {
    let (tx, rx) = bounded(1);
    let mut receive = Hand::new(rx.recv());
    assert!(step(&mut receive).is_pending());
    assert_eq!((receive.wakes(), waiting(&tx)), (0, (0, 1)));
    let mut send = Hand::new(tx.send(0));
    assert!(step(&mut send).is_ready());
    assert_eq!((receive.wakes(), waiting(&tx)), (1, (0, 0)));
    for number in 1..5 {
        let mut send = Hand::new(tx.send(number));
        assert!(gives_way(&mut send), "side.owes: it did not wake its task");
        assert_eq!(step(&mut receive), Poll::Ready(Ok(number - 1)));
        receive = Hand::new(rx.recv());
        assert!(
            gives_way(&mut receive),
            "side.owes: it did not wake its task"
        );
        assert!(step(&mut send).is_ready());
        assert_eq!(
            (send.wakes(), receive.wakes(), waiting(&tx)),
            (0, 0, (0, 0))
        );
    }
}

// WITNESS: side.once
#[test]
fn one_that_gave_way_in_vain_waits() {
    let (tx, rx) = with_receiver_due();
    let mut send = Hand::new(tx.send(1));
    assert!(gives_way(&mut send));
    // Somebody is about to look, again and again, and never does.
    tx.shared().receiving.woken(true);
    assert!(step(&mut send).is_pending());
    assert_eq!(
        (send.wakes(), waiting(&tx)),
        (0, (1, 0)),
        "side.once: it gave way twice"
    );
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(send.wakes(), 1);
    send.ready().unwrap();

    let mut other = Hand::new(tx.send(2));
    assert!(gives_way(&mut other), "a new call gives way once more");
    assert_eq!(rx.try_recv(), Ok(1));
    let mut receive = Hand::new(rx.recv());
    assert!(gives_way(&mut receive));
    tx.shared().sending.woken(true);
    assert!(step(&mut receive).is_pending());
    assert_eq!(
        (receive.wakes(), waiting(&tx)),
        (0, (0, 1)),
        "side.once: it gave way twice"
    );
    assert!(step(&mut other).is_ready());
    assert_eq!(receive.wakes(), 1);
    assert_eq!(receive.ready(), Ok(2));
}

// WITNESS: side.once
#[test]
fn one_note_makes_one_give_way() {
    let (tx, _rx) = with_receiver_due();
    let mut first = Hand::new(tx.send(1));
    let mut second = Hand::new(tx.send(2));
    assert!(gives_way(&mut first));
    assert!(step(&mut second).is_pending());
    assert_eq!(
        (second.wakes(), waiting(&tx)),
        (0, (1, 0)),
        "side.once: a note was used twice"
    );
}

// WITNESS: side.hint
/// Notes that are wrong cost a poll, in both directions.
#[test]
fn wrong_notes_keep_nobody_from_waiting_or_from_being_woken() {
    let (tx, rx) = bounded(1);
    tx.shared().sending.woken(true);
    let mut receive = Hand::new(rx.recv());
    assert!(gives_way(&mut receive));
    assert!(step(&mut receive).is_pending());
    assert_eq!((receive.wakes(), waiting(&tx)), (0, (0, 1)));
    // It waits, and the note says that nobody does.
    tx.shared().receiving.left();
    tx.try_send(0).unwrap();
    assert_eq!(receive.wakes(), 1);
    assert_eq!(receive.ready(), Ok(0));
    // Nobody waits, and the note says that somebody does.
    tx.shared().sending.parks();
    tx.try_send(1).unwrap();
    tx.shared().receiving.woken(true);
    let mut send = Hand::new(tx.send(2));
    assert!(step(&mut send).is_pending());
    assert_eq!((send.wakes(), waiting(&tx)), (0, (1, 0)));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(send.wakes(), 1);
    send.ready().unwrap();
}

// WITNESS: side.owes
#[test]
fn one_that_gave_way_and_is_dropped_leaves_nothing() {
    let (tx, rx) = with_receiver_due();
    let mut send = Hand::new(tx.send(1));
    assert!(gives_way(&mut send));
    drop(send);
    assert_eq!(rx.try_recv(), Ok(0));
    let mut receive = Hand::new(rx.recv());
    assert!(gives_way(&mut receive));
    drop(receive);
    tx.try_send(3).unwrap();
    assert_eq!(waiting(&tx), (0, 0));
    assert_eq!(rx.try_recv(), Ok(3));
}

// WITNESS: side.order
/// A receiver that waits is told, and not the one that gave way after it.
#[test]
fn nobody_is_overtaken_by_one_that_gives_way() {
    let (tx, rx) = bounded(1);
    let mut waits = Hand::waiting(rx.recv());
    tx.shared().sending.woken(true);
    let mut comes = Hand::new(rx.recv());
    assert!(step(&mut comes).is_pending());
    assert_eq!((comes.wakes(), waiting(&tx)), (0, (0, 2)));
    tx.try_send(0).unwrap();
    assert_eq!((waits.wakes(), comes.wakes()), (1, 0));
    assert_eq!(waits.ready(), Ok(0));

    tx.try_send(1).unwrap();
    let mut waits = Hand::waiting(tx.send(2));
    tx.shared().receiving.woken(true);
    let mut late = Hand::new(tx.send(3));
    assert!(step(&mut late).is_pending());
    assert_eq!((late.wakes(), waiting(&tx)), (0, (2, 0)));
    assert_eq!(comes.ready(), Ok(1));
    assert_eq!((waits.wakes(), late.wakes()), (1, 0));
    waits.ready().unwrap();
}

#[test]
fn nobody_gives_way_outside_a_poll_of_the_family() {
    let (tx, _rx) = with_receiver_due();
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!((send.wakes(), waiting(&tx)), (0, (1, 0)));
    assert!(send.poll().is_pending());
}

/// What sends, or receives, one message after another gives way once for each.
#[test]
fn row_of_messages_gives_way_for_each() {
    let (tx, mut rx) = bounded(1);
    let mut receive = Hand::waiting(rx.recv());
    let mut send = Hand::new(tx.send_many(0..3));
    assert!(gives_way(&mut send));
    assert_eq!(step(&mut receive), Poll::Ready(Ok(0)));
    drop(receive);
    let mut rest = Hand::new(poll_fn(|cx| Pin::new(&mut rx).poll_next(cx)));
    assert!(gives_way(&mut rest));
    assert!(gives_way(&mut send));
    assert_eq!(step(&mut rest), Poll::Ready(Some(1)));
    assert!(gives_way(&mut rest));
    assert_eq!(step(&mut send).map(Result::unwrap), Poll::Ready(3));
    assert_eq!(step(&mut rest), Poll::Ready(Some(2)));
}

/// One that was told and found nothing, for another took it, waits: it may have to pass that on.
#[test]
fn one_that_was_told_in_vain_waits() {
    let (tx, rx) = bounded(1);
    let mut told = Hand::waiting(rx.recv());
    tx.try_send(0).unwrap();
    assert_eq!(told.wakes(), 1);
    assert_eq!(rx.try_recv(), Ok(0));
    tx.shared().sending.woken(true);
    assert!(step(&mut told).is_pending());
    assert_eq!((told.wakes(), waiting(&tx)), (0, (0, 1)));
    tx.try_send(1).unwrap();
    assert_eq!(told.wakes(), 1);
    assert_eq!(told.ready(), Ok(1));
}
