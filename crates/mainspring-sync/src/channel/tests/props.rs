//! Random futures, polled and dropped at random, against a ledger of the messages.

use super::kit::Hand;
use crate::channel::blocks::Blocks;
use crate::channel::store::Store;
use crate::channel::{
    Permit, Receiver, Recv, Reserve, Send, Sender, TrySendError, bounded, channel, unbounded,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::task::Poll;

const PRODUCERS: usize = 3;

/// What happened to each message.
#[derive(Default)]
struct Ledger {
    dropped: BTreeMap<(usize, u32), u32>,
    received: Vec<(usize, u32)>,
    made: u32,
}

struct Message<'a> {
    id: (usize, u32),
    ledger: &'a RefCell<Ledger>,
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        *self.ledger.borrow_mut().dropped.entry(self.id).or_default() += 1;
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    TrySend(usize),
    Force(usize),
    Recv,
    TryRecv,
    Reserve,
    Redeem(usize),
    Poll(usize),
    Drop(usize),
    Take(usize),
    PollWoken,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..PRODUCERS).prop_map(Step::Send),
        6 => (0..PRODUCERS).prop_map(Step::TrySend),
        2 => (0..PRODUCERS).prop_map(Step::Force),
        10 => Just(Step::Recv),
        8 => Just(Step::TryRecv),
        5 => Just(Step::Reserve),
        5 => any::<usize>().prop_map(Step::Redeem),
        15 => any::<usize>().prop_map(Step::Poll),
        8 => any::<usize>().prop_map(Step::Drop),
        3 => any::<usize>().prop_map(Step::Take),
        10 => Just(Step::PollWoken),
        1 => Just(Step::Close),
    ]
}

enum Pending<'a, 'm> {
    Send(usize, Hand<Send<'a, Message<'m>>>),
    Recv(Hand<Recv<'a, Message<'m>>>),
    Reserve(Hand<Reserve<'a, Message<'m>>>),
}

struct World<'a, 'm> {
    tx: &'a Sender<Message<'m>>,
    rx: &'a Receiver<Message<'m>>,
    ledger: &'m RefCell<Ledger>,
    pending: Vec<Pending<'a, 'm>>,
    permits: Vec<Permit<'a, Message<'m>>>,
    next: [u32; PRODUCERS],
}

impl<'a, 'm> World<'a, 'm> {
    fn message(&mut self, producer: usize) -> Message<'m> {
        let id = (producer, self.next[producer]);
        self.next[producer] += 1;
        self.ledger.borrow_mut().made += 1;
        Message {
            id,
            ledger: self.ledger,
        }
    }

    fn receive(&self, message: Message<'m>) {
        self.ledger.borrow_mut().received.push(message.id);
    }

    /// A producer has one send at a time, or the order of its messages means nothing.
    fn is_sending(&self, producer: usize) -> bool {
        let sends =
            |pending: &Pending<'_, '_>| matches!(pending, Pending::Send(p, _) if *p == producer);
        self.pending.iter().any(sends)
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Send(p) | Step::TrySend(p) | Step::Force(p) if self.is_sending(p) => {}
            Step::Send(producer) => {
                let send = self.tx.send(self.message(producer));
                self.pending.push(Pending::Send(producer, Hand::new(send)));
                self.poll(self.pending.len() - 1);
            }
            Step::TrySend(producer) => {
                let message = self.message(producer);
                match self.tx.try_send(message) {
                    Err(TrySendError::Full(_)) => assert!(!self.rx.is_closed()),
                    Err(TrySendError::Closed(_)) => assert!(self.rx.is_closed()),
                    Ok(()) => {}
                }
            }
            Step::Force(producer) => {
                let message = self.message(producer);
                let before = self.rx.len();
                if let Ok(replaced) = self.tx.force_send(message) {
                    let after = before + 1 - usize::from(replaced.is_some());
                    assert_eq!(self.rx.len(), after);
                }
            }
            Step::Recv => {
                self.pending.push(Pending::Recv(Hand::new(self.rx.recv())));
                self.poll(self.pending.len() - 1);
            }
            Step::TryRecv => {
                if let Ok(message) = self.rx.try_recv() {
                    self.receive(message);
                }
            }
            Step::Reserve => {
                let reserve = Hand::new(self.tx.reserve());
                self.pending.push(Pending::Reserve(reserve));
                self.poll(self.pending.len() - 1);
            }
            Step::Redeem(index) if !self.permits.is_empty() => {
                let permit = self.permits.remove(index % self.permits.len());
                // The producers of permits are nobody else's.
                let id = (PRODUCERS, self.ledger.borrow().made);
                self.ledger.borrow_mut().made += 1;
                let ledger = self.ledger;
                assert!(permit.send(Message { id, ledger }).is_ok());
            }
            Step::Poll(index) if !self.pending.is_empty() => self.poll(index % self.pending.len()),
            Step::Drop(index) if !self.pending.is_empty() => {
                let index = index % self.pending.len();
                drop(self.pending.remove(index));
            }
            Step::Take(index) if !self.pending.is_empty() => {
                let index = index % self.pending.len();
                if let Pending::Send(_, hand) = &mut self.pending[index] {
                    assert!(hand.future.as_mut().take().is_some());
                    drop(self.pending.remove(index));
                }
            }
            Step::PollWoken => self.poll_woken(),
            Step::Close => self.tx.close(),
            Step::Redeem(_) | Step::Poll(_) | Step::Drop(_) | Step::Take(_) => {}
        }
    }

    fn poll(&mut self, index: usize) {
        let is_done = match &mut self.pending[index] {
            Pending::Send(_, hand) => hand.poll().is_ready(),
            Pending::Recv(hand) => match hand.poll() {
                Poll::Ready(Ok(message)) => {
                    self.ledger.borrow_mut().received.push(message.id);
                    true
                }
                Poll::Ready(Err(_)) => {
                    assert!(self.rx.is_closed() && self.rx.is_empty());
                    assert!(self.permits.is_empty());
                    true
                }
                Poll::Pending => false,
            },
            Pending::Reserve(hand) => match hand.poll() {
                Poll::Ready(permit) => {
                    self.permits.extend(permit);
                    true
                }
                Poll::Pending => false,
            },
        };
        if is_done {
            drop(self.pending.remove(index));
        }
    }

    /// Polls those that were woken, until nobody was.
    fn poll_woken(&mut self) {
        let is_woken = |pending: &Pending<'_, '_>| match pending {
            Pending::Send(_, hand) => hand.wakes() > 0,
            Pending::Recv(hand) => hand.wakes() > 0,
            Pending::Reserve(hand) => hand.wakes() > 0,
        };
        while let Some(index) = self.pending.iter().position(is_woken) {
            self.poll(index);
        }
    }

    /// When all that were woken have looked, nobody sleeps who could go on.
    fn check_that_nobody_sleeps_in_vain(&mut self) {
        self.poll_woken();
        let receivers = self
            .pending
            .iter()
            .filter(|p| matches!(p, Pending::Recv(_)));
        let receivers = receivers.count();
        let senders = self.pending.len() - receivers;
        if receivers > 0 {
            assert!(self.rx.is_empty(), "a message, and a receiver that sleeps");
            let is_over = self.rx.is_closed() && self.permits.is_empty();
            assert!(!is_over, "the end, and a receiver that sleeps");
        }
        if senders > 0 {
            assert!(self.rx.is_full(), "room, and a sender that sleeps");
            assert!(!self.rx.is_closed(), "the end, and a sender that sleeps");
        }
        assert_eq!(self.rx.shared().waiting(), (senders, receivers));
    }
}

fn check_order(received: &[(usize, u32)]) {
    let mut last = [None; PRODUCERS];
    for (producer, number) in received.iter().filter(|(p, _)| *p < PRODUCERS) {
        assert!(last[*producer] < Some(*number), "out of order");
        last[*producer] = Some(*number);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // WITNESS: channel.room, channel.notes, channel.last, ask.holds, permit.once
    /// S1, S2, S8, S9, B166, B169, B172: messages are conserved and nobody is forgotten, whatever
    /// is dropped when.
    #[test]
    fn messages_are_conserved_whatever_is_dropped_when(
        capacity in prop::option::weighted(0.8, 1_usize..=4),
        in_blocks in any::<bool>(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let ledger = RefCell::new(Ledger::default());
        {
            let (tx, rx) = match capacity {
                None => unbounded(),
                Some(_) if in_blocks => channel(Store::Blocks(Box::new(Blocks::new(capacity)))),
                Some(capacity) => bounded(capacity),
            };
            let mut world = World {
                tx: &tx,
                rx: &rx,
                ledger: &ledger,
                pending: Vec::new(),
                permits: Vec::new(),
                next: [0; PRODUCERS],
            };
            for step in steps {
                world.apply(step);
                let most = capacity.unwrap_or(usize::MAX);
                assert!(world.rx.len() + world.permits.len() <= most);
            }
            world.check_that_nobody_sleeps_in_vain();
            drop(std::mem::take(&mut world.pending));
            drop(std::mem::take(&mut world.permits));
            // Nothing of what they had is lost.
            if let Some(capacity) = capacity.filter(|_| !tx.is_closed()) {
                let room = std::iter::from_fn(|| tx.try_reserve().ok()).collect::<Vec<_>>();
                assert_eq!(room.len() + tx.len(), capacity);
            }
        }
        let ledger = ledger.into_inner();
        check_order(&ledger.received);
        prop_assert_eq!(ledger.dropped.len() as u32, ledger.made, "each was dropped");
        prop_assert!(ledger.dropped.values().all(|drops| *drops == 1), "and once");
    }
}
