//! Models of two ends that give way to each other: a wake that was lost is a deadlock.

use crate::channel::{Closed, bounded};
use loom::future::block_on;
use loom::thread;
use mainspring_core::poll;
use std::future::poll_fn;
use std::pin::pin;

/// Polls as an executor of the family does, where alone anybody gives way: whoever woke itself is
/// polled again when others have run.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    block_on(poll_fn(|cx| {
        let polled = poll::root(|| future.as_mut().poll(cx));
        if polled.is_pending() {
            thread::yield_now();
        }
        polled
    }))
}

fn two_preemptions(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

// WITNESS: side.owes, side.hint
#[test]
fn two_that_take_turns_lose_no_message() {
    for receiver_is_spawned in [false, true] {
        two_preemptions(move || {
            let (tx, rx) = bounded(1);
            let send = move || {
                run(tx.send(1)).unwrap();
                run(tx.send(2)).unwrap();
            };
            let receive = move || {
                assert_eq!(run(rx.recv()), Ok(1));
                assert_eq!(run(rx.recv()), Ok(2));
            };
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

// WITNESS: side.owes
/// The room is there before the send that gave way looks again; or the end is.
#[test]
fn one_that_gave_way_sees_room_and_the_end() {
    two_preemptions(|| {
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        tx.shared().receiving.woken(true);
        tx.shared().sending.woken(true);
        let receiver = thread::spawn(move || {
            assert_eq!(run(rx.recv()), Ok(1));
            assert_eq!(run(rx.recv()), Ok(2));
            assert_eq!(run(rx.recv()), Err(Closed));
        });
        run(tx.send(2)).unwrap();
        drop(tx);
        receiver.join().unwrap();
    });
}
