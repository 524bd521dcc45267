//! Models of the meeting. A lost wake is a deadlock, a message that is lost or doubled a count that
//! is wrong.

use crate::channel::{self, Closed, TryRecvError, bounded};
use loom::future::block_on;
use loom::thread;
use mainspring_core::sync::Arc;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

fn three_threads(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Wakes nobody. A waiter that was woken has let go of it.
struct Bell;

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {}
}

fn bell() -> std::sync::Arc<Bell> {
    std::sync::Arc::new(Bell)
}

fn poll_with<F: Future>(future: Pin<&mut F>, bell: &std::sync::Arc<Bell>) -> Poll<F::Output> {
    let waker = Waker::from(std::sync::Arc::clone(bell));
    future.poll(&mut Context::from_waker(&waker))
}

fn was_woken(bell: &std::sync::Arc<Bell>) -> bool {
    std::sync::Arc::strong_count(bell) == 1
}

// WITNESS: meeting.once, meeting.pairs, letter.owner, encounter.pinned
/// S4, both ways round.
#[test]
fn send_meets_a_receive() {
    for receiver_is_spawned in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel::rendezvous();
            let send = move || block_on(tx.send(1)).unwrap();
            let receive = move || {
                assert_eq!(block_on(rx.recv()), Ok(1));
                rx
            };
            if receiver_is_spawned {
                let receiver = thread::spawn(receive);
                send();
                drop(receiver.join().unwrap());
            } else {
                let sender = thread::spawn(send);
                let rx = receive();
                sender.join().unwrap();
                drop(rx);
            }
        });
    }
}

// WITNESS: meeting.pairs
/// S1, S16: a receiver that is dropped while it is told passes that on.
#[test]
fn send_meets_the_second_receive_if_the_first_is_dropped() {
    three_threads(|| {
        let (tx, rx) = channel::rendezvous();
        let given_up = rx.clone();
        let mut first = Box::pin(given_up.recv());
        assert!(poll_with(first.as_mut(), &bell()).is_pending());
        let sender = thread::spawn(move || block_on(tx.send(1)).unwrap());
        let second = thread::spawn(move || assert_eq!(block_on(rx.recv()), Ok(1)));
        drop(first);
        second.join().unwrap();
        sender.join().unwrap();
    });
}

// WITNESS: meeting.once, letter.pinned
/// S9, B172: a send that is taken back while a receiver takes its message.
#[test]
fn message_that_is_taken_back_was_not_received() {
    loom::model(|| {
        let (tx, rx) = channel::rendezvous();
        let rung = bell();
        let mut send = Box::pin(tx.send(1));
        assert!(poll_with(send.as_mut(), &rung).is_pending());
        let receiver = thread::spawn(move || (rx.try_recv().ok(), rx));
        let back = send.as_mut().take();
        let (received, rx) = receiver.join().unwrap();
        assert_eq!(back.is_some(), received.is_none(), "meeting.once");
        if received.is_some() {
            assert!(poll_with(send.as_mut(), &rung).is_ready());
        }
        assert!(was_woken(&rung), "its waker is let go of");
        drop(rx);
    });
}

// WITNESS: meeting.once, letter.pinned
/// S9: the same for a send that is dropped, whose node dies; another message comes through.
#[test]
fn send_that_is_dropped_while_its_message_is_taken_leaves_the_list() {
    three_threads(|| {
        let (tx, rx) = channel::rendezvous();
        let message = Arc::new(1);
        let mut first = Box::pin(tx.send(Arc::clone(&message)));
        assert!(poll_with(first.as_mut(), &bell()).is_pending());
        let second = {
            let (tx, message) = (tx.clone(), Arc::clone(&message));
            thread::spawn(move || block_on(tx.send(message)).is_ok())
        };
        let receiver = thread::spawn(move || {
            drop(block_on(rx.recv()).unwrap());
            rx
        });
        drop(first);
        let rx = receiver.join().unwrap();
        // It has taken one of the two: with the last receiver the other one comes back.
        drop(rx);
        second.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1);
    });
}

// WITNESS: meeting.once, meeting.pairs
#[test]
fn two_sends_meet_one_receiver() {
    three_threads(|| {
        let (tx, rx) = channel::rendezvous();
        let senders = [1, 2].map(|number| {
            let tx = tx.clone();
            thread::spawn(move || block_on(tx.send(number)).unwrap())
        });
        let both = [block_on(rx.recv()), block_on(rx.recv())];
        assert!(both == [Ok(1), Ok(2)] || both == [Ok(2), Ok(1)]);
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

// WITNESS: meeting.seat
/// B172: a blocked thread whose time is up takes what was put into its hands.
#[test]
fn thread_that_gives_up_takes_what_it_was_handed() {
    for receiver_is_spawned in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel::rendezvous();
            let block = move || {
                let rung = bell();
                let mut blocks = Box::pin(rx.blocks());
                let found = match poll_with(blocks.as_mut(), &rung) {
                    Poll::Ready(found) => found.ok(),
                    // Its time is up at once: the last look, as `wait_for` does it.
                    Poll::Pending => match poll_with(blocks.as_mut(), &rung) {
                        Poll::Ready(found) => found.ok(),
                        Poll::Pending => blocks.as_mut().give_up(),
                    },
                };
                drop(blocks);
                assert!(was_woken(&rung));
                found
            };
            let send = move || (tx.try_send(1).is_ok(), tx);
            let (sent, received) = if receiver_is_spawned {
                let receiver = thread::spawn(block);
                let (sent, _tx) = send();
                (sent, receiver.join().unwrap())
            } else {
                let sender = thread::spawn(send);
                let received = block();
                (sender.join().unwrap().0, received)
            };
            assert_eq!(sent, received.is_some(), "meeting.seat: lost, or doubled");
        });
    }
}

// WITNESS: meeting.seat, meeting.pairs
/// The same with a send that parks if the thread has gone: another receiver gets it.
#[test]
fn thread_that_gives_up_leaves_a_parked_message_to_another() {
    three_threads(|| {
        let (tx, rx) = channel::rendezvous();
        let other = rx.clone();
        let sender = thread::spawn(move || block_on(tx.send(1)));
        let receiver = thread::spawn(move || block_on(other.recv()).ok());
        let rung = bell();
        let mut blocks = Box::pin(rx.blocks());
        let mine = match poll_with(blocks.as_mut(), &rung) {
            Poll::Ready(found) => found.ok(),
            Poll::Pending => blocks.as_mut().give_up(),
        };
        if mine.is_some() {
            // Or the other one waits for ever.
            rx.close();
        }
        assert_eq!(sender.join().unwrap(), Ok(()));
        let theirs = receiver.join().unwrap();
        assert_eq!(mine.is_some(), theirs.is_none());
    });
}

// WITNESS: meeting.closed
/// S7, S8, S9: a send that races the end is received or comes back.
#[test]
fn send_that_races_the_end_is_received_or_comes_back() {
    three_threads(|| {
        let (tx, rx) = channel::rendezvous();
        let closes = tx.clone();
        let sender = thread::spawn(move || block_on(tx.send(1)).is_ok());
        let receiver = thread::spawn(move || block_on(rx.recv()));
        closes.close();
        let sent = sender.join().unwrap();
        let received = receiver.join().unwrap();
        assert_eq!(sent, received == Ok(1));
        assert_eq!(sent, received != Err(Closed));
    });
}

// WITNESS: meeting.closed
/// S6: the end reaches more senders than are told under one lock, and those that come meanwhile.
#[test]
fn end_reaches_all_senders() {
    three_threads(|| {
        let (tx, rx) = channel::rendezvous::<u32>();
        let rung = bell();
        let mut parked = Box::pin(tx.send(1));
        assert!(poll_with(parked.as_mut(), &rung).is_pending());
        let comes = tx.clone();
        let sender = thread::spawn(move || block_on(comes.send(2)).is_err());
        let receiver = thread::spawn(move || rx.close());
        receiver.join().unwrap();
        assert!(sender.join().unwrap());
        assert!(was_woken(&rung));
        assert!(poll_with(parked.as_mut(), &rung).is_ready());
    });
}

// WITNESS: meeting.last, meeting.closed
/// S10, B160, B170: the last receiver goes while a message is parked.
#[test]
fn message_that_races_the_last_receiver_comes_back() {
    loom::model(|| {
        let (tx, rx) = channel::rendezvous();
        let message = Arc::new(1);
        let sender = {
            let (tx, message) = (tx.clone(), Arc::clone(&message));
            thread::spawn(move || assert!(block_on(tx.send(message)).is_err()))
        };
        drop(rx);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1);
        assert!(tx.is_closed());
    });
}

// WITNESS: meeting.last
/// B167: the last sender goes while a receiver parks.
#[test]
fn receiver_that_parks_while_the_last_sender_goes_is_told() {
    loom::model(|| {
        let (tx, rx) = channel::rendezvous::<u32>();
        let receiver = thread::spawn(move || assert_eq!(block_on(rx.recv()), Err(Closed)));
        drop(tx);
        receiver.join().unwrap();
    });
}

// WITNESS: letter.owner
/// S15: a send that is polled with another waker while its message is taken.
#[test]
fn latest_waker_of_a_send_is_woken() {
    loom::model(|| {
        let (tx, rx) = channel::rendezvous();
        let mut send = Box::pin(tx.send(1));
        assert!(poll_with(send.as_mut(), &bell()).is_pending());
        let receiver = thread::spawn(move || {
            assert_eq!(rx.try_recv(), Ok(1));
            rx
        });
        assert_eq!(block_on(send), Ok(()));
        drop(receiver.join().unwrap());
    });
}

// WITNESS: meeting.ends
/// Whoever is told of the end sees what each end did before it went. What that is, another channel
/// shows, which is not closed.
#[test]
fn end_brings_what_each_end_did() {
    for of_senders in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel::rendezvous::<u32>();
            let (past_tx, past_rx) = bounded(1);
            let (other_tx, other_rx) = (tx.clone(), rx.clone());
            let other = thread::spawn(move || {
                past_tx.try_send(7).unwrap();
                if of_senders {
                    drop(other_tx);
                    (past_tx, None, Some(other_rx))
                } else {
                    drop(other_rx);
                    (past_tx, Some(other_tx), None)
                }
            });
            if of_senders {
                drop(tx);
                while rx.try_recv() != Err(TryRecvError::Closed) {
                    thread::yield_now();
                }
            } else {
                drop(rx);
                while !tx.is_closed() {
                    thread::yield_now();
                }
            }
            let past = past_rx.try_recv();
            assert_eq!(past, Ok(7), "meeting.ends: the end has no past");
            drop(other.join().unwrap());
        });
    }
}
