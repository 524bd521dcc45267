//! Closing, from either side, against sends, permits and receives that may be given up.

use crate::ODDS;
use crate::ledger::{InOrder, Ledger, Parcel};
use mainspring_core::sync::{below, block_on, explore, thread, wait_or_drop};
use mainspring_sync::channel::{self, Receiver, Sender, rendezvous};

/// One of the shapes that a channel has, so small that senders wait.
fn any_channel() -> (Sender<Parcel>, Receiver<Parcel>) {
    match below(3) {
        0 => channel::bounded(1),
        1 => channel::bounded(2),
        _ => channel::unbounded(),
    }
}

/// Sends `count` parcels in one way or another. How many were sent.
fn send(sender: &Sender<Parcel>, ledger: &Ledger, name: u32, count: u32) -> usize {
    let send_one = |number| {
        let parcel = ledger.parcel(name, number);
        match below(4) {
            0 => sender.try_send(parcel).is_ok(),
            1 => match wait_or_drop(ODDS, sender.reserve()) {
                Some(Ok(permit)) if below(ODDS) != 0 => permit.send(parcel).is_ok(),
                _ => false,
            },
            2 => match wait_or_drop(ODDS, sender.clone().reserve_owned()) {
                Some(Ok(permit)) if below(ODDS) != 0 => permit.send(parcel).is_ok(),
                _ => false,
            },
            _ => matches!(wait_or_drop(ODDS, sender.send(parcel)), Some(Ok(()))),
        }
    };
    (0..count).filter(|number| send_one(*number)).count()
}

/// Receives until it is told that nothing comes any more.
fn receive(receiver: &Receiver<Parcel>) {
    let mut order = InOrder::default();
    loop {
        let mut many = Vec::new();
        let is_over = match below(3) {
            0 => match wait_or_drop(ODDS, receiver.recv_many(&mut many, 2)) {
                Some(result) => result == Err(channel::Closed),
                None => false,
            },
            1 => match receiver.try_recv() {
                Ok(parcel) => {
                    many.push(parcel);
                    false
                }
                Err(error) => error.is_closed(),
            },
            _ => match wait_or_drop(ODDS, receiver.recv()) {
                Some(Ok(parcel)) => {
                    many.push(parcel);
                    false
                }
                Some(Err(channel::Closed)) => true,
                None => false,
            },
        };
        many.into_iter().for_each(|it| order.next(it.receive()));
        if is_over {
            return;
        }
        thread::yield_now();
    }
}

#[test]
fn what_was_sent_before_the_close_is_received_and_nothing_else() {
    explore(|| {
        let ledger = Ledger::default();
        let (sender, receiver) = any_channel();
        let senders: Vec<_> = (0..2)
            .map(|name| {
                let (sender, ledger) = (sender.clone(), ledger.clone());
                thread::spawn(move || send(&sender, &ledger, name, 3))
            })
            .collect();
        let other = receiver.clone();
        let receivers =
            [receiver.clone(), receiver].map(|receiver| thread::spawn(move || receive(&receiver)));
        match below(3) {
            0 => other.close(),
            1 => sender.close(),
            _ => {}
        }
        drop((sender, other));
        let sent: usize = senders.into_iter().map(|it| it.join().unwrap()).sum();
        for receiver in receivers {
            receiver.join().unwrap();
        }
        assert_eq!(ledger.settle(), sent);
    });
}

#[test]
fn receivers_that_leave_release_senders_and_messages() {
    explore(|| {
        let ledger = Ledger::default();
        let (sender, receiver) = channel::bounded(1 + below(2) as usize);
        // They send until nobody is left to receive, and wait for room until then.
        let senders: Vec<_> = (0..2)
            .map(|name| {
                let (sender, ledger) = (sender.clone(), ledger.clone());
                thread::spawn(move || {
                    let mut numbers = 0..;
                    let is_sent = |number| block_on(sender.send(ledger.parcel(name, number)));
                    numbers.find(|number| is_sent(*number).is_err())
                })
            })
            .collect();
        let closed = thread::spawn(move || block_on(sender.closed()));
        let receivers = [receiver.clone(), receiver].map(|receiver| {
            thread::spawn(move || {
                let mut order = InOrder::default();
                for _ in 0..below(3) {
                    if let Some(Ok(parcel)) = wait_or_drop(3, receiver.recv()) {
                        order.next(parcel.receive());
                    }
                }
            })
        });
        for receiver in receivers {
            receiver.join().unwrap();
        }
        closed.join().unwrap();
        let sent = senders.into_iter().map(|it| it.join().unwrap());
        let sent: u32 = sent.map(Option::unwrap_or_default).sum();
        assert!(ledger.settle() <= sent as usize);
    });
}

/// How many of three a sender knows to have been taken, and how many it gave up on.
fn meet(sender: &rendezvous::Sender<Parcel>, ledger: &Ledger, name: u32) -> (usize, usize) {
    let (mut sent, mut given_up) = (0, 0);
    for number in 0..3 {
        let parcel = ledger.parcel(name, number);
        match below(3) {
            0 => sent += usize::from(sender.try_send(parcel).is_ok()),
            _ => match wait_or_drop(ODDS, sender.send(parcel)) {
                Some(result) => sent += usize::from(result.is_ok()),
                // It may have been taken all the same.
                None => given_up += 1,
            },
        }
    }
    (sent, given_up)
}

/// A meeting may be given up by either side, and closed by a third.
#[test]
fn rendezvous_hands_over_once_or_hands_back() {
    explore(|| {
        let ledger = Ledger::default();
        let (sender, receiver) = channel::rendezvous();
        let senders: Vec<_> = (0..2)
            .map(|name| {
                let (sender, ledger) = (sender.clone(), ledger.clone());
                thread::spawn(move || meet(&sender, &ledger, name))
            })
            .collect();
        let other = receiver.clone();
        let blocked = thread::spawn(move || {
            let mut order = InOrder::default();
            while let Ok(parcel) = other.recv_blocking() {
                order.next(parcel.receive());
            }
        });
        let task = thread::spawn(move || {
            let mut order = InOrder::default();
            loop {
                match wait_or_drop(ODDS, receiver.recv()) {
                    Some(Ok(parcel)) => order.next(parcel.receive()),
                    Some(Err(channel::Closed)) => return,
                    None => thread::yield_now(),
                }
            }
        });
        if below(2) == 0 {
            sender.close();
        }
        drop(sender);
        let (mut sent, mut given_up) = (0, 0);
        for sender in senders {
            let (theirs, their_doubts) = sender.join().unwrap();
            sent += theirs;
            given_up += their_doubts;
        }
        blocked.join().unwrap();
        task.join().unwrap();
        let received = ledger.settle();
        let possible = sent..=sent + given_up;
        assert!(possible.contains(&received), "{received} of {possible:?}");
    });
}
