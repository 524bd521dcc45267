//! Random futures, polled and dropped at random, against a ledger of the messages.

use super::behaviour::poll_spent;
use crate::channel::rendezvous::recv::Blocked;
use crate::channel::rendezvous::{Receiver, Recv, Send, Sender};
use crate::channel::tests::kit::Hand;
use crate::channel::{self, Closed, TryRecvError, TrySendError};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::task::Poll;

/// What happened to each message.
#[derive(Default)]
struct Ledger {
    dropped: BTreeMap<u32, u32>,
    received: Vec<u32>,
    made: u32,
}

struct Message<'a> {
    id: u32,
    ledger: &'a RefCell<Ledger>,
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        *self.ledger.borrow_mut().dropped.entry(self.id).or_default() += 1;
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    /// In a poll that has used up its budget.
    SendSpent,
    TrySend,
    Recv,
    RecvSpent,
    /// As a thread that blocks.
    Block,
    TryRecv,
    Poll(usize),
    PollSpent(usize),
    PollWoken,
    Drop(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => Just(Step::Send),
        4 => Just(Step::SendSpent),
        6 => Just(Step::TrySend),
        8 => Just(Step::Recv),
        3 => Just(Step::RecvSpent),
        5 => Just(Step::Block),
        5 => Just(Step::TryRecv),
        15 => any::<usize>().prop_map(Step::Poll),
        5 => any::<usize>().prop_map(Step::PollSpent),
        10 => Just(Step::PollWoken),
        10 => any::<usize>().prop_map(Step::Drop),
        1 => Just(Step::Close),
    ]
}

/// What a poll may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Budget {
    Fresh,
    Spent,
}

impl Budget {
    fn poll<F: Future>(self, hand: &mut Hand<F>) -> Poll<F::Output> {
        match self {
            Self::Fresh => hand.poll(),
            Self::Spent => poll_spent(hand),
        }
    }
}

enum Pending<'a, 'm> {
    Send(u32, Hand<Send<'a, Message<'m>>>),
    Recv(Hand<Recv<'a, Message<'m>>>),
    Block(Hand<Blocked<'a, Message<'m>>>),
}

impl Pending<'_, '_> {
    fn is_woken(&self) -> bool {
        match self {
            Self::Send(_, hand) => hand.wakes() > 0,
            Self::Recv(hand) => hand.wakes() > 0,
            Self::Block(hand) => hand.wakes() > 0,
        }
    }
}

struct World<'a, 'm> {
    tx: &'a Sender<Message<'m>>,
    rx: &'a Receiver<Message<'m>>,
    ledger: &'m RefCell<Ledger>,
    pending: Vec<Pending<'a, 'm>>,
    /// The naive model: what is parked, oldest first.
    parked: VecDeque<u32>,
    /// What was put into the hands of a thread that has not looked since.
    handed: Vec<u32>,
    is_closed: bool,
}

impl<'a, 'm> World<'a, 'm> {
    fn message(&self) -> Message<'m> {
        let id = self.ledger.borrow().made;
        self.ledger.borrow_mut().made += 1;
        let ledger = self.ledger;
        Message { id, ledger }
    }

    /// It is the oldest that is parked, or one that was handed over.
    fn receive(&mut self, message: &Message<'m>, may_be_handed: bool) {
        let id = message.id;
        let at = self.handed.iter().position(|handed| *handed == id);
        match at {
            Some(at) if may_be_handed => drop(self.handed.remove(at)),
            _ => assert_eq!(self.parked.pop_front(), Some(id), "out of order"),
        }
        self.ledger.borrow_mut().received.push(id);
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Send => self.send(Budget::Fresh),
            Step::SendSpent => self.send(Budget::Spent),
            Step::TrySend => {
                let message = self.message();
                let id = message.id;
                match self.tx.try_send(message) {
                    Ok(()) => {
                        assert!(self.parked.is_empty(), "it has overtaken");
                        self.handed.push(id);
                    }
                    Err(TrySendError::Full(message)) => {
                        assert!(!self.is_closed && message.id == id);
                    }
                    Err(TrySendError::Closed(message)) => {
                        assert!(self.is_closed && message.id == id);
                    }
                }
            }
            Step::Recv => self.begin(Pending::Recv(Hand::new(self.rx.recv())), Budget::Fresh),
            Step::RecvSpent => self.begin(Pending::Recv(Hand::new(self.rx.recv())), Budget::Spent),
            Step::Block => self.begin(Pending::Block(Hand::new(self.rx.blocks())), Budget::Fresh),
            Step::TryRecv => match self.rx.try_recv() {
                Ok(message) => self.receive(&message, false),
                Err(TryRecvError::Empty) => {
                    assert!(self.parked.is_empty() && !self.is_closed);
                }
                Err(TryRecvError::Closed) => assert!(self.is_closed),
            },
            Step::Poll(index) if !self.pending.is_empty() => {
                self.poll(index % self.pending.len(), Budget::Fresh);
            }
            Step::PollSpent(index) if !self.pending.is_empty() => {
                self.poll(index % self.pending.len(), Budget::Spent);
            }
            Step::PollWoken => self.poll_woken(),
            Step::Drop(index) if !self.pending.is_empty() => self.give_up(index),
            Step::Close => {
                self.rx.close();
                self.is_closed = true;
                self.parked.clear();
            }
            Step::Poll(_) | Step::PollSpent(_) | Step::Drop(_) => {}
        }
    }

    fn begin(&mut self, pending: Pending<'a, 'm>, budget: Budget) {
        self.pending.push(pending);
        self.poll(self.pending.len() - 1, budget);
    }

    fn send(&mut self, budget: Budget) {
        let message = self.message();
        let id = message.id;
        let mut hand = Hand::new(self.tx.send(message));
        match budget.poll(&mut hand) {
            Poll::Pending => {
                self.parked.push_back(id);
                self.pending.push(Pending::Send(id, hand));
            }
            Poll::Ready(Ok(())) => {
                assert!(self.parked.is_empty(), "it has overtaken");
                self.handed.push(id);
            }
            Poll::Ready(Err(error)) => {
                assert!(self.is_closed);
                assert_eq!(error.into_inner().id, id);
            }
        }
    }

    fn give_up(&mut self, index: usize) {
        match self.pending.remove(index % self.pending.len()) {
            Pending::Send(id, mut hand) => {
                let was_received = self.ledger.borrow().received.contains(&id);
                self.parked.retain(|parked| *parked != id);
                // Half of them with their message.
                if id % 2 == 0 {
                    let back = hand.future.as_mut().take();
                    assert_eq!(
                        back.map(|message| message.id),
                        (!was_received).then_some(id)
                    );
                }
            }
            Pending::Recv(hand) => drop(hand),
            Pending::Block(mut hand) => {
                if let Some(message) = hand.future.as_mut().give_up() {
                    assert!(self.handed.contains(&message.id));
                    self.receive(&message, true);
                }
            }
        }
    }

    fn poll(&mut self, index: usize, budget: Budget) {
        let received = match &mut self.pending[index] {
            Pending::Send(id, hand) => {
                let id = *id;
                let Poll::Ready(sent) = budget.poll(hand) else {
                    assert!(budget == Budget::Spent || self.parked.contains(&id));
                    return;
                };
                let was_received = self.ledger.borrow().received.contains(&id);
                assert_eq!(sent.is_ok(), was_received);
                drop(self.pending.remove(index));
                return;
            }
            Pending::Recv(hand) => budget.poll(hand).map(|received| (received, false)),
            Pending::Block(hand) => hand.poll().map(|received| (received, true)),
        };
        match received {
            Poll::Pending => {}
            Poll::Ready((received, may_be_handed)) => {
                match received {
                    Ok(message) => self.receive(&message, may_be_handed),
                    Err(Closed) => assert!(self.is_closed),
                }
                drop(self.pending.remove(index));
            }
        }
    }

    /// Polls those that were woken, until nobody was.
    fn poll_woken(&mut self) {
        while let Some(index) = self.pending.iter().position(Pending::is_woken) {
            self.poll(index, Budget::Fresh);
        }
    }

    /// When all that were woken have looked, nobody sleeps who could go on.
    fn check_that_nobody_sleeps_in_vain(&mut self) {
        self.poll_woken();
        let is_send = |pending: &&Pending<'_, '_>| matches!(pending, Pending::Send(..));
        let sends = self.pending.iter().filter(is_send).count();
        let receives = self.pending.len() - sends;
        assert!(sends == 0 || receives == 0, "both sides sleep");
        assert!(
            !self.is_closed || self.pending.is_empty(),
            "told of the end"
        );
        assert!(self.handed.is_empty(), "in the hands of one that sleeps");
        assert_eq!(self.rx.waiting(), (sends, receives));
        assert_eq!(self.parked.len(), sends);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // WITNESS: meeting.once, meeting.pairs, meeting.seat, meeting.counted, letter.pinned
    /// S1, S8, S9, B166, B169, B172: messages are conserved and met in order, and nobody is
    /// forgotten, whatever is dropped when.
    #[test]
    fn messages_are_conserved_whatever_is_dropped_when(
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let ledger = RefCell::new(Ledger::default());
        {
            let (tx, rx) = channel::rendezvous();
            let mut world = World {
                tx: &tx,
                rx: &rx,
                ledger: &ledger,
                pending: Vec::new(),
                parked: VecDeque::new(),
                handed: Vec::new(),
                is_closed: false,
            };
            for step in steps {
                world.apply(step);
            }
            world.check_that_nobody_sleeps_in_vain();
        }
        let ledger = ledger.into_inner();
        prop_assert_eq!(ledger.dropped.len() as u32, ledger.made, "each was dropped");
        prop_assert!(ledger.dropped.values().all(|drops| *drops == 1), "and once");
    }
}
