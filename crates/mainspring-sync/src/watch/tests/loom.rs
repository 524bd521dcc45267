//! Models of the version word beside the value's lock. What a sender did before it sent is the
//! cancellation of a completion, whose word is read relaxed.

use crate::parked::tests::racing::{explore, explore_bounded, explore_three, race};
use crate::parked::tests::wakers::poll;
use crate::watch::{RecvError, channel};
use loom::future::block_on;
use mainspring_core::completion;
use mainspring_core::sync::thread;
use std::pin::pin;
use std::task::{Poll, Waker};

// WITNESS: watch.change, watch.waits
#[test]
fn change_racing_a_receiver_that_waits_wakes_it() {
    explore(|start| {
        let (sender, mut receiver) = channel(0);
        let (seen, work) = completion::<()>();
        let sending = move || {
            drop(work);
            sender.send(1);
            sender
        };
        let waiting = move || {
            assert_eq!(block_on(receiver.changed()), Ok(()));
            assert!(seen.is_cancelled(), "watch.change");
            assert_eq!(*receiver.borrow(), 1);
        };
        race(start, sending, waiting);
    });
}

// B176
// WITNESS: watch.version
#[test]
fn borrowed_value_and_its_version_belong_together() {
    explore(|start| {
        let (sender, mut receiver) = channel(0);
        let borrowing = move || {
            let value = *receiver.borrow_and_update();
            (receiver, value)
        };
        let sending = move || {
            sender.send(1);
            sender
        };
        let ((receiver, value), _sender) = race(start, borrowing, sending);
        assert_eq!(receiver.has_changed(), value == 0, "watch.version");
    });
}

// WITNESS: watch.change, watch.waits
#[test]
fn last_value_is_told_before_the_end() {
    explore_bounded(|start| {
        let (sender, mut receiver) = channel(0);
        let sending = move || {
            sender.send(1);
            drop(sender);
        };
        let waiting = move || {
            assert_eq!(block_on(receiver.changed()), Ok(()));
            assert_eq!(block_on(receiver.changed()), Err(RecvError));
            assert_eq!(*receiver.borrow(), 1);
        };
        race(start, sending, waiting);
    });
}

// B176
// WITNESS: watch.version, watch.waits
#[test]
fn condition_is_asked_about_the_last_value() {
    explore_bounded(|start| {
        let (sender, mut receiver) = channel(0);
        let sending = move || {
            sender.send(1);
            sender.send(2);
        };
        let waiting = move || {
            let found = block_on(receiver.wait_for(|value| *value == 2));
            assert_eq!(found.map(|value| *value), Ok(2));
        };
        race(start, sending, waiting);
    });
}

// WITNESS: watch.senders, watch.change
#[test]
fn end_of_the_senders_brings_the_work_of_all() {
    explore_three(|| {
        let (sender, mut receiver) = channel(0);
        let (seen, work): (Vec<_>, Vec<_>) = (0..2).map(|_| completion::<()>()).unzip();
        let sending = work.into_iter().map(|work| {
            let sender = sender.clone();
            thread::spawn(move || {
                drop(work);
                drop(sender);
            })
        });
        let sending: Vec<_> = sending.collect();
        drop(sender);
        assert_eq!(block_on(receiver.changed()), Err(RecvError));
        assert!(seen.iter().all(|seen| seen.is_cancelled()), "watch.senders");
        for sending in sending {
            sending.join().unwrap();
        }
    });
}

// WITNESS: watch.change
#[test]
fn who_finds_the_senders_gone_sees_what_they_did() {
    explore(|start| {
        let (sender, receiver) = channel(0);
        let (seen, work) = completion::<()>();
        let leaving = move || {
            drop(work);
            drop(sender);
        };
        let looking = move || {
            assert!(!receiver.is_closed() || seen.is_cancelled(), "watch.change");
            receiver
        };
        race(start, leaving, looking);
    });
}

// WITNESS: watch.waits
#[test]
fn two_waiters_are_told_of_the_change_that_each_misses() {
    explore_three(|| {
        let (sender, receiver) = channel(0);
        let waiting = [(); 2].map(|()| {
            let mut receiver = receiver.clone();
            thread::spawn(move || block_on(receiver.changed()))
        });
        sender.send(1);
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), Ok(()));
        }
    });
}

#[test]
fn last_receiver_racing_a_sender_that_waits_for_it() {
    explore(|start| {
        let (sender, receiver) = channel(0);
        let waiting = move || {
            block_on(sender.closed());
            assert!(sender.is_closed());
            assert_eq!(poll(pin!(sender.closed()), Waker::noop()), Poll::Ready(()));
        };
        race(start, move || drop(receiver), waiting);
    });
}
