//! The channel that never waits, and what both kinds share.

use super::support::{Counter, now, poll, poll_once};
use crate::broadcast::{LossySender, RecvError, SendError, TryRecvError, lossy};
use futures_core::{FusedStream, Stream};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

#[test]
fn every_receiver_gets_every_message() {
    let (sender, mut first) = lossy(4);
    let mut second = sender.subscribe();
    for number in 0..3 {
        sender.send(number).unwrap();
    }
    assert_eq!((first.len(), second.len(), sender.len()), (3, 3, 3));
    for number in 0..3 {
        assert_eq!(now(first.recv()), Ok(number));
        assert_eq!(second.try_recv(), Ok(number));
    }
    assert!(first.is_empty() && sender.is_empty());
    assert_eq!(first.try_recv(), Err(TryRecvError::Empty));
}

// B175: the count of lost messages, across the wrap of the positions
#[test]
fn overtaken_receiver_is_told_once_and_goes_on_at_the_oldest() {
    let (sender, mut slow) = lossy(2);
    let mut quick = sender.subscribe();
    for number in 0..100 {
        sender.send(number).unwrap();
        assert_eq!(quick.try_recv(), Ok(number));
    }
    assert_eq!(slow.len(), 2);
    assert_eq!(now(slow.recv()), Err(RecvError::Lagged(98)));
    assert_eq!(now(slow.recv()), Ok(98));
    sender.send(100).unwrap();
    sender.send(101).unwrap();
    assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(1)));
    assert_eq!(slow.try_recv(), Ok(100));
    assert_eq!(slow.try_recv(), Ok(101));
    assert_eq!(slow.try_recv(), Err(TryRecvError::Empty));
}

// S7; B175: a channel of one slot, closed, has nowhere to put a mark but over its message
#[test]
fn close_leaves_the_only_slot_alone() {
    let (sender, mut receiver) = lossy(1);
    sender.send('a').unwrap();
    sender.close();
    assert!(sender.is_closed() && receiver.is_closed());
    assert_eq!(sender.send('b'), Err(SendError::Closed('b')));
    assert_eq!(now(receiver.recv()), Ok('a'));
    assert_eq!(now(receiver.recv()), Err(RecvError::Closed));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
}

// B175: tokio#4867, a receiver of a channel that was closed hangs
#[test]
fn receiver_subscribed_after_close_sees_closed() {
    let (sender, mut old) = lossy(2);
    sender.send(1).unwrap();
    sender.close();
    let mut new = sender.subscribe();
    let mut newest = old.resubscribe();
    assert_eq!(now(new.recv()), Err(RecvError::Closed));
    assert_eq!(now(newest.recv()), Err(RecvError::Closed));
    assert_eq!(now(old.recv()), Ok(1));
    drop((old, new, newest));
    // Still closed, not merely without receivers.
    assert_eq!(sender.send(2), Err(SendError::Closed(2)));
}

#[test]
fn last_sender_closes_and_the_others_do_not() {
    let (sender, mut receiver) = lossy(2);
    let other = sender.clone();
    assert!(sender.same_channel(&other));
    drop(sender);
    other.send(1).unwrap();
    drop(other);
    assert_eq!(now(receiver.recv()), Ok(1));
    assert_eq!(now(receiver.recv()), Err(RecvError::Closed));
}

// B175: tokio#7629, a channel made without a receiver counts one
#[test]
fn sender_alone_has_no_receiver() {
    let sender = LossySender::new(1);
    assert_eq!(sender.receiver_count(), 0);
    assert!(sender.is_closed());
    assert_eq!(sender.send(1), Err(SendError::NoReceivers(1)));
    assert!(sender.is_empty());
    let mut receiver = sender.subscribe();
    assert_eq!(sender.receiver_count(), 1);
    assert!(!sender.is_closed());
    sender.send(2).unwrap();
    assert_eq!(now(receiver.recv()), Ok(2));
}

// B175: tokio#4814, the channel works again, and nobody hangs for it
#[test]
fn channel_without_receivers_works_again_when_one_subscribes() {
    let (sender, first) = lossy(2);
    sender.send(Arc::new(1)).unwrap();
    drop(first);
    let back = sender.send(Arc::new(2)).unwrap_err();
    assert!(back.is_transient() && !back.is_closed());
    assert_eq!(Arc::strong_count(&back.into_inner()), 1);
    let mut second = sender.subscribe();
    let mut waits = pin!(second.recv());
    let (counter, waker) = Counter::new();
    assert!(poll(waits.as_mut(), &waker).is_pending());
    sender.send(Arc::new(3)).unwrap();
    assert_eq!(counter.calls(), 1);
    assert_eq!(poll(waits, &waker), Poll::Ready(Ok(Arc::new(3))));
}

// S10; B170: what only the dropped receiver had not seen goes with it
#[test]
fn dropped_receiver_frees_what_only_it_held() {
    let (sender, mut quick) = lossy(8);
    let slow = sender.subscribe();
    let messages = [1, 2, 3].map(Arc::new);
    for message in &messages {
        sender.send(Arc::clone(message)).unwrap();
    }
    drop(quick.try_recv());
    drop(slow);
    assert_eq!(messages.each_ref().map(Arc::strong_count), [1, 2, 2]);
    assert_eq!(sender.len(), 2);
    drop(quick);
    assert_eq!(messages.each_ref().map(Arc::strong_count), [1, 1, 1]);
}

// B175: tokio#3434, dropping a receiver that lags
#[test]
fn dropping_a_receiver_that_lags_frees_what_is_kept() {
    let (sender, slow) = lossy(2);
    let messages = [1, 2, 3, 4].map(Arc::new);
    for message in &messages {
        sender.send(Arc::clone(message)).unwrap();
    }
    let copy = slow.clone();
    drop(slow);
    assert_eq!(sender.len(), 2);
    assert_eq!(messages.each_ref().map(Arc::strong_count), [1, 1, 2, 2]);
    drop(copy);
    assert_eq!(sender.len(), 0);
    assert_eq!(messages.each_ref().map(Arc::strong_count), [1, 1, 1, 1]);
}

#[test]
fn clone_stands_where_the_original_stands() {
    let (sender, mut receiver) = lossy(2);
    for number in 0..3 {
        sender.send(number).unwrap();
    }
    let mut copy = receiver.clone();
    let mut later = receiver.resubscribe();
    for receiver in [&mut receiver, &mut copy] {
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Lagged(1)));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Ok(2));
    }
    assert_eq!(later.try_recv(), Err(TryRecvError::Empty));
    assert!(receiver.same_channel(&later));
}

// S16; B175: tokio#5923. Operations are counted, not time: each round wakes each receiver once.
#[test]
fn ten_thousand_receivers_looping_are_woken_once_a_message() {
    const RECEIVERS: usize = 10_000;
    let (sender, receiver) = lossy(4);
    let mut receivers = vec![receiver; RECEIVERS];
    let (counter, waker) = Counter::new();
    for round in 0..3 {
        let mut waiting: Vec<_> = receivers
            .iter_mut()
            .map(|one| Box::pin(one.recv()))
            .collect();
        for one in &mut waiting {
            assert!(poll(one.as_mut(), &waker).is_pending());
        }
        sender.send(round).unwrap();
        assert_eq!(counter.calls(), RECEIVERS * (round + 1));
        // Nobody waits: the next ones wake nobody.
        sender.send(round).unwrap();
        assert_eq!(counter.calls(), RECEIVERS * (round + 1));
        for one in &mut waiting {
            assert_eq!(poll(one.as_mut(), &waker), Poll::Ready(Ok(round)));
        }
        drop(waiting);
        for one in &mut receivers {
            assert_eq!(one.try_recv(), Ok(round));
        }
        assert!(sender.is_empty());
    }
}

// S6, S16: who comes back while the others are being woken is not woken again for that
#[test]
fn receiver_that_waits_again_is_not_woken_by_the_same_send() {
    let (sender, receiver) = lossy(1);
    let mut receivers = vec![receiver; 100];
    let mut waiting: Vec<_> = receivers
        .iter_mut()
        .map(|one| Box::pin(one.recv()))
        .collect();
    let (counter, waker) = Counter::new();
    for one in &mut waiting {
        assert!(poll(one.as_mut(), &waker).is_pending());
    }
    sender.send(()).unwrap();
    for one in &mut waiting {
        assert_eq!(poll(one.as_mut(), &waker), Poll::Ready(Ok(())));
    }
    drop(waiting);
    let mut again: Vec<_> = receivers
        .iter_mut()
        .map(|one| Box::pin(one.recv()))
        .collect();
    for one in &mut again {
        assert!(poll(one.as_mut(), &waker).is_pending());
    }
    assert_eq!(counter.calls(), 100);
}

// S15, S17; B166
#[test]
fn receiver_polled_again_and_again_waits_once_and_wakes_its_last_waker() {
    let (sender, mut receiver) = lossy::<u8>(1);
    let mut waits = pin!(receiver.recv());
    let (old, waker) = Counter::new();
    for _ in 0..10_000 {
        assert!(poll(waits.as_mut(), &waker).is_pending());
    }
    // The node is one, and holds one waker.
    assert_eq!(Arc::strong_count(&old), 3);
    let (new, waker) = Counter::new();
    assert!(poll(waits.as_mut(), &waker).is_pending());
    assert_eq!(Arc::strong_count(&old), 2);
    sender.send(1).unwrap();
    assert_eq!((old.calls(), new.calls()), (0, 1));
}

// S10; B151
#[test]
fn waker_of_a_dropped_receive_is_released() {
    let (sender, mut receiver) = lossy::<u8>(1);
    let (counter, waker) = Counter::new();
    {
        let mut waits = pin!(receiver.recv());
        assert!(poll(waits.as_mut(), &waker).is_pending());
    }
    assert_eq!(Arc::strong_count(&counter), 2);
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut receiver).poll_next(&mut cx).is_pending());
    assert_eq!(Arc::strong_count(&counter), 3);
    drop(receiver);
    assert_eq!(Arc::strong_count(&counter), 2);
    assert_eq!(sender.send(1), Err(SendError::NoReceivers(1)));
}

// WITNESS: broadcast.pinned
// S1, S9; B172: a message is taken in the poll that returns it
#[test]
fn receive_dropped_when_woken_loses_nothing() {
    let (sender, mut receiver) = lossy(2);
    {
        let mut waits = pin!(receiver.recv());
        assert!(poll_once(waits.as_mut()).is_pending());
        sender.send(1).unwrap();
    }
    assert_eq!(now(receiver.recv()), Ok(1));
}

// B167: the last message, sent right before the close, while the receiver waits
#[test]
fn message_before_the_close_is_received_by_who_waits() {
    let (sender, mut receiver) = lossy(2);
    let mut waits = Box::pin(receiver.recv());
    let (counter, waker) = Counter::new();
    assert!(poll(waits.as_mut(), &waker).is_pending());
    sender.send(1).unwrap();
    drop(sender);
    assert_eq!(counter.calls(), 1);
    assert_eq!(poll(waits.as_mut(), &waker), Poll::Ready(Ok(1)));
    drop(waits);
    assert_eq!(now(receiver.recv()), Err(RecvError::Closed));
}

#[test]
fn stream_shows_losses_and_ends_when_closed() {
    let (sender, mut receiver) = lossy(1);
    let (counter, waker) = Counter::new();
    let mut cx = Context::from_waker(&waker);
    let mut stream = Pin::new(&mut receiver);
    for round in 1..3 {
        assert!(stream.as_mut().poll_next(&mut cx).is_pending());
        sender.send(1).unwrap();
        assert_eq!(counter.calls(), round);
        sender.send(2).unwrap();
        let next = stream.as_mut().poll_next(&mut cx);
        assert_eq!(next, Poll::Ready(Some(Err(RecvError::Lagged(1)))));
        assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(Some(Ok(2))));
    }
    assert!(stream.as_mut().poll_next(&mut cx).is_pending());
    drop(sender);
    assert_eq!(counter.calls(), 3);
    for _ in 0..2 {
        assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(None));
        assert!(stream.is_terminated());
    }
}

#[test]
fn threads_receive_what_threads_send() {
    let (sender, receiver) = lossy(1_000);
    let receivers = vec![receiver; 2];
    let readers = receivers.into_iter().map(|mut receiver| {
        thread::spawn(move || {
            let mut sum = 0;
            while let Ok(number) = receiver.recv_blocking() {
                sum += number;
            }
            sum
        })
    });
    let readers: Vec<_> = readers.collect();
    for number in 0..1_000 {
        sender.send(number).unwrap();
    }
    drop(sender);
    for reader in readers {
        assert_eq!(reader.join().unwrap(), 499_500);
    }
}

#[test]
fn receive_with_a_limit_says_empty_and_then_goes_on() {
    let (sender, mut receiver) = lossy(1);
    assert_eq!(
        receiver.recv_timeout(Duration::ZERO),
        Err(TryRecvError::Empty)
    );
    sender.send(1).unwrap();
    assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(1));
    drop(sender);
    assert_eq!(
        receiver.recv_timeout(Duration::MAX),
        Err(TryRecvError::Closed)
    );
}

#[test]
fn closed_is_told_at_a_close_and_when_the_last_receiver_leaves() {
    let (sender, receiver) = lossy::<u8>(1);
    let (counter, waker) = Counter::new();
    let mut watch = pin!(sender.closed());
    assert!(poll(watch.as_mut(), &waker).is_pending());
    let second = receiver.clone();
    drop(receiver);
    assert_eq!(counter.calls(), 0);
    drop(second);
    assert_eq!(counter.calls(), 1);
    assert!(poll(watch, &waker).is_ready());
    let receiver = sender.subscribe();
    let mut watch = pin!(sender.closed());
    assert!(poll(watch.as_mut(), &waker).is_pending());
    sender.close();
    assert_eq!(counter.calls(), 2);
    assert!(poll(watch, &waker).is_ready());
    drop(receiver);
    assert_eq!(poll_once(pin!(sender.closed())), Poll::Ready(()));
}

// S19
#[test]
#[should_panic(expected = "MS0016: a broadcast channel needs room for one message")]
fn capacity_of_zero_is_refused() {
    let _ = lossy::<u8>(0);
}

// S19
#[test]
fn zero_sized_and_large_messages_are_counted_alike() {
    let (sender, mut units) = lossy(2);
    let (sender_large, mut large) = lossy(2);
    for number in 0..3 {
        sender.send(()).unwrap();
        sender_large.send([number; 4_096]).unwrap();
    }
    assert_eq!(units.try_recv(), Err(TryRecvError::Lagged(1)));
    assert_eq!(large.try_recv(), Err(TryRecvError::Lagged(1)));
    assert_eq!(units.try_recv(), Ok(()));
    assert_eq!(large.try_recv(), Ok([1; 4_096]));
}

// B152: every method in every state
#[test]
fn methods_answer_after_the_end() {
    let (sender, mut receiver) = lossy::<u8>(1);
    sender.close();
    sender.close();
    assert_eq!(now(receiver.recv()), Err(RecvError::Closed));
    assert_eq!(receiver.recv_blocking(), Err(RecvError::Closed));
    assert!(receiver.is_empty() && receiver.is_closed() && sender.is_closed());
    assert_eq!(
        (sender.len(), sender.capacity(), sender.receiver_count()),
        (0, 1, 1)
    );
    let mut copy = receiver.clone();
    assert_eq!(copy.try_recv(), Err(TryRecvError::Closed));
    let text = format!("{sender:?} {receiver:?} {:?}", sender.closed());
    assert!(text.contains("closed: true"), "{text}");
}
