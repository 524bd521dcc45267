use crate::channel::tests::kit::Hand;
use crate::channel::{self, Closed, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use mainspring_core::{budget, poll};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Polls with nothing left of the budget.
pub(super) fn poll_spent<F: Future>(hand: &mut Hand<F>) -> Poll<F::Output> {
    poll::root(|| {
        while !budget::is_spent() {
            budget::consume();
        }
        hand.poll()
    })
}

#[test]
fn send_is_done_when_a_polled_receive_has_taken_the_message() {
    let (tx, rx) = channel::rendezvous();
    let mut recv = Hand::waiting(rx.recv());
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!((recv.wakes(), send.wakes()), (1, 0));
    assert!(send.poll().is_pending(), "told is not received");
    assert_eq!(recv.ready(), Ok(1));
    assert_eq!(send.wakes(), 1);
    assert_eq!(send.ready(), Ok(()));
    assert_eq!(rx.waiting(), (0, 0));
}

#[test]
fn receive_takes_from_a_sender_that_waits() {
    let (tx, rx) = channel::rendezvous();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    let mut sends = [1, 2, 3].map(|number| Hand::waiting(tx.send(number)));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(Hand::new(rx.recv()).ready(), Ok(2));
    assert_eq!(rx.recv_blocking(), Ok(3));
    for send in &mut sends {
        assert_eq!(send.wakes(), 1);
        assert_eq!(send.ready(), Ok(()));
    }
}

/// B169: in the order of their first polls, whatever happens to those between.
#[test]
fn many_senders_are_served_in_order() {
    let (tx, rx) = channel::rendezvous();
    let mut sends: Vec<_> = (0..200).map(|n| Hand::waiting(tx.send(n))).collect();
    for send in sends.iter_mut().rev() {
        assert!(send.poll().is_pending(), "a poll moves nobody");
    }
    for gone in [199, 120, 0] {
        drop(sends.remove(gone));
    }
    let received: Vec<u32> = std::iter::from_fn(|| rx.try_recv().ok()).collect();
    let expected: Vec<u32> = (0..200).filter(|n| ![199, 120, 0].contains(n)).collect();
    assert_eq!(received, expected);
}

// WITNESS: meeting.pairs
/// S16: as many are woken as can meet.
#[test]
fn each_message_wakes_one_receiver_and_each_receive_one_sender() {
    let (tx, rx) = channel::rendezvous();
    let mut recvs: Vec<_> = (0..4).map(|_| Hand::waiting(rx.recv())).collect();
    let mut sends = Vec::new();
    for number in 0..2 {
        sends.push(Hand::waiting(tx.send(number)));
        let woken = recvs.iter().filter(|recv| recv.wakes() > 0).count();
        assert_eq!(woken, 1);
    }
    assert_eq!(recvs[0].ready(), Ok(0));
    let woken: Vec<_> = sends.iter().map(Hand::wakes).collect();
    assert_eq!(woken, [1, 0]);
    assert_eq!(rx.waiting(), (1, 2));
    // Those that were not told have nothing to find: they are behind.
    assert!(recvs[3].poll().is_pending());
    assert_eq!(recvs[1].ready(), Ok(1));
}

/// S1: a receiver that is dropped after it was told passes that on, while there is a message.
#[test]
fn dropped_receiver_passes_its_wake_on_if_there_is_a_message() {
    let (tx, rx) = channel::rendezvous();
    let mut recvs: Vec<_> = (0..3).map(|_| Hand::waiting(rx.recv())).collect();
    let send = Hand::waiting(tx.send(1));
    drop(recvs.remove(0));
    assert_eq!((recvs[0].wakes(), recvs[1].wakes()), (1, 0));
    drop(send);
    drop(recvs.remove(0));
    assert_eq!(recvs[0].wakes(), 0, "there is no message");
    let _send = Hand::waiting(tx.send(2));
    assert_eq!(recvs[0].wakes(), 1);
    assert_eq!(recvs[0].ready(), Ok(2));
}

/// A message that a newcomer took sends the one that was told for it back to its place.
#[test]
fn receiver_that_looked_in_vain_keeps_its_place() {
    let (tx, rx) = channel::rendezvous();
    let mut first = Hand::waiting(rx.recv());
    let mut second = Hand::waiting(rx.recv());
    let _sends = [1, 2].map(|number| Hand::waiting(tx.send(number)));
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
    assert!(second.poll().is_pending() && first.poll().is_pending());
    let _send = Hand::waiting(tx.send(3));
    first.wakes();
    assert_eq!(first.ready(), Ok(3));
}

/// S17, B166.
#[test]
fn future_that_is_polled_often_has_one_place() {
    let (tx, rx) = channel::rendezvous();
    let mut recvs = [Hand::waiting(rx.recv()), Hand::waiting(rx.recv())];
    for _ in 0..10_000 {
        for recv in &mut recvs {
            assert!(recv.poll().is_pending());
        }
        // They steal from each other, and a third one from both.
        let send = Hand::waiting(tx.send(1));
        assert_eq!(rx.try_recv(), Ok(1));
        drop(send);
    }
    recvs.iter_mut().for_each(|recv| {
        let _ = recv.poll();
    });
    assert_eq!(rx.waiting(), (0, 2));
    drop(recvs);
    let mut send = Hand::waiting(tx.send(1));
    for _ in 0..10_000 {
        assert!(send.poll().is_pending());
    }
    assert_eq!(rx.waiting(), (1, 0));
    assert_eq!(Arc::strong_count(&send.bell), 2, "and one waker");
}

/// S15.
#[test]
fn latest_waker_is_woken_and_the_others_are_let_go() {
    let (tx, rx) = channel::rendezvous();
    let mut send = Hand::waiting(tx.send(1));
    let old = std::mem::take(&mut send.bell);
    assert!(send.poll().is_pending());
    assert_eq!(Arc::strong_count(&old), 1);
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(send.wakes(), 1);
    let mut recv = Hand::waiting(rx.recv());
    let old = std::mem::take(&mut recv.bell);
    assert!(recv.poll().is_pending());
    assert_eq!(Arc::strong_count(&old), 1);
    let _send = Hand::waiting(tx.send(1));
    assert_eq!(recv.wakes(), 1);
}

/// S13.
#[test]
fn spent_budget_costs_nobody_the_place() {
    let (tx, rx) = channel::rendezvous();
    let mut first = Hand::new(rx.recv());
    assert!(poll_spent(&mut first).is_pending());
    assert_eq!(first.wakes(), 1, "it yields");
    assert_eq!(rx.waiting(), (0, 1));
    let mut second = Hand::waiting(rx.recv());
    let mut send = Hand::new(tx.send(1));
    assert!(poll_spent(&mut send).is_pending());
    let mut later = Hand::waiting(tx.send(2));
    assert_eq!((first.wakes(), second.wakes()), (1, 1));
    assert!(poll_spent(&mut first).is_pending(), "and keeps its offer");
    assert_eq!(first.ready(), Ok(1));
    assert!(poll_spent(&mut send).is_pending());
    assert_eq!(send.ready(), Ok(()));
    assert!(poll_spent(&mut second).is_pending());
    assert_eq!(second.ready(), Ok(2));
    later.ready().unwrap();
    // A newcomer that finds a message and may not take it loses nothing by not queueing.
    let _send = Hand::waiting(tx.send(3));
    let mut late = Hand::new(rx.recv());
    assert!(poll_spent(&mut late).is_pending());
    assert_eq!((late.wakes(), rx.waiting()), (1, (1, 0)));
    assert_eq!(late.ready(), Ok(3));
}

/// Futurelock: a task that holds a receive which was told, and polls another one.
#[test]
fn other_receive_of_the_same_task_takes_the_message() {
    let (tx, rx) = channel::rendezvous();
    let held = Hand::waiting(rx.recv());
    let mut other = Hand::new(rx.recv());
    let _stranger = Hand::waiting(rx.recv());
    other.bell = Arc::clone(&held.bell);
    assert!(other.poll().is_pending());
    let _send = Hand::waiting(tx.send(1));
    assert_eq!(other.ready(), Ok(1));
}

// WITNESS: meeting.seat
/// But not what was put into the hands of a blocked thread.
#[test]
fn other_receive_of_the_same_task_leaves_a_filled_seat_alone() {
    let (tx, rx) = channel::rendezvous();
    // Or it would be the oldest, and might look all the same.
    let mut older = Hand::waiting(rx.recv());
    let mut thread = Hand::waiting(rx.blocks());
    let mut other = Hand::new(rx.recv());
    other.bell = Arc::clone(&thread.bell);
    tx.try_send(1).unwrap();
    assert!(other.poll().is_pending());
    assert_eq!(thread.ready(), Ok(1));
    let _sends = [2, 3].map(|number| Hand::waiting(tx.send(number)));
    assert_eq!((older.ready(), other.ready()), (Ok(2), Ok(3)));
}

// WITNESS: meeting.once, letter.pinned
#[test]
fn message_is_taken_back_in_every_state_but_received() {
    let (tx, rx) = channel::rendezvous();
    let mut cx = Context::from_waker(Waker::noop());
    let mut fresh = pin!(tx.send(1));
    assert_eq!(fresh.as_mut().take(), Some(1));
    assert_eq!(fresh.as_mut().take(), None);
    let mut parked = Hand::waiting(tx.send(2));
    assert_eq!(parked.future.as_mut().take(), Some(2));
    assert_eq!(Arc::strong_count(&parked.bell), 1);
    assert_eq!(rx.waiting(), (0, 0));
    let mut taken = pin!(tx.send(3));
    assert!(taken.as_mut().poll(&mut cx).is_pending());
    assert_eq!(rx.try_recv(), Ok(3));
    assert_eq!(taken.as_mut().take(), None);
    assert_eq!(taken.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
    assert_eq!(taken.as_mut().take(), None);
    let mut refused = Hand::waiting(tx.send(4));
    rx.close();
    assert_eq!(refused.future.as_mut().take(), Some(4));
}

#[test]
#[should_panic = "MS0017: a `Send` was polled after its message was gone"]
fn send_that_is_polled_after_its_message_was_taken_back_panics() {
    let (tx, _rx) = channel::rendezvous();
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!(send.future.as_mut().take(), Some(1));
    let _ = send.poll();
}

/// A send whose message was received counts as sent, polled again or not; one whose was not drops
/// it.
#[test]
fn dropped_send_drops_its_message_unless_it_was_received() {
    let (tx, rx) = channel::rendezvous();
    let message = Rc::new(());
    let send = Hand::waiting(tx.send(Rc::clone(&message)));
    drop(send);
    assert_eq!(Rc::strong_count(&message), 1);
    let send = Hand::waiting(tx.send(Rc::clone(&message)));
    let received = rx.try_recv().unwrap();
    drop(send);
    assert_eq!(Rc::strong_count(&message), 2);
    drop(received);
    drop(Hand::new(tx.send(Rc::clone(&message))));
    assert_eq!(Rc::strong_count(&message), 1);
}

/// B172: a receive that is dropped in any state takes no message along.
#[test]
fn dropped_receive_takes_no_message() {
    let (tx, rx) = channel::rendezvous();
    drop(Hand::new(rx.recv()));
    drop(Hand::waiting(rx.recv()));
    let told = Hand::waiting(rx.recv());
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!(told.wakes(), 1);
    drop(told);
    assert!(send.poll().is_pending());
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn receiver_is_a_stream_that_can_be_moved() {
    let (tx, mut rx) = channel::rendezvous();
    let other = rx.clone();
    let bell = Hand::new(tx.send(0)).bell;
    let waker = Waker::from(Arc::clone(&bell));
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut rx).poll_next(&mut cx).is_pending());
    let mut rx = std::hint::black_box(rx);
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!(Pin::new(&mut rx).poll_next(&mut cx), Poll::Ready(Some(1)));
    send.ready().unwrap();
    assert!(!rx.is_terminated());
    // S1: a stream that was told and is dropped passes that on.
    assert!(Pin::new(&mut rx).poll_next(&mut cx).is_pending());
    let mut recv = Hand::waiting(other.recv());
    let _send = Hand::waiting(tx.send(2));
    assert_eq!(recv.wakes(), 0);
    drop(rx);
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Ok(2));
    let mut rx = other.clone();
    tx.close();
    assert_eq!(Pin::new(&mut rx).poll_next(&mut cx), Poll::Ready(None));
    assert!(rx.is_terminated());
}

#[test]
fn ends_are_counted_and_compared() {
    let (tx, rx) = channel::rendezvous::<u8>();
    let (other_tx, other_rx) = channel::rendezvous::<u8>();
    let weak = tx.downgrade();
    let second = weak.clone().upgrade().unwrap();
    assert!(tx.same_channel(&second) && !tx.same_channel(&other_tx));
    assert!(rx.same_channel(&rx.clone()) && !rx.same_channel(&other_rx));
    assert_eq!((tx.sender_count(), rx.receiver_count()), (2, 1));
    assert_eq!((rx.sender_count(), tx.receiver_count()), (2, 1));
    drop(tx);
    assert!(!rx.is_closed());
    drop(second);
    assert!(rx.is_closed() && weak.upgrade().is_none());
}

// WITNESS: meeting.closed, meeting.last
/// S7, S8, S10, B167, B170: the end tells all and gives all back, once and for good.
#[test]
fn end_gives_messages_back_and_tells_receivers() {
    for how in 0..3 {
        let (tx, rx) = channel::rendezvous();
        let message = Rc::new(());
        // More than are told in one batch.
        let mut sends: Vec<_> = (0..100)
            .map(|_| Hand::waiting(tx.send(Rc::clone(&message))))
            .collect();
        let mut closed = Hand::waiting(tx.closed());
        match how {
            0 => rx.close(),
            1 => tx.close(),
            _ => drop(rx.clone()),
        }
        if how == 2 {
            assert!(!tx.is_closed());
            drop(rx);
        } else {
            assert!(rx.try_recv().unwrap_err().is_closed());
            assert_eq!(Hand::new(rx.recv()).ready(), Err(Closed));
            rx.close();
        }
        assert_eq!((closed.wakes(), closed.poll()), (1, Poll::Ready(())));
        for send in &mut sends {
            assert_eq!(send.wakes(), 1);
            assert_eq!(Arc::strong_count(&send.bell), 1);
            assert!(matches!(send.ready(), Err(SendError(_))));
        }
        assert_eq!(Rc::strong_count(&message), 1);
        assert!(matches!(tx.try_send(message), Err(TrySendError::Closed(_))));
        let late = Hand::new(tx.send(Rc::default())).ready();
        assert!(late.is_err() && tx.send_blocking(Rc::default()).is_err());
        Hand::new(tx.closed()).ready();
    }
    let (tx, rx) = channel::rendezvous::<u8>();
    let mut recvs: Vec<_> = (0..100).map(|_| Hand::waiting(rx.recv())).collect();
    drop(tx);
    for recv in &mut recvs {
        assert_eq!((recv.wakes(), recv.ready()), (1, Err(Closed)));
    }
    assert_eq!(rx.recv_blocking(), Err(Closed));
    let over = rx.recv_timeout(Duration::ZERO);
    assert_eq!(over, Err(RecvTimeoutError::Closed));
}

/// A forgotten send keeps its place: its message is received, its node stays.
#[test]
fn message_of_a_forgotten_send_is_received() {
    let (tx, rx) = channel::rendezvous();
    Hand::waiting(tx.send(1)).forget();
    drop(tx);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "or comes back");
    let (tx, rx) = channel::rendezvous();
    Hand::waiting(tx.send(1)).forget();
    assert_eq!(rx.try_recv(), Ok(1));
    Hand::waiting(tx.send(2)).forget();
    drop(rx);
    assert_eq!(tx.receiver_count(), 0);
}
