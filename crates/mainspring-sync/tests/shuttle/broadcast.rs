//! Every message to every receiver, each with a policy of its own.

use crate::ODDS;
use crate::ledger::InOrder;
use mainspring_core::sync::{below, block_on, explore, thread, wait_or_drop};
use mainspring_sync::broadcast::{self, Receiver, RecvError, Sender, Slow};

type Message = (u32, u32);

/// Sends three messages; how many were sent.
fn send(sender: &Sender<Message>, name: u32) -> u64 {
    let send_one = |number| match below(3) {
        0 => sender.try_send((name, number)).is_ok(),
        1 => match wait_or_drop(ODDS, sender.reserve()) {
            Some(Ok(permit)) if below(ODDS) != 0 => permit.send((name, number)).is_ok(),
            _ => false,
        },
        _ => matches!(
            wait_or_drop(ODDS, sender.send((name, number))),
            Some(Ok(()))
        ),
    };
    (0..3).map(send_one).map(u64::from).sum()
}

/// What a receiver saw until the end.
#[derive(Debug, Default)]
struct Seen {
    received: u64,
    lagged: u64,
    is_disconnected: bool,
}

fn receive(receiver: &mut Receiver<Message>) -> Seen {
    let mut seen = Seen::default();
    let mut order = InOrder::default();
    loop {
        match wait_or_drop(ODDS, receiver.recv()) {
            None => thread::yield_now(),
            Some(Ok(message)) => {
                order.next(message);
                seen.received += 1;
            }
            Some(Err(RecvError::Lagged(lost))) => seen.lagged += lost,
            Some(Err(RecvError::Disconnected)) => {
                seen.is_disconnected = true;
                return seen;
            }
            Some(Err(_)) => return seen,
        }
    }
}

#[test]
fn each_policy_keeps_what_it_promises() {
    explore(|| {
        let (sender, mut waited_for) = broadcast::lossless(1 + below(2) as usize);
        let policy = [Slow::Lag, Slow::Disconnect, Slow::Latest][below(3) as usize];
        let mut other = sender.subscribe_with(policy);
        let second = sender.clone();
        let second = thread::spawn(move || send(&second, 1));
        let other = thread::spawn(move || receive(&mut other));
        let waited_for = thread::spawn(move || receive(&mut waited_for));
        let sent = send(&sender, 0) + second.join().unwrap();
        drop(sender);
        let seen = waited_for.join().unwrap();
        assert_eq!((seen.received, seen.lagged), (sent, 0), "{seen:?}");
        let seen = other.join().unwrap();
        match policy {
            Slow::Lag => assert_eq!(seen.received + seen.lagged, sent, "{seen:?}"),
            Slow::Disconnect => {
                let has_all = seen.received == sent && seen.lagged == 0;
                assert!(seen.is_disconnected || has_all, "{seen:?} of {sent}");
            }
            _ => assert!(seen.received <= sent, "{seen:?}"),
        }
    });
}

#[test]
fn senders_are_released_by_receivers_that_leave_and_by_closing() {
    explore(|| {
        let (sender, mut leaving) = broadcast::lossless(1);
        let mut staying = sender.subscribe();
        let second = sender.clone();
        let second = thread::spawn(move || send(&second, 1));
        let leaving = thread::spawn(move || wait_or_drop(2, leaving.recv()).is_some());
        let staying = thread::spawn(move || receive(&mut staying));
        let mut sent = send(&sender, 0);
        if below(2) == 0 {
            sender.close();
        }
        sent += second.join().unwrap();
        drop(sender);
        let _ = leaving.join().unwrap();
        let seen = staying.join().unwrap();
        assert_eq!((seen.received, seen.lagged), (sent, 0), "{seen:?}");
    });
}

#[test]
fn lossy_receiver_knows_how_many_it_lost() {
    explore(|| {
        let (sender, mut receiver) = broadcast::lossy(1);
        let second = sender.clone();
        let send = |sender: &broadcast::LossySender<Message>, name| {
            let sends = (0..3).map(|number| sender.send((name, number)).is_ok());
            sends.map(u64::from).sum::<u64>()
        };
        let second = thread::spawn(move || send(&second, 1));
        let received = thread::spawn(move || receive(&mut receiver));
        let sent = send(&sender, 0) + second.join().unwrap();
        assert_eq!(sent, 6, "nothing is refused while somebody receives");
        drop(sender);
        let seen = received.join().unwrap();
        assert_eq!(seen.received + seen.lagged, sent, "{seen:?}");
    });
}

#[test]
fn last_receiver_that_leaves_ends_the_wait_for_it() {
    explore(|| {
        let (sender, receiver) = broadcast::lossless::<Message>(1);
        let other = sender.clone();
        let closed = thread::spawn(move || block_on(other.closed()));
        let leaving = thread::spawn(move || drop(receiver));
        send(&sender, 0);
        leaving.join().unwrap();
        sender.close();
        closed.join().unwrap();
    });
}
