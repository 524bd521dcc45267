//! The channel whose senders wait, and the four policies.

use super::support::{Counter, now, poll, poll_once};
use crate::broadcast::{RecvError, SendError, Sender, Slow, TryRecvError, TrySendError, lossless};
use futures_core::Stream;
use mainspring_core::budget;
use mainspring_core::poll::root;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

#[test]
fn send_waits_for_the_slowest_and_goes_on_when_it_has_read() {
    let (sender, mut slow) = lossless(2);
    let mut quick = sender.subscribe();
    for number in 0..2 {
        assert_eq!(now(sender.send(number)), Ok(()));
        assert_eq!(quick.try_recv(), Ok(number));
    }
    let (counter, waker) = Counter::new();
    let mut third = pin!(sender.send(2));
    assert!(poll(third.as_mut(), &waker).is_pending());
    assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
    assert_eq!(slow.try_recv(), Ok(0));
    assert_eq!(counter.calls(), 1);
    assert_eq!(poll(third, &waker), Poll::Ready(Ok(())));
    assert_eq!(slow.try_recv(), Ok(1));
    assert_eq!(slow.try_recv(), Ok(2));
    assert_eq!(quick.try_recv(), Ok(2));
}

// S16: one slot, one sender; in the order of arrival, and nobody passes
// WITNESS: broadcast.fifo
#[test]
fn each_slot_freed_wakes_one_sender_in_order() {
    let (sender, mut receiver) = lossless(1);
    sender.try_send(0).unwrap();
    let counters = [(); 3].map(|()| Counter::new());
    let mut sends = [1, 2, 3].map(|number| Box::pin(sender.send(number)));
    for (send, (_, waker)) in sends.iter_mut().zip(&counters) {
        assert!(poll(send.as_mut(), waker).is_pending());
    }
    let calls = || counters.each_ref().map(|(counter, _)| counter.calls());
    assert_eq!(receiver.try_recv(), Ok(0));
    assert_eq!(calls(), [1, 0, 0]);
    // Room was set aside: neither a newcomer nor the second in the queue gets it.
    assert!(sender.try_send(9).is_err_and(|error| error.is_full()));
    assert!(poll_once(pin!(sender.reserve())).is_pending());
    assert!(poll(sends[1].as_mut(), &counters[1].1).is_pending());
    for at in 0..3 {
        assert_eq!(
            poll(sends[at].as_mut(), &counters[at].1),
            Poll::Ready(Ok(()))
        );
        assert_eq!(receiver.try_recv(), Ok(at + 1));
    }
    assert_eq!(calls(), [1, 1, 1]);
}

// S1: a sender dropped with room set aside for it hands that on
#[test]
fn sender_dropped_when_offered_hands_the_room_on() {
    let (sender, mut receiver) = lossless(1);
    sender.try_send(0).unwrap();
    let (counter, waker) = Counter::new();
    let mut first = Box::pin(sender.send(1));
    let mut second = Box::pin(sender.send(2));
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll(second.as_mut(), &waker).is_pending());
    assert_eq!(receiver.try_recv(), Ok(0));
    assert_eq!(counter.calls(), 0);
    assert_eq!(first.as_mut().take(), Some(1));
    assert_eq!(counter.calls(), 1);
    assert_eq!(first.as_mut().take(), None);
    drop(first);
    assert_eq!(poll(second.as_mut(), &waker), Poll::Ready(Ok(())));
    assert_eq!(second.as_mut().take(), None);
    assert_eq!(receiver.try_recv(), Ok(2));
}

// S1, S2: the same when the waiting future is dropped, and for a permit
#[test]
fn permit_dropped_hands_the_room_on() {
    let (sender, mut receiver) = lossless(1);
    let permit = now(sender.reserve()).unwrap();
    let (counter, waker) = Counter::new();
    let mut first = Box::pin(sender.reserve());
    let mut second = Box::pin(sender.send(2));
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll(second.as_mut(), &waker).is_pending());
    drop(permit);
    assert_eq!(counter.calls(), 0);
    drop(first);
    assert_eq!(counter.calls(), 1);
    assert_eq!(poll(second.as_mut(), &waker), Poll::Ready(Ok(())));
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn permits_count_as_room_taken() {
    let (sender, mut receiver) = lossless(2);
    let permit = now(sender.reserve()).unwrap();
    sender.try_send(1).unwrap();
    assert!(sender.try_send(9).is_err_and(|error| error.is_full()));
    assert_eq!((sender.len(), receiver.len()), (1, 1));
    permit.send(2).unwrap();
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

// S8; B154, B155: Closed comes after the last permit, used or not
#[test]
fn receiver_is_told_closed_when_no_permit_is_out() {
    let (sender, mut receiver) = lossless(2);
    let used = now(sender.reserve()).unwrap();
    let unused = now(sender.reserve()).unwrap();
    sender.close();
    assert_eq!(sender.try_send(9), Err(TrySendError::Closed(9)));
    assert!(now(sender.reserve()).is_err_and(|error| error.is_closed()));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    let (counter, waker) = Counter::new();
    let mut waits = Box::pin(receiver.recv());
    assert!(poll(waits.as_mut(), &waker).is_pending());
    used.send(1).unwrap();
    assert_eq!(counter.calls(), 1);
    assert_eq!(poll(waits.as_mut(), &waker), Poll::Ready(Ok(1)));
    drop(waits);
    let mut waits = Box::pin(receiver.recv());
    assert!(poll(waits.as_mut(), &waker).is_pending());
    drop(unused);
    assert_eq!(counter.calls(), 2);
    assert_eq!(
        poll(waits.as_mut(), &waker),
        Poll::Ready(Err(RecvError::Closed))
    );
}

// B154: the value of a permit that comes too late is the sender's again
#[test]
fn permit_without_receivers_gives_the_message_back() {
    let (sender, receiver) = lossless(1);
    let permit = now(sender.reserve()).unwrap();
    drop(receiver);
    assert_eq!(permit.send(1), Err(SendError::NoReceivers(1)));
    let mut receiver = sender.subscribe();
    sender.try_send(2).unwrap();
    assert_eq!(receiver.try_recv(), Ok(2));
}

// S7, S16: close wakes all, and what was offered before is void
// WITNESS: broadcast.once
#[test]
fn close_gives_all_waiting_messages_back() {
    let (sender, mut receiver) = lossless(1);
    sender.try_send(0).unwrap();
    let counters = [(); 3].map(|()| Counter::new());
    let mut sends = [1, 2, 3].map(|number| Box::pin(sender.send(number)));
    for (send, (_, waker)) in sends.iter_mut().zip(&counters) {
        assert!(poll(send.as_mut(), waker).is_pending());
    }
    assert_eq!(receiver.try_recv(), Ok(0));
    sender.close();
    assert!(counters.iter().all(|(counter, _)| counter.calls() == 1));
    // An offer that nobody may ever look at keeps no receiver waiting.
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    for (number, (send, (_, waker))) in (1..).zip(sends.iter_mut().zip(&counters)) {
        let refused = SendError::Closed(number);
        assert_eq!(poll(send.as_mut(), waker), Poll::Ready(Err(refused)));
    }
}

// B175: senders wait while the last receiver leaves
// WITNESS: broadcast.flags
#[test]
fn last_receiver_gives_all_waiting_messages_back() {
    let (sender, receiver) = lossless(1);
    sender.try_send(0).unwrap();
    let (counter, waker) = Counter::new();
    let mut sends = [1, 2].map(|number| Box::pin(sender.send(number)));
    for send in &mut sends {
        assert!(poll(send.as_mut(), &waker).is_pending());
    }
    drop(receiver);
    assert_eq!(counter.calls(), 2);
    for (number, send) in (1..).zip(&mut sends) {
        let refused = SendError::NoReceivers(number);
        assert_eq!(poll(send.as_mut(), &waker), Poll::Ready(Err(refused)));
    }
    let mut receiver = sender.subscribe();
    sender.try_send(3).unwrap();
    assert_eq!(receiver.try_recv(), Ok(3));
}

#[test]
fn receiver_that_leaves_frees_as_many_senders_as_it_held_slots() {
    let (sender, mut quick) = lossless(3);
    let slow = sender.subscribe();
    for number in 0..3 {
        sender.try_send(number).unwrap();
    }
    assert_eq!(quick.try_recv(), Ok(0));
    assert_eq!(quick.try_recv(), Ok(1));
    let counters = [(); 3].map(|()| Counter::new());
    let mut sends = [3, 4, 5].map(|number| Box::pin(sender.send(number)));
    for (send, (_, waker)) in sends.iter_mut().zip(&counters) {
        assert!(poll(send.as_mut(), waker).is_pending());
    }
    drop(slow);
    // `quick` still holds one slot.
    assert_eq!(
        counters.each_ref().map(|(counter, _)| counter.calls()),
        [1, 1, 0]
    );
}

#[test]
fn lag_is_overtaken_while_wait_is_waited_for() {
    let (sender, mut held) = lossless(2);
    let mut lags = sender.subscribe_with(Slow::Lag);
    for number in 0..5 {
        sender.try_send(number).unwrap();
        assert_eq!(held.try_recv(), Ok(number));
    }
    assert_eq!(lags.try_recv(), Err(TryRecvError::Lagged(3)));
    assert_eq!(lags.try_recv(), Ok(3));
    sender.try_send(5).unwrap();
    sender.try_send(6).unwrap();
    // Held back by the one, the other loses no more.
    assert!(sender.try_send(7).is_err_and(|error| error.is_full()));
    assert_eq!(lags.try_recv(), Err(TryRecvError::Lagged(1)));
    assert_eq!(lags.try_recv(), Ok(5));
}

#[test]
fn disconnect_cuts_the_one_that_would_hold_back() {
    let (sender, mut held) = lossless(2);
    let mut cut = sender.subscribe_with(Slow::Disconnect);
    let mut kept = sender.subscribe_with(Slow::Disconnect);
    for number in 0..3 {
        sender.try_send(number).unwrap();
        assert_eq!(held.try_recv(), Ok(number));
        assert_eq!(kept.try_recv(), Ok(number));
    }
    assert_eq!(sender.receiver_count(), 2);
    assert_eq!(cut.len(), 0);
    let mut copy = cut.clone();
    for receiver in [&mut cut, &mut copy] {
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(now(receiver.recv()), Err(RecvError::Disconnected));
    }
    let mut again = cut.resubscribe();
    drop((cut, copy));
    assert_eq!(sender.receiver_count(), 3);
    sender.try_send(3).unwrap();
    assert_eq!(again.try_recv(), Ok(3));
    assert_eq!(kept.try_recv(), Ok(3));
}

#[test]
fn message_that_cuts_the_last_receiver_comes_back() {
    let sender = Sender::new(1);
    let mut only = sender.subscribe_with(Slow::Disconnect);
    let message = Arc::new(1);
    sender.try_send(Arc::clone(&message)).unwrap();
    let back = sender.try_send(Arc::new(2)).unwrap_err();
    assert!(!back.is_closed() && !back.is_full());
    assert_eq!(Arc::strong_count(&message), 1);
    assert!(sender.is_closed());
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut stream = Pin::new(&mut only);
    let last = stream.as_mut().poll_next(&mut cx);
    assert_eq!(last, Poll::Ready(Some(Err(RecvError::Disconnected))));
    assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(None));
}

#[test]
fn latest_sees_the_newest_and_keeps_nothing_else() {
    let sender = Sender::new(4);
    let mut latest = sender.subscribe_with(Slow::Latest);
    let messages = [1, 2, 3].map(Arc::new);
    for message in &messages {
        sender.try_send(Arc::clone(message)).unwrap();
    }
    assert_eq!(messages.each_ref().map(Arc::strong_count), [1, 1, 2]);
    assert_eq!((latest.len(), sender.len()), (1, 1));
    let copy = latest.clone();
    assert_eq!(latest.try_recv().as_deref(), Ok(&3));
    assert_eq!(latest.try_recv(), Err(TryRecvError::Empty));
    drop(copy);
    assert_eq!(Arc::strong_count(&messages[2]), 1);
    // It never holds anybody back.
    for _ in 0..10 {
        now(sender.send(Arc::new(4))).unwrap();
    }
    assert_eq!(latest.try_recv().as_deref(), Ok(&4));
}

// S13: a spent budget costs a turn, not the place
#[test]
fn sender_with_a_spent_budget_keeps_its_place() {
    let (sender, mut receiver) = lossless(1);
    let (first_counter, first_waker) = Counter::new();
    let mut first = pin!(sender.send(1));
    root(|| {
        while !budget::is_spent() {
            budget::consume();
        }
        assert!(poll(first.as_mut(), &first_waker).is_pending());
        assert!(poll(first.as_mut(), &first_waker).is_pending());
    });
    assert_eq!(first_counter.calls(), 2);
    // There is room, but somebody is in front.
    let (second_counter, second_waker) = Counter::new();
    let mut second = pin!(sender.reserve());
    assert!(poll(second.as_mut(), &second_waker).is_pending());
    assert!(sender.try_send(9).is_err_and(|error| error.is_full()));
    assert_eq!(poll(first, &first_waker), Poll::Ready(Ok(())));
    assert_eq!(second_counter.calls(), 0);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(second_counter.calls(), 1);
    let Poll::Ready(Ok(permit)) = poll(second, &second_waker) else {
        panic!("room was set aside for it");
    };
    permit.send(2).unwrap();
}

// S13: nor does it keep those behind it when it gives up
#[test]
fn sender_with_a_spent_budget_that_gives_up_lets_the_others_in() {
    let (sender, _receiver) = lossless(2);
    let mut first = Box::pin(sender.send(1));
    root(|| {
        while !budget::is_spent() {
            budget::consume();
        }
        assert!(poll_once(first.as_mut()).is_pending());
    });
    let counters = [(); 3].map(|()| Counter::new());
    let mut sends = [2, 3, 4].map(|number| Box::pin(sender.send(number)));
    for (send, (_, waker)) in sends.iter_mut().zip(&counters) {
        assert!(poll(send.as_mut(), waker).is_pending());
    }
    drop(first);
    assert_eq!(
        counters.each_ref().map(|(counter, _)| counter.calls()),
        [1, 1, 0]
    );
}

// The budget of a receiver: it asks for a turn, and has lost nothing.
#[test]
fn receiver_with_a_spent_budget_yields() {
    let (sender, mut receiver) = lossless(1);
    sender.try_send(1).unwrap();
    let (counter, waker) = Counter::new();
    let mut receive = pin!(receiver.recv());
    root(|| {
        while !budget::is_spent() {
            budget::consume();
        }
        assert!(poll(receive.as_mut(), &waker).is_pending());
    });
    assert_eq!(counter.calls(), 1);
    assert_eq!(poll(receive, &waker), Poll::Ready(Ok(1)));
}

// B133: a send that its task no longer polls keeps no other of that task out
#[test]
fn offer_that_the_task_does_not_poll_is_taken_by_its_other_send() {
    let (sender, mut receiver) = lossless(1);
    sender.try_send(0).unwrap();
    let (_, waker) = Counter::new();
    let mut kept = pin!(sender.send(1));
    assert!(poll(kept.as_mut(), &waker).is_pending());
    assert_eq!(receiver.try_recv(), Ok(0));
    assert_eq!(poll(pin!(sender.send(2)), &waker), Poll::Ready(Ok(())));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(poll(kept, &waker), Poll::Ready(Ok(())));
    assert_eq!(receiver.try_recv(), Ok(1));
}

#[test]
fn threads_wait_for_each_other() {
    let (sender, receiver) = lossless(1);
    let receivers = vec![receiver; 2];
    let readers = receivers.into_iter().map(|mut receiver| {
        thread::spawn(move || {
            let mut seen = Vec::new();
            while let Ok(number) = receiver.recv_blocking() {
                seen.push(number);
            }
            seen
        })
    });
    let readers: Vec<_> = readers.collect();
    let second = sender.clone();
    let writer = thread::spawn(move || {
        for number in 0..200 {
            second.send_blocking(number).unwrap();
        }
    });
    writer.join().unwrap();
    drop(sender);
    let expected: Vec<_> = (0..200).collect();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), expected);
    }
}

#[test]
fn send_with_a_limit_gives_the_message_back() {
    let (sender, mut receiver) = lossless(1);
    let limit = Duration::ZERO;
    assert_eq!(sender.send_timeout(1, limit), Ok(()));
    assert_eq!(sender.send_timeout(2, limit), Err(TrySendError::Full(2)));
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(sender.send_timeout(3, limit), Ok(()));
    sender.close();
    assert_eq!(sender.send_timeout(4, limit), Err(TrySendError::Closed(4)));
    assert_eq!(sender.send_blocking(5), Err(SendError::Closed(5)));
}

#[test]
#[should_panic(expected = "MS0017: a `Send` was polled after its message was gone")]
fn send_polled_after_it_was_ready_panics() {
    let (sender, _receiver) = lossless(2);
    let mut send = pin!(sender.send(1));
    assert_eq!(poll_once(send.as_mut()), Poll::Ready(Ok(())));
    let _ = poll_once(send.as_mut());
}
