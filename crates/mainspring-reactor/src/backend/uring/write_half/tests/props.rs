//! The direction of writing against a model that keeps every byte that the kernel took.

use super::super::{OnWrite, WriteHalf};
use super::{Memory, boxed, completion, span};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Step {
    Send(u8),
    Poll,
    /// The kernel takes at most as many of what is left.
    Take(u8),
    Fail(i32),
    /// The ring has closed when the rest is to be sent; and somebody takes it up, or gives it up.
    RingCloses(u8),
    TakeUp(bool),
    Stop,
    Look,
    TakeDone,
    Drop,
    Forget,
    ShutDownLater,
}

fn step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![
        2 => Just(libc::EPIPE),
        1 => Just(libc::EINTR),
        1 => Just(libc::EAGAIN),
        1 => Just(libc::ECANCELED),
    ];
    prop_oneof![
        5 => (1_u8..20).prop_map(Step::Send),
        2 => Just(Step::Poll),
        8 => (0_u8..12).prop_map(Step::Take),
        2 => code.prop_map(Step::Fail),
        2 => (0_u8..12).prop_map(Step::RingCloses),
        3 => any::<bool>().prop_map(Step::TakeUp),
        1 => Just(Step::Stop),
        3 => Just(Step::Look),
        3 => Just(Step::TakeDone),
        2 => Just(Step::Drop),
        1 => Just(Step::Forget),
        1 => Just(Step::ShutDownLater),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Future {
    None,
    Waits,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    None,
    Poll,
    Send,
}

/// The half, said plainly, beside the real one.
struct Both {
    half: WriteHalf,
    op: Op,
    memory: Memory,
    sent: usize,
    future: Future,
    /// The memory is the half's.
    kept: bool,
    done: Option<Result<usize, i32>>,
    failed: Option<i32>,
    stopping: bool,
    shuts_down: bool,
    /// With nobody.
    left: bool,
}

impl Both {
    fn new() -> Self {
        Self {
            half: WriteHalf::new(),
            op: Op::None,
            memory: Arc::from([]),
            sent: 0,
            future: Future::None,
            kept: false,
            done: None,
            failed: None,
            stopping: false,
            shuts_down: false,
            left: false,
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Send(bytes) => self.send(usize::from(bytes)),
            Step::Poll if self.may_begin() => {
                self.half.begin_poll();
                self.op = Op::Poll;
            }
            Step::Take(_) | Step::Fail(_) if !self.left => _ = self.complete(step),
            Step::RingCloses(count) if !self.left => self.close_ring(count),
            Step::TakeUp(finds_a_ring) if self.left => {
                self.half.taken_up();
                self.left = false;
                if !finds_a_ring {
                    self.apply(Step::Stop);
                    self.apply(Step::Fail(libc::ECANCELED));
                }
            }
            Step::Stop => {
                let asks = self.op != Op::None && !self.left && !self.stopping;
                assert_eq!(self.half.stop(), asks);
                self.stopping |= asks;
            }
            Step::Look => {
                let expected = match (self.op, self.failed) {
                    (Op::None, Some(code)) => {
                        self.failed = None;
                        OnWrite::Failed(code)
                    }
                    (Op::None, None) => OnWrite::Idle,
                    _ => OnWrite::Wait,
                };
                assert_eq!(self.half.look(), expected);
            }
            Step::TakeDone if self.future == Future::Waits => {
                let done = self.done.take();
                assert_eq!(self.half.take_done(), done);
                if done.is_some() {
                    self.future = Future::None;
                }
            }
            Step::Drop if self.future == Future::Waits => self.drop_future(),
            Step::Forget if self.future == Future::Waits => self.future = Future::Gone,
            // Whoever comes takes up first what is left.
            Step::ShutDownLater if !self.left => {
                self.shuts_down = self.op == Op::Send;
                assert_eq!(self.half.shut_down_later(), !self.shuts_down);
            }
            _ => {}
        }
        assert_eq!(self.half.is_in_flight(), self.op != Op::None);
        assert_eq!(self.half.is_sending(), self.op == Op::Send);
        let awaited = self.op == Op::Send && !self.kept;
        assert_eq!(self.half.is_awaited(), awaited);
        let left = self.half.left().map(|rest| (rest.start, rest.bytes));
        let rest = &self.memory[self.sent..];
        assert_eq!(left, self.left.then_some((rest.as_ptr(), rest.len())));
        // One here, one in the half or not.
        assert_eq!(Arc::strong_count(&self.memory), 1 + usize::from(self.kept));
    }

    fn may_begin(&self) -> bool {
        // The stream is borrowed by its one writer, who looks first.
        self.op == Op::None && self.failed.is_none() && self.future != Future::Waits
    }

    fn send(&mut self, bytes: usize) {
        if !self.may_begin() {
            return;
        }
        self.memory = (0..bytes).map(|place| place as u8).collect();
        self.half.begin_send(span(&self.memory));
        self.op = Op::Send;
        self.sent = 0;
        self.future = Future::Waits;
        if let Some(Err(code)) = self.done.take() {
            self.failed = Some(code);
        }
    }

    fn close_ring(&mut self, count: u8) {
        if self.complete(Step::Take(count)) {
            self.left = !self.shuts_down;
            assert_eq!(self.half.leave(), self.left);
        }
    }

    /// Returns whether the rest is to be sent.
    fn complete(&mut self, step: Step) -> bool {
        if self.op == Op::None {
            return false;
        }
        let left = self.memory.len() - self.sent;
        let result = match step {
            Step::Take(count) => Ok(usize::from(count).min(left)),
            Step::Fail(code) => Err(code),
            _ => unreachable!(),
        };
        let raw = result.map_or_else(|code| -code, |count| count as i32);
        let owes = self.half.completed(completion(raw));
        if self.op == Op::Poll {
            assert!(owes.wakes && owes.is_last && owes.rest.is_none());
            (self.op, self.stopping) = (Op::None, false);
            return false;
        }
        self.sent += result.unwrap_or(0);
        let goes_on = !self.stopping
            && match result {
                Ok(count) => count > 0 && self.sent < self.memory.len(),
                Err(code) => code != libc::EPIPE,
            };
        if goes_on {
            let rest = owes.rest.expect("it is given up");
            // Exactly what the kernel has not taken.
            assert_eq!(rest.start, self.memory[self.sent..].as_ptr());
            assert_eq!(rest.bytes, self.memory.len() - self.sent);
            assert!(!owes.wakes && !owes.is_last && owes.garbage.is_none());
            return true;
        }
        assert!(owes.wakes && owes.is_last && owes.rest.is_none());
        assert_eq!(owes.shuts_down, std::mem::take(&mut self.shuts_down));
        assert_eq!(owes.garbage.is_some(), std::mem::take(&mut self.kept));
        if self.future == Future::Gone && owes.garbage.is_some() {
            self.failed = result.err().or(self.failed);
        } else {
            self.done = Some(match result {
                Err(code) if self.sent == 0 => Err(code),
                _ => Ok(self.sent),
            });
            self.failed = result.err().filter(|_| self.sent > 0).or(self.failed);
        }
        (self.op, self.stopping) = (Op::None, false);
        false
    }

    fn drop_future(&mut self) {
        let unneeded = self.half.detach(boxed(&self.memory));
        self.future = Future::Gone;
        match self.done.take() {
            Some(done) => {
                assert!(unneeded.is_some());
                if let Err(code) = done {
                    self.failed = Some(code);
                }
            }
            None => {
                assert!(unneeded.is_none());
                self.kept = true;
            }
        }
    }
}

proptest! {
    // WITNESS: write-half.one, write-half.whole, write-half.kept, write-half.told, write-half.left
    #[test]
    fn any_order_of_calls_and_completions_is_like_the_naive_model(
        steps in prop::collection::vec(step(), 1..100)
    ) {
        let mut both = Both::new();
        for step in steps {
            both.apply(step);
        }
    }
}
