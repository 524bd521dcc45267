//! Models of both ends: who waits is woken, whatever happens meanwhile. A lost wake is a deadlock,
//! a message that is lost or dropped twice a reference count of loom's that is wrong.

use crate::channel::{Closed, Recv, TryRecvError, bounded};
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

fn poll_with<F: Future>(future: Pin<&mut F>, bell: &std::sync::Arc<Bell>) -> Poll<F::Output> {
    let waker = Waker::from(std::sync::Arc::clone(bell));
    future.poll(&mut Context::from_waker(&waker))
}

fn was_woken(bell: &std::sync::Arc<Bell>) -> bool {
    std::sync::Arc::strong_count(bell) == 1
}

// WITNESS: words.receiver-parks, channel.notes, channel.waits
/// S4, row 34, both ways round.
#[test]
fn receiver_that_parks_while_a_message_comes_gets_it() {
    for receiver_is_spawned in [false, true] {
        loom::model(move || {
            let (tx, rx) = bounded(1);
            let send = move || tx.try_send(1).unwrap();
            let receive = move || assert_eq!(block_on(rx.recv()), Ok(1));
            if receiver_is_spawned {
                let receiver = thread::spawn(receive);
                send();
                receiver.join().unwrap();
            } else {
                let sender = thread::spawn(send);
                receive();
                sender.join().unwrap();
            }
        });
    }
}

// WITNESS: words.sender-parks, channel.room
/// S4, S16, both ways round.
#[test]
fn sender_that_parks_while_room_is_made_gets_it() {
    for sender_is_spawned in [false, true] {
        three_threads(move || {
            let (tx, rx) = bounded(1);
            tx.try_send(1).unwrap();
            let send = move || block_on(tx.send(2)).unwrap();
            let receive = move || {
                assert_eq!(block_on(rx.recv()), Ok(1));
                assert_eq!(block_on(rx.recv()), Ok(2));
            };
            if sender_is_spawned {
                let sender = thread::spawn(send);
                receive();
                sender.join().unwrap();
            } else {
                let receiver = thread::spawn(receive);
                send();
                receiver.join().unwrap();
            }
        });
    }
}

// WITNESS: channel.waits
/// S1, row 33.
#[test]
fn receiver_that_is_dropped_while_it_is_told_passes_that_on() {
    three_threads(|| {
        let (tx, rx) = bounded(1);
        let given_up = rx.clone();
        let mut first = Box::pin(given_up.recv());
        let bell = std::sync::Arc::new(Bell);
        assert!(poll_with(first.as_mut(), &bell).is_pending());
        let sender = thread::spawn(move || {
            tx.try_send(1).unwrap();
            tx
        });
        let second = thread::spawn(move || assert_eq!(block_on(rx.recv()), Ok(1)));
        drop(first);
        second.join().unwrap();
        drop(sender.join().unwrap());
    });
}

// WITNESS: channel.room, ask.holds
/// S1, S2.
#[test]
fn sender_that_is_dropped_while_it_is_granted_room_passes_it_on() {
    three_threads(|| {
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let given_up = tx.clone();
        let mut first = Box::pin(given_up.send(2));
        let bell = std::sync::Arc::new(Bell);
        assert!(poll_with(first.as_mut(), &bell).is_pending());
        let second = thread::spawn(move || block_on(tx.send(3)).unwrap());
        let receiver = thread::spawn(move || {
            assert_eq!(rx.try_recv(), Ok(1));
            rx
        });
        drop(first);
        second.join().unwrap();
        assert_eq!(receiver.join().unwrap().try_recv(), Ok(3));
    });
}

// WITNESS: channel.room
/// Between the moment at which room is made and the one at which it is granted, a newcomer finds
/// it and must leave it to the one that waits.
#[test]
fn newcomer_does_not_take_the_room_of_a_sender_that_waits() {
    for tries in [false, true] {
        three_threads(move || {
            let (tx, rx) = bounded(1);
            tx.try_send(1).unwrap();
            let bells = [(); 2].map(|()| std::sync::Arc::new(Bell));
            let mut waits = Box::pin(tx.send(2));
            assert!(poll_with(waits.as_mut(), &bells[0]).is_pending());
            let receiver = thread::spawn(move || {
                assert_eq!(rx.try_recv(), Ok(1));
                rx
            });
            if tries {
                assert!(tx.try_send(3).is_err(), "channel.room: overtaken");
            } else {
                let mut newcomer = Box::pin(tx.send(3));
                let found = poll_with(newcomer.as_mut(), &bells[1]);
                assert!(found.is_pending(), "channel.room: overtaken");
            }
            let rx = receiver.join().unwrap();
            assert!(was_woken(&bells[0]));
            assert!(poll_with(waits.as_mut(), &bells[0]).is_ready());
            drop(rx);
        });
    }
}

// WITNESS: words.closed, words.end
/// S7, B167.
#[test]
fn receiver_that_parks_while_the_channel_ends_is_told() {
    for with_message in [false, true] {
        three_threads(move || {
            let (tx, rx) = bounded(1);
            let receiver = thread::spawn(move || {
                if with_message {
                    assert_eq!(block_on(rx.recv()), Ok(1));
                }
                assert_eq!(block_on(rx.recv()), Err(Closed));
            });
            if with_message {
                tx.try_send(1).unwrap();
            }
            drop(tx);
            receiver.join().unwrap();
        });
    }
}

// WITNESS: words.end
/// S8, B155.
#[test]
fn receiver_that_parks_while_the_last_permit_goes_is_told() {
    for is_used in [false, true] {
        loom::model(move || {
            let (tx, rx) = bounded(1);
            let permit = tx.clone().try_reserve_owned().unwrap();
            tx.close();
            let receiver = thread::spawn(move || {
                if is_used {
                    assert_eq!(block_on(rx.recv()), Ok(1));
                }
                assert_eq!(block_on(rx.recv()), Err(Closed));
            });
            if is_used {
                drop(permit.send(1).unwrap());
            } else {
                drop(permit);
            }
            receiver.join().unwrap();
        });
    }
}

// WITNESS: channel.last, channel.ends
/// S9, S10, B160, B170: nothing stays in a channel without a receiver.
#[test]
fn message_that_races_the_last_receiver_is_dropped_or_comes_back() {
    for with_permit in [false, true] {
        loom::model(move || {
            let (tx, rx) = bounded(1);
            let message = Arc::new(1);
            let permit = with_permit.then(|| tx.clone().try_reserve_owned().unwrap());
            let sender = {
                let (tx, message) = (tx.clone(), Arc::clone(&message));
                thread::spawn(move || match permit {
                    Some(permit) => drop(permit.send(message)),
                    None => drop(tx.try_send(message)),
                })
            };
            drop(rx);
            sender.join().unwrap();
            assert_eq!(Arc::strong_count(&message), 1);
            assert!(tx.is_closed() && tx.is_empty());
        });
    }
}

// WITNESS: channel.last, channel.ends
#[test]
fn last_of_two_receivers_drops_the_messages() {
    loom::model(|| {
        let (tx, rx) = bounded(2);
        let message = Arc::new(1);
        tx.try_send(Arc::clone(&message)).unwrap();
        tx.try_send(Arc::clone(&message)).unwrap();
        let other = {
            let rx = rx.clone();
            thread::spawn(move || drop(rx.try_recv()))
        };
        drop(rx);
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1);
        assert!(tx.is_closed());
    });
}

// WITNESS: channel.ends, words.ended
/// Whoever is told of the end sees what each sender did before it went. What that is, another
/// channel shows, which is not closed.
#[test]
fn end_brings_what_each_sender_did() {
    loom::model(|| {
        let (tx, rx) = bounded::<u32>(1);
        let (past_tx, past_rx) = bounded(1);
        let other = {
            let tx = tx.clone();
            thread::spawn(move || {
                past_tx.try_send(7).unwrap();
                drop(tx);
                past_tx
            })
        };
        drop(tx);
        while rx.try_recv() != Err(TryRecvError::Closed) {
            thread::yield_now();
        }
        assert_eq!(
            past_rx.try_recv(),
            Ok(7),
            "channel.ends: the end has no past"
        );
        drop(other.join().unwrap());
    });
}

// WITNESS: channel.ends, words.ended
/// As above, for the other side: the last of two receivers, or one that closes.
#[test]
fn end_brings_what_each_receiver_did() {
    for by_close in [false, true] {
        loom::model(move || {
            let (tx, rx) = bounded::<u32>(1);
            let (past_tx, past_rx) = bounded(1);
            let last = (!by_close).then(|| rx.clone());
            let other = thread::spawn(move || {
                past_tx.try_send(7).unwrap();
                if by_close {
                    rx.close();
                    return (past_tx, Some(rx));
                }
                drop(rx);
                (past_tx, None)
            });
            drop(last);
            while !tx.is_closed() {
                thread::yield_now();
            }
            assert_eq!(
                past_rx.try_recv(),
                Ok(7),
                "channel.ends: the end has no past"
            );
            drop(other.join().unwrap());
        });
    }
}

// WITNESS: channel.ends, words.closed
/// The last of two senders closes, after what the other one sent.
#[test]
fn last_of_two_senders_closes_after_both_have_sent() {
    loom::model(|| {
        let (tx, rx) = bounded(2);
        let other = {
            let tx = tx.clone();
            thread::spawn(move || tx.try_send(1).unwrap())
        };
        tx.try_send(2).unwrap();
        drop(tx);
        other.join().unwrap();
        let both = [block_on(rx.recv()), block_on(rx.recv())];
        assert!(both == [Ok(1), Ok(2)] || both == [Ok(2), Ok(1)]);
        assert_eq!(block_on(rx.recv()), Err(Closed));
    });
}

// WITNESS: pull.owes, pull.pinned
/// Row 31: one that was told, finds the message before its own unwritten, and is dropped.
#[test]
fn receiver_that_gives_up_on_a_busy_message_passes_its_wake_on() {
    three_threads(|| {
        let (tx, rx) = bounded(2);
        let bells = [(); 3].map(|()| std::sync::Arc::new(Bell));
        let mut waiting: Vec<Pin<Box<Recv<'_, u32>>>> = Vec::new();
        for bell in &bells {
            let mut recv = Box::pin(rx.recv());
            assert!(poll_with(recv.as_mut(), bell).is_pending());
            waiting.push(recv);
        }
        let senders = [1, 2].map(|number| {
            let tx = tx.clone();
            thread::spawn(move || tx.try_send(number).unwrap())
        });
        let mut first = waiting.remove(0);
        let mut received = 0;
        // The senders may be anywhere.
        thread::yield_now();
        if was_woken(&bells[0]) {
            received += usize::from(poll_with(first.as_mut(), &bells[0]).is_ready());
        }
        drop(first);
        for sender in senders {
            sender.join().unwrap();
        }
        // Of the two that wait on, as many were woken as there are messages.
        let woken = bells[1..].iter().filter(|bell| was_woken(bell)).count();
        assert!(woken + received >= 2, "pull.owes: a message and a sleeper");
        assert_eq!(rx.len() + received, 2);
    });
}

// WITNESS: words.capacity, slots.window
#[test]
fn forced_message_racing_a_receiver_replaces_at_most_one() {
    three_threads(|| {
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let receiver = {
            let rx = rx.clone();
            thread::spawn(move || rx.try_recv().ok())
        };
        let replaced = tx.force_send(2).unwrap();
        let received = receiver.join().unwrap();
        let left = rx.try_recv().ok();
        let mut all: Vec<u32> = [replaced, received, left].into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}
