//! Random tasks that send, reserve, receive and give up, through the whole of the shell.

use super::support::{Counter, poll, poll_once};
use crate::broadcast::{Receiver, RecvError, SendError, Sender, Slow, TryRecvError, lossless};
use mainspring_core::budget;
use mainspring_core::poll::root;
use proptest::prelude::*;
use proptest::sample::Index;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

type Message = Arc<usize>;
type Sending<'a> = Pin<Box<crate::broadcast::Send<'a, Message>>>;

#[derive(Clone, Debug)]
enum Op {
    /// A new send, polled once; with a spent budget, which costs it a turn.
    Send(bool),
    PollSend(Index),
    DropSend(Index),
    TakeSend(Index),
    Recv(Index),
    /// A receive polled and dropped, ready or not.
    CancelRecv(Index),
    Subscribe(bool),
    Leave(Index),
    Reserve,
    DropPermit(Index),
    UsePermit(Index),
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    prop_oneof![
        6 => prop::bool::weighted(0.3).prop_map(Op::Send),
        4 => index().prop_map(Op::PollSend),
        1 => index().prop_map(Op::DropSend),
        1 => index().prop_map(Op::TakeSend),
        6 => index().prop_map(Op::Recv),
        2 => index().prop_map(Op::CancelRecv),
        1 => any::<bool>().prop_map(Op::Subscribe),
        1 => index().prop_map(Op::Leave),
        1 => Just(Op::Reserve),
        1 => index().prop_map(Op::DropPermit),
        1 => index().prop_map(Op::UsePermit),
    ]
}

/// A receiver and what it should still see: numbers in the order in which they were sent.
struct Reader {
    receiver: Receiver<Message>,
    next: usize,
    lags: bool,
}

struct Rig<'a> {
    sender: &'a Sender<Message>,
    /// With what woke it.
    sends: Vec<(usize, Sending<'a>, Arc<Counter>, Waker)>,
    permits: Vec<crate::broadcast::Permit<'a, Message>>,
    readers: Vec<Reader>,
    sent: Vec<usize>,
    /// What came back or was given up, and is dropped.
    made: Vec<Message>,
}

impl<'a> Rig<'a> {
    fn message(&mut self) -> (usize, Message) {
        let message = Arc::new(self.made.len());
        self.made.push(Arc::clone(&message));
        (*message, message)
    }

    fn poll_send(&mut self, at: usize) {
        let (number, send, _, waker) = &mut self.sends[at];
        match poll(send.as_mut(), waker) {
            Poll::Pending => return,
            Poll::Ready(Ok(())) => self.sent.push(*number),
            Poll::Ready(Err(error)) => {
                assert!(matches!(error, SendError::NoReceivers(_)));
                assert!(self.readers.is_empty());
                assert_eq!(*error.into_inner(), *number);
            }
        }
        drop(self.sends.remove(at));
    }

    fn receive(&mut self, at: usize) {
        let reader = &mut self.readers[at];
        match reader.receiver.try_recv() {
            Ok(message) => {
                assert_eq!(self.sent.get(reader.next), Some(&*message));
                reader.next += 1;
            }
            Err(TryRecvError::Empty) => assert_eq!(reader.next, self.sent.len()),
            Err(TryRecvError::Lagged(lost)) => {
                assert!(reader.lags && lost > 0);
                reader.next += usize::try_from(lost).unwrap();
                assert!(reader.next < self.sent.len());
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn run(&mut self, op: Op) {
        let (sends, readers, permits) = (self.sends.len(), self.readers.len(), self.permits.len());
        match op {
            Op::Send(spent) => {
                let (number, message) = self.message();
                let (counter, waker) = Counter::new();
                let send = Box::pin(self.sender.send(message));
                self.sends.push((number, send, counter, waker));
                if spent {
                    let (_, send, counter, waker) = &mut self.sends[sends];
                    assert!(root(|| {
                        while !budget::is_spent() {
                            budget::consume();
                        }
                        poll(send.as_mut(), waker).is_pending()
                    }));
                    assert_eq!(counter.calls(), 1);
                } else {
                    self.poll_send(sends);
                }
            }
            Op::PollSend(at) if sends > 0 => self.poll_send(at.index(sends)),
            Op::DropSend(at) if sends > 0 => drop(self.sends.remove(at.index(sends))),
            Op::TakeSend(at) if sends > 0 => {
                let (number, mut send, ..) = self.sends.remove(at.index(sends));
                assert_eq!(send.as_mut().take().as_deref(), Some(&number));
                assert_eq!(send.as_mut().take(), None);
            }
            Op::Recv(at) if readers > 0 => self.receive(at.index(readers)),
            Op::CancelRecv(at) if readers > 0 => {
                let reader = &mut self.readers[at.index(readers)];
                let is_empty = reader.next == self.sent.len();
                let mut copy = reader.receiver.clone();
                let polled = poll_once(std::pin::pin!(copy.recv()));
                assert_eq!(polled.is_pending(), is_empty);
                assert_ne!(polled, Poll::Ready(Err(RecvError::Closed)));
            }
            Op::Subscribe(lags) => {
                let slow = if lags { Slow::Lag } else { Slow::Wait };
                self.readers.push(Reader {
                    receiver: self.sender.subscribe_with(slow),
                    next: self.sent.len(),
                    lags,
                });
            }
            Op::Leave(at) if readers > 0 => drop(self.readers.remove(at.index(readers))),
            Op::Reserve => {
                if let Poll::Ready(Ok(permit)) = poll_once(Box::pin(self.sender.reserve()).as_mut())
                {
                    self.permits.push(permit);
                }
            }
            Op::DropPermit(at) if permits > 0 => drop(self.permits.remove(at.index(permits))),
            Op::UsePermit(at) if permits > 0 => {
                let (number, message) = self.message();
                let permit = self.permits.remove(at.index(permits));
                match permit.send(message) {
                    Ok(()) => self.sent.push(number),
                    Err(error) => assert!(!error.is_closed() && self.readers.is_empty()),
                }
            }
            _ => {}
        }
    }

    /// Nobody sleeps who could go on: whoever was woken is polled, until nothing moves; then a
    /// send is left only if a reader that is waited for, or a permit, has all the room.
    fn settle(&mut self) {
        let mut polled = true;
        while polled {
            polled = false;
            for at in (0..self.sends.len()).rev() {
                let (.., counter, _) = &self.sends[at];
                if counter.calls() > 0 {
                    polled = true;
                    self.sends[at].2 = Arc::default();
                    self.sends[at].3 = Waker::from(Arc::clone(&self.sends[at].2));
                    self.poll_send(at);
                    break;
                }
            }
        }
        if self.sends.is_empty() {
            return;
        }
        let held = self.readers.iter().filter(|reader| !reader.lags);
        let slowest = held.map(|reader| reader.next).min();
        let pinned = self.sent.len() - slowest.unwrap_or(self.sent.len());
        assert_eq!(pinned + self.permits.len(), self.sender.capacity());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    // S1, S2, S9, S16; B172: whatever is cancelled when, messages and room are conserved
    #[test]
    fn whatever_is_cancelled_messages_and_room_are_conserved(
        capacity in 1usize..4,
        ops in prop::collection::vec(op(), 1..100),
    ) {
        let (sender, receiver) = lossless(capacity);
        let mut rig = Rig {
            sender: &sender,
            sends: Vec::new(),
            permits: Vec::new(),
            readers: vec![Reader { receiver, next: 0, lags: false }],
            sent: Vec::new(),
            made: Vec::new(),
        };
        for op in ops {
            rig.run(op);
            // Now and then several things happen before anybody is polled.
            if rig.made.len() % 3 != 0 {
                rig.settle();
            }
        }
        rig.readers.clear();
        rig.permits.clear();
        rig.settle();
        prop_assert!(rig.sends.is_empty());
        prop_assert!(rig.made.iter().all(|message| Arc::strong_count(message) == 1));
        prop_assert_eq!(sender.len(), 0);
        prop_assert_eq!(sender.try_send(Arc::default()).unwrap_err().is_full(), false);
    }
}
