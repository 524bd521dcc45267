//! Waiting, waking and giving up, one step at a time.

use super::kit::Hand;
use crate::channel::{
    RecvTimeoutError, SendTimeoutError, TryRecvError, TryReserveError, TrySendError, bounded,
};
use futures_core::Stream;
use mainspring_core::{budget, poll};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// S19.
#[test]
#[should_panic(expected = "MS0016: a channel of capacity 0")]
fn capacity_of_nothing_is_refused() {
    let _ = bounded::<u8>(0);
}

// WITNESS: channel.notes, channel.waits
/// S16: as many receivers are woken as there are messages, oldest first.
#[test]
fn each_message_wakes_one_receiver() {
    let (tx, rx) = bounded(4);
    let mut waiting: Vec<_> = (0..3).map(|_| Hand::waiting(rx.recv())).collect();
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let wakes: Vec<_> = waiting.iter().map(Hand::wakes).collect();
    assert_eq!(wakes, [1, 1, 0]);
    assert_eq!(waiting[1].ready(), Ok(1));
    assert_eq!(waiting[0].ready(), Ok(2));
    assert!(waiting[2].poll().is_pending());
    tx.try_send(3).unwrap();
    assert_eq!(waiting[2].wakes(), 1);
    assert_eq!(waiting[2].ready(), Ok(3));
}

// WITNESS: channel.room
/// S16: no more senders are woken than there are places, and in the order of their coming.
#[test]
fn each_place_wakes_one_sender() {
    let (tx, rx) = bounded(2);
    tx.try_send(0).unwrap();
    tx.try_send(1).unwrap();
    let mut waiting: Vec<_> = (2..5).map(|n| Hand::waiting(tx.send(n))).collect();
    assert_eq!(rx.try_recv(), Ok(0));
    let wakes: Vec<_> = waiting.iter().map(Hand::wakes).collect();
    assert_eq!(wakes, [1, 0, 0]);
    // One that was not woken finds no room either, though it is polled first.
    assert!(waiting[1].poll().is_pending());
    waiting[0].ready().unwrap();
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(rx.recv_blocking(), Ok(2));
    let wakes: Vec<_> = waiting.iter().map(Hand::wakes).collect();
    assert_eq!(wakes, [0, 1, 1]);
    waiting[1].ready().unwrap();
    waiting[2].ready().unwrap();
    assert_eq!(rx.drain().collect::<Vec<_>>(), [3, 4]);
}

// WITNESS: pull.pinned
/// S1, B172, row 33: nothing is lost with a receiver that is dropped after it was woken.
#[test]
fn dropped_receiver_passes_its_wake_on() {
    let (tx, rx) = bounded(2);
    let first = Hand::waiting(rx.recv());
    let mut second = Hand::waiting(rx.recv());
    tx.try_send(7).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    drop(first);
    assert_eq!(second.wakes(), 1);
    assert_eq!(second.ready(), Ok(7));
}

// WITNESS: ask.pinned, ask.holds
/// S1, S2: room that was granted to a send that is dropped goes to the next, or is room again.
#[test]
fn dropped_sender_passes_its_room_on() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let first = Hand::waiting(tx.send(1));
    let mut second = Hand::waiting(tx.reserve());
    let third = Hand::waiting(tx.send(3));
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!((first.wakes(), second.wakes(), third.wakes()), (1, 0, 0));
    drop(first);
    assert_eq!((second.wakes(), third.wakes()), (1, 0));
    drop(second.ready().unwrap());
    assert_eq!(third.wakes(), 1);
    drop(third);
    tx.try_send(4).unwrap();
    assert_eq!(rx.try_recv(), Ok(4));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

/// Senders are served in turn, also against newcomers; B169.
#[test]
fn newcomer_does_not_overtake_a_sender_that_waits() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let mut waits = Hand::waiting(tx.send(1));
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(tx.try_reserve().unwrap_err(), TryReserveError::Full);
    let mut newcomer = Hand::waiting(tx.send(3));
    waits.ready().unwrap();
    assert!(newcomer.poll().is_pending());
    assert_eq!(rx.try_recv(), Ok(1));
    newcomer.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(3));
    tx.try_send(4).unwrap();
}

/// S17, B166, row 32: however often it is polled, a future has one place in the queue.
#[test]
fn future_polled_over_and_over_waits_once() {
    let (tx, rx) = bounded(1);
    {
        let mut first = Hand::waiting(rx.recv());
        let mut second = Hand::waiting(rx.recv());
        for _ in 0..10_000 {
            assert!(first.poll().is_pending());
            assert!(second.poll().is_pending());
        }
        assert_eq!(rx.shared().waiting(), (0, 2));
    }
    assert_eq!(rx.shared().waiting(), (0, 0));
    tx.try_send(0).unwrap();
    {
        let mut send = Hand::waiting(tx.send(1));
        for _ in 0..10_000 {
            assert!(send.poll().is_pending());
        }
        assert_eq!(rx.shared().waiting(), (1, 0));
    }
    assert_eq!(rx.shared().waiting(), (0, 0));
}

/// S15: the waker of the last poll is the one that is woken.
#[test]
fn latest_waker_is_woken() {
    let (tx, rx) = bounded(1);
    let mut recv = Hand::waiting(rx.recv());
    let old = std::mem::take(&mut recv.bell);
    assert!(recv.poll().is_pending());
    tx.try_send(1).unwrap();
    assert_eq!(recv.wakes(), 1);
    assert_eq!(Arc::strong_count(&old), 1, "the old waker is gone");
    assert_eq!(recv.ready(), Ok(1));
}

/// B133: room granted to a future that its task does not poll goes to the one that it does.
#[test]
fn task_gets_what_was_granted_to_its_other_future() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let mut unpolled = Hand::waiting(tx.send(1));
    let mut polled = Hand::new(tx.send(2));
    polled.bell = Arc::clone(&unpolled.bell);
    assert!(polled.poll().is_pending());
    assert_eq!(rx.try_recv(), Ok(0));
    polled.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
    unpolled.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn message_of_a_send_that_waits_comes_back() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!(send.future.as_mut().take(), Some(1));
    assert_eq!(send.future.as_mut().take(), None);
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(send.wakes(), 0, "it has left the queue");
    tx.try_send(2).unwrap();
    // With room already granted to it: the room goes back.
    let mut send = Hand::waiting(tx.send(3));
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(send.future.as_mut().take(), Some(3));
    tx.try_send(4).unwrap();
}

/// S13: a sender whose budget is spent keeps its turn.
#[test]
fn spent_budget_does_not_cost_a_sender_its_turn() {
    let (tx, rx) = bounded(1);
    let mut first = Hand::new(tx.send(1));
    poll::root(|| {
        for _ in 0..poll::BUDGET_UNITS {
            budget::consume();
        }
        assert!(first.poll().is_pending());
    });
    assert_eq!(first.wakes(), 1, "it asked to be polled again");
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    poll::root(|| first.ready().unwrap());
    assert_eq!(rx.try_recv(), Ok(1));
    // And gives it up when it is dropped.
    let mut first = Hand::new(tx.reserve());
    poll::root(|| {
        for _ in 0..poll::BUDGET_UNITS {
            budget::consume();
        }
        assert!(first.poll().is_pending());
    });
    drop(first);
    tx.try_send(3).unwrap();
}

#[test]
fn task_that_never_waits_yields_when_its_budget_is_spent() {
    let (tx, rx) = bounded(1_000);
    let sent = poll::root(|| {
        (0..)
            .take_while(|n| Hand::new(tx.send(*n)).poll().is_ready())
            .count()
    });
    assert_eq!(sent, poll::BUDGET_UNITS as usize);
    let received = poll::root(|| {
        (0..)
            .take_while(|_| Hand::new(rx.recv()).poll().is_ready())
            .count()
    });
    assert_eq!(received, poll::BUDGET_UNITS as usize);
}

#[test]
fn permit_holds_its_room_and_no_place_in_the_row() {
    let (tx, rx) = bounded(2);
    let permit = tx.try_reserve().unwrap();
    tx.try_send(1).unwrap();
    assert!(tx.is_full() && rx.is_full());
    assert_eq!((tx.len(), rx.len()), (1, 1));
    assert_eq!(rx.try_recv(), Ok(1));
    permit.send(2).unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
    let owned = tx.clone().try_reserve_owned().unwrap();
    assert_eq!(tx.sender_count(), 2);
    let back = owned.send(3).unwrap();
    let mut reserve = Hand::new(back.reserve_owned());
    let owned = reserve.ready().unwrap();
    let (back, why) = tx.clone().try_reserve_owned().unwrap_err();
    assert!(why.is_full());
    drop(back);
    drop(owned.release());
    drop(reserve);
    assert_eq!(tx.sender_count(), 1);
    assert_eq!(rx.try_recv(), Ok(3));
}

/// B173.
#[test]
fn many_are_sent_as_there_is_room_and_the_rest_comes_back() {
    let (tx, rx) = bounded(2);
    let mut many = Hand::waiting(tx.send_many(0..5));
    assert_eq!(many.future.sent(), 2);
    assert_eq!(rx.try_recv(), Ok(0));
    assert!(many.poll().is_pending());
    let unsent = many.future.as_mut().take().unwrap();
    assert_eq!(unsent.collect::<Vec<_>>(), [3, 4]);
    assert_eq!(rx.drain().collect::<Vec<_>>(), [1, 2]);
    let mut many = Hand::waiting(tx.send_many(0..5));
    assert_eq!(rx.try_recv(), Ok(0));
    rx.close();
    let error = many.ready().unwrap_err();
    assert_eq!(error.sent, 2);
    assert_eq!(error.unsent.collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(Hand::new(tx.send_many([0; 0])).ready().unwrap(), 0);
    assert_eq!(rx.drain().collect::<Vec<_>>(), [1]);
}

#[test]
fn many_are_received_behind_what_is_in_the_buffer() {
    let (tx, rx) = bounded(4);
    let mut buffer = vec![9];
    assert_eq!(Hand::new(rx.recv_many(&mut buffer, 0)).ready(), Ok(0));
    {
        let mut many = Hand::waiting(rx.recv_many(&mut buffer, 3));
        for n in 0..4 {
            tx.try_send(n).unwrap();
        }
        assert_eq!(many.ready(), Ok(3));
    }
    assert_eq!(buffer, [9, 0, 1, 2]);
    // Room for as many senders as messages were taken.
    for n in 4..7 {
        tx.try_send(n).unwrap();
    }
    let mut waiting: Vec<_> = (7..12).map(|n| Hand::waiting(tx.send(n))).collect();
    assert_eq!(Hand::new(rx.recv_many(&mut buffer, 100)).ready(), Ok(4));
    let woken = waiting.iter().filter(|send| send.wakes() == 1).count();
    assert_eq!(woken, 4);
    for send in &mut waiting[..4] {
        send.ready().unwrap();
    }
    assert_eq!(rx.drain().count(), 4);
}

#[test]
fn forced_message_replaces_the_oldest_and_waiting_senders_wait_on() {
    let (tx, rx) = bounded(2);
    assert_eq!(tx.force_send(0), Ok(None));
    assert_eq!(tx.force_send(1), Ok(None));
    let mut waits = Hand::waiting(tx.send(9));
    assert_eq!(tx.force_send(2), Ok(Some(0)));
    assert_eq!(tx.force_send(3), Ok(Some(1)));
    assert!(waits.poll().is_pending());
    assert_eq!(rx.try_recv(), Ok(2));
    waits.ready().unwrap();
    assert_eq!(rx.drain().collect::<Vec<_>>(), [3, 9]);
    // All room is held: there is no message to replace.
    let permits = [tx.try_reserve().unwrap(), tx.try_reserve().unwrap()];
    assert_eq!(tx.force_send(4), Err(TrySendError::Full(4)));
    drop(permits);
    let mut recv = Hand::waiting(rx.recv());
    assert_eq!(tx.force_send(5), Ok(None));
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Ok(5));
    rx.close();
    assert_eq!(tx.force_send(6), Err(TrySendError::Closed(6)));
}

// WITNESS: channel.room
/// Room that was granted to senders that have not come for it is no reason to refuse.
#[test]
fn forced_message_takes_room_that_was_granted_and_not_fetched() {
    for capacity in [1, 4] {
        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|n| tx.try_send(n).unwrap());
        let waiting = |n| Hand::waiting(tx.send(10 + n));
        let mut waits: Vec<_> = (0..capacity).map(waiting).collect();
        assert_eq!(rx.drain().count(), capacity);
        assert_eq!(tx.force_send(99), Ok(None));
        // The last one was to have it, and is the first to get what comes.
        let mut last = waits.pop().unwrap();
        waits.iter_mut().for_each(|send| send.ready().unwrap());
        assert!(last.poll().is_pending());
        assert_eq!(last.wakes(), 1);
        assert_eq!(rx.try_recv(), Ok(99));
        assert_eq!(last.wakes(), 1);
        last.ready().unwrap();
        let rest: Vec<_> = (10..10 + capacity).collect();
        assert_eq!(rx.drain().collect::<Vec<_>>(), rest);
        assert!(tx.is_empty() && !tx.is_full());
    }
}

#[test]
fn stream_keeps_its_place_and_passes_its_wake_on() {
    let (tx, rx) = bounded(2);
    let mut stream = rx.clone();
    let bell = Arc::new(super::kit::Bell::default());
    let waker = Waker::from(bell);
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut stream).poll_next(&mut cx).is_pending());
    // Moved while it waits.
    let mut moved = Box::new(stream);
    tx.try_send(1).unwrap();
    assert_eq!(
        Pin::new(&mut *moved).poll_next(&mut cx),
        Poll::Ready(Some(1))
    );
    assert!(Pin::new(&mut *moved).poll_next(&mut cx).is_pending());
    let mut recv = Hand::waiting(rx.recv());
    tx.try_send(2).unwrap();
    assert_eq!(recv.wakes(), 0);
    drop(moved);
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Ok(2));
    let mut stream = rx.clone();
    drop(tx);
    assert_eq!(Pin::new(&mut stream).poll_next(&mut cx), Poll::Ready(None));
    assert_eq!(Pin::new(&mut stream).poll_next(&mut cx), Poll::Ready(None));
}

#[test]
fn limits_pass_and_hand_the_message_back() {
    let (tx, rx) = bounded(1);
    let limit = Duration::from_millis(1);
    assert_eq!(rx.recv_timeout(limit), Err(RecvTimeoutError::Timeout));
    tx.send_timeout(1, limit).unwrap();
    assert_eq!(tx.send_timeout(2, limit), Err(SendTimeoutError::Timeout(2)));
    assert_eq!(rx.shared().waiting(), (0, 0));
    assert_eq!(rx.recv_timeout(limit), Ok(1));
    rx.close();
    assert_eq!(rx.recv_timeout(limit), Err(RecvTimeoutError::Closed));
    assert_eq!(tx.send_timeout(3, limit), Err(SendTimeoutError::Closed(3)));
    assert_eq!(tx.send_blocking(4).unwrap_err().into_inner(), 4);
}

#[test]
#[should_panic(expected = "MS0013")]
fn blocking_in_a_task_is_refused_also_when_there_is_a_message() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    poll::root(|| rx.recv_blocking()).unwrap();
}

#[test]
fn ends_know_each_other() {
    let (tx, rx) = bounded::<u8>(3);
    let (other, _) = bounded::<u8>(3);
    assert!(tx.same_channel(&tx.clone()) && !tx.same_channel(&other));
    assert!(rx.same_channel(&rx.clone()));
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
    assert_eq!((tx.capacity(), rx.capacity()), (Some(3), Some(3)));
    assert!(tx.is_empty() && rx.is_empty());
    let weak = tx.downgrade();
    let strong = weak.upgrade().unwrap();
    assert_eq!(rx.sender_count(), 2);
    drop((tx, strong));
    assert!(weak.upgrade().is_none());
    assert!(weak.clone().upgrade().is_none());
    assert!(rx.is_closed() && rx.try_recv().unwrap_err().is_closed());
    assert!(format!("{weak:?} {rx:?}").contains("closed: true"));
}
