//! Models of the shell. The code is the shipped one, with batches of one.

use crate::broadcast::{RecvError, SendError, Slow, lossless, lossy};
use loom::future::block_on;
use loom::model::Builder;
use mainspring_core::sync::thread;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn three_threads(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

// B167
// WITNESS: broadcast.flags, broadcast.once
#[test]
fn receive_racing_send_and_close_gets_the_message_then_closed() {
    loom::model(|| {
        let (sender, mut receiver) = lossy(1);
        let reader = thread::spawn(move || {
            let first = block_on(receiver.recv());
            (first, block_on(receiver.recv()))
        });
        sender.send(Box::new(7)).unwrap();
        drop(sender);
        let seen = reader.join().unwrap();
        assert_eq!(seen, (Ok(Box::new(7)), Err(RecvError::Closed)));
    });
}

// The other way round: the sender is the one that is spawned.
// WITNESS: broadcast.flags
#[test]
fn send_racing_receive_wakes_it() {
    loom::model(|| {
        let (sender, mut receiver) = lossless(1);
        let writer = thread::spawn(move || {
            sender.try_send(1).unwrap();
            sender
        });
        assert_eq!(block_on(receiver.recv()), Ok(1));
        drop(writer.join().unwrap());
    });
}

// WITNESS: broadcast.flags, broadcast.fifo
#[test]
fn receive_racing_a_send_that_waits_wakes_it() {
    loom::model(|| {
        let (sender, mut receiver) = lossless(1);
        sender.try_send(1).unwrap();
        let writer = thread::spawn(move || {
            block_on(sender.send(2)).unwrap();
            sender
        });
        assert_eq!(receiver.try_recv(), Ok(1));
        drop(writer.join().unwrap());
        assert_eq!(receiver.try_recv(), Ok(2));
    });
}

// WITNESS: broadcast.flags, broadcast.fifo
#[test]
fn send_racing_receive_and_the_drop_of_a_receiver_goes_on() {
    three_threads(|| {
        let (sender, mut receiver) = lossless(1);
        let leaver = sender.subscribe();
        let leaving = thread::spawn(move || drop(leaver));
        let reader = thread::spawn(move || {
            assert_eq!(block_on(receiver.recv()), Ok(1));
            assert_eq!(block_on(receiver.recv()), Ok(2));
        });
        block_on(sender.send(1)).unwrap();
        // A deadlock here is the room that nobody told the sender of.
        block_on(sender.send(2)).unwrap();
        leaving.join().unwrap();
        reader.join().unwrap();
    });
}

// WITNESS: broadcast.flags, broadcast.once
#[test]
fn last_receiver_racing_a_send_that_waits_gives_the_message_back() {
    loom::model(|| {
        let (sender, receiver) = lossless(1);
        sender.try_send(1).unwrap();
        let writer = thread::spawn(move || block_on(sender.send(2)));
        drop(receiver);
        assert_eq!(writer.join().unwrap(), Err(SendError::NoReceivers(2)));
    });
}

// S1
// WITNESS: broadcast.fifo
#[test]
fn receive_racing_the_drop_of_a_waiting_send_reaches_the_other() {
    three_threads(|| {
        let (sender, mut receiver) = lossless(1);
        sender.try_send(1).unwrap();
        let other = sender.clone();
        let mut first = pin!(sender.send(2));
        assert!(poll_once(first.as_mut()).is_pending());
        let writer = thread::spawn(move || block_on(other.send(3)));
        let reader = thread::spawn(move || {
            assert_eq!(block_on(receiver.recv()), Ok(1));
            receiver
        });
        assert_eq!(first.as_mut().take(), Some(2));
        let mut receiver = reader.join().unwrap();
        // A deadlock here is the offer that went with the first send.
        writer.join().unwrap().unwrap();
        assert_eq!(block_on(receiver.recv()), Ok(3));
    });
}

// S8
// WITNESS: broadcast.flags
#[test]
fn permit_given_back_racing_a_receive_on_a_closed_channel_ends_it() {
    loom::model(|| {
        let (sender, mut receiver) = lossless::<u8>(1);
        let permit = block_on(sender.reserve()).unwrap();
        sender.close();
        let reader = thread::spawn(move || block_on(receiver.recv()));
        drop(permit);
        assert_eq!(reader.join().unwrap(), Err(RecvError::Closed));
    });
}

// B160: first send, last receiver and last sender, all at once
// WITNESS: broadcast.once
#[test]
fn last_handles_racing_a_send_leave_nothing() {
    loom::model(|| {
        let (sender, receiver) = lossy(1);
        let second = sender.clone();
        let writer = thread::spawn(move || second.send(Box::new(1)).is_ok());
        drop(sender);
        drop(receiver);
        // loom reports what leaks.
        writer.join().unwrap();
    });
}

// WITNESS: broadcast.once
#[test]
fn two_receivers_of_one_message_both_get_it() {
    loom::model(|| {
        let (sender, mut first) = lossy(1);
        let mut second = first.clone();
        sender.send(Box::new(1)).unwrap();
        let reader = thread::spawn(move || second.try_recv());
        assert_eq!(first.try_recv(), Ok(Box::new(1)));
        assert_eq!(reader.join().unwrap(), Ok(Box::new(1)));
        assert_eq!(sender.len(), 0);
    });
}

// WITNESS: broadcast.flags
#[test]
fn end_of_interest_racing_its_watcher_is_seen() {
    loom::model(|| {
        let (sender, receiver) = lossless::<u8>(1);
        let only = sender.subscribe_with(Slow::Latest);
        let leaving = thread::spawn(move || drop((receiver, only)));
        block_on(sender.closed());
        leaving.join().unwrap();
    });
}
