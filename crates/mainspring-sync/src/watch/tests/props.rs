//! Random operations against a model: versions as plain numbers.

use crate::watch::{Receiver, RecvError, Sender, channel};
use proptest::prelude::*;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[derive(Clone, Copy, Debug)]
enum Op {
    Send(u32),
    Modify,
    IfModified(bool),
    Subscribe,
    Clone(usize),
    Drop(usize),
    Changed(usize),
    WaitFor(usize, u32),
    Update(usize),
    MarkChanged(usize),
    MarkUnchanged(usize),
    DropSender,
}

fn op() -> impl Strategy<Value = Op> {
    let at = || 0_usize..6;
    prop_oneof![
        6 => (0_u32..5).prop_map(Op::Send),
        2 => Just(Op::Modify),
        2 => any::<bool>().prop_map(Op::IfModified),
        2 => Just(Op::Subscribe),
        2 => at().prop_map(Op::Clone),
        2 => at().prop_map(Op::Drop),
        6 => at().prop_map(Op::Changed),
        4 => (at(), 0_u32..5).prop_map(|(at, value)| Op::WaitFor(at, value)),
        3 => at().prop_map(Op::Update),
        1 => at().prop_map(Op::MarkChanged),
        1 => at().prop_map(Op::MarkUnchanged),
        1 => Just(Op::DropSender),
    ]
}

/// A receiver, and the version that it has seen.
type Pair = (Receiver<u32>, i64);

#[derive(Default)]
struct Model {
    sender: Option<Sender<u32>>,
    value: u32,
    version: i64,
    pairs: Vec<Pair>,
}

impl Model {
    fn send(&mut self, op: Op) {
        let Some(sender) = &self.sender else { return };
        match op {
            Op::Send(next) => {
                assert_eq!(sender.send_replace(next), self.value);
                (self.value, self.version) = (next, self.version + 1);
            }
            Op::Modify => {
                sender.send_modify(|value| *value += 1);
                (self.value, self.version) = (self.value + 1, self.version + 1);
            }
            Op::IfModified(is_change) => {
                assert_eq!(sender.send_if_modified(|_| is_change), is_change);
                self.version += i64::from(is_change);
            }
            Op::Subscribe => self.pairs.push((sender.subscribe(), self.version)),
            Op::DropSender => self.sender = None,
            _ => {}
        }
    }

    fn receive(&mut self, op: Op, at: usize) {
        let mut cx = Context::from_waker(Waker::noop());
        let len = self.pairs.len();
        if len == 0 {
            return;
        }
        let (value, version) = (self.value, self.version);
        let is_open = self.sender.is_some();
        let (receiver, seen) = &mut self.pairs[at % len];
        match op {
            Op::Clone(_) => {
                let clone = (receiver.clone(), *seen);
                self.pairs.push(clone);
                return;
            }
            Op::Drop(_) => {
                drop(self.pairs.swap_remove(at % len));
                return;
            }
            Op::MarkChanged(_) => {
                receiver.mark_changed();
                *seen = version - 1;
                return;
            }
            Op::Changed(_) => {
                let expected = match is_open {
                    _ if *seen != version => Poll::Ready(Ok(())),
                    true => Poll::Pending,
                    false => Poll::Ready(Err(RecvError)),
                };
                assert_eq!(pin!(receiver.changed()).poll(&mut cx), expected);
            }
            Op::WaitFor(_, wanted) => {
                match pin!(receiver.wait_for(|value| *value == wanted)).poll(&mut cx) {
                    Poll::Ready(Ok(found)) => assert_eq!((*found, wanted), (value, value)),
                    Poll::Ready(Err(_)) => assert!(!is_open && value != wanted),
                    Poll::Pending => assert!(is_open && value != wanted),
                }
            }
            Op::Update(_) => assert_eq!(*receiver.borrow_and_update(), value),
            _ => receiver.mark_unchanged(),
        }
        *seen = version;
    }

    fn check(&self) {
        for (receiver, seen) in &self.pairs {
            assert_eq!(*receiver.borrow(), self.value);
            assert_eq!(receiver.has_changed(), *seen != self.version);
            assert_eq!(receiver.is_closed(), self.sender.is_none());
        }
        if let Some(sender) = &self.sender {
            assert_eq!(sender.receiver_count(), self.pairs.len());
        }
    }
}

proptest! {
    // WITNESS: watch.version, watch.sent
    #[test]
    fn any_schedule_is_that_of_the_model(ops in prop::collection::vec(op(), 1..100)) {
        let (sender, receiver) = channel(0);
        let mut model = Model {
            sender: Some(sender),
            pairs: vec![(receiver, 0)],
            ..Model::default()
        };
        for op in ops {
            match op {
                Op::Clone(at)
                | Op::Drop(at)
                | Op::Changed(at)
                | Op::WaitFor(at, _)
                | Op::Update(at)
                | Op::MarkChanged(at)
                | Op::MarkUnchanged(at) => model.receive(op, at),
                _ => model.send(op),
            }
            model.check();
        }
    }
}
