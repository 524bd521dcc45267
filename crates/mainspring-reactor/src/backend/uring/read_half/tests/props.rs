//! The direction of reading against a model that keeps everything that ever arrived.

use super::super::{Body, OnCompleted, OnRead, PIECES_MAX, Piece, ReadHalf, Source};
use super::completion;
use crate::backend::uring::ring::Completed;
use crate::buf::Adopted;
use proptest::prelude::*;

const BUFFERS: usize = 40;

#[derive(Clone, Copy, Debug)]
enum Step {
    Begin(Source),
    /// The kernel brings bytes, and will or will not bring more.
    Bring(u8, bool),
    /// The other side ends, with or without a buffer having been taken for it.
    End(bool),
    /// An error, with or without a buffer.
    Fail(i32, bool),
    Stop,
    Look,
    ReadSome(u8),
    Pop,
    TakeOwned,
    DropOwned,
    ForgetOwned,
}

fn step() -> impl Strategy<Value = Step> {
    let source = prop_oneof![
        3 => Just(Source::Receive),
        2 => Just(Source::Owned),
        1 => Just(Source::Poll),
    ];
    let code = prop_oneof![
        Just(libc::ECONNRESET),
        Just(libc::ENOBUFS),
        Just(libc::ECANCELED),
        Just(libc::EINTR),
    ];
    prop_oneof![
        6 => source.prop_map(Step::Begin),
        9 => (1_u8..5, prop::bool::weighted(0.9)).prop_map(|(few, more)| Step::Bring(few, more)),
        1 => any::<bool>().prop_map(Step::End),
        3 => (code, any::<bool>()).prop_map(|(code, carries)| Step::Fail(code, carries)),
        1 => Just(Step::Stop),
        4 => Just(Step::Look),
        2 => (1_u8..4).prop_map(Step::ReadSome),
        3 => Just(Step::Pop),
        2 => Just(Step::TakeOwned),
        2 => Just(Step::DropOwned),
        1 => Just(Step::ForgetOwned),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Kernel,
    Half,
}

/// What has arrived: where it lies, and how much of it is unread.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    buffer: Option<u16>,
    start: usize,
    end: usize,
    /// What fills an owned one.
    mark: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NaiveEnd {
    NotYet,
    Ended,
    Failed(i32),
}

/// Whose the buffer of an owned receive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Future {
    None,
    Waits,
    Dropped,
    Forgotten,
}

/// The half, said plainly, beside the real one.
struct Both {
    half: ReadHalf,
    arrived: Vec<Arrived>,
    taken: usize,
    end: NaiveEnd,
    op: Option<Source>,
    asked: bool,
    starved: bool,
    future: Future,
    mark: u8,
    done: Option<Result<usize, i32>>,
    buffers: [Place; BUFFERS],
}

impl Both {
    fn new() -> Self {
        Self {
            half: ReadHalf::new(),
            arrived: Vec::new(),
            taken: 0,
            end: NaiveEnd::NotYet,
            op: None,
            asked: false,
            starved: false,
            future: Future::None,
            mark: 0,
            done: None,
            buffers: [Place::Kernel; BUFFERS],
        }
    }

    fn waiting(&self) -> usize {
        self.arrived.len() - self.taken
    }

    fn is_idle(&self) -> bool {
        self.waiting() == 0 && self.end == NaiveEnd::NotYet && self.op.is_none()
    }

    fn lend(&mut self) -> Option<u16> {
        let buffer = self.buffers.iter().position(|at| *at == Place::Kernel)?;
        self.buffers[buffer] = Place::Half;
        Some(buffer as u16)
    }

    /// Whoever has a number gives it up.
    fn back(&mut self, buffer: u16) {
        let place = &mut self.buffers[usize::from(buffer)];
        assert_eq!(*place, Place::Half, "a buffer in two places");
        *place = Place::Kernel;
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Begin(source) => self.begin(source),
            Step::Bring(..) | Step::End(_) | Step::Fail(..) => self.complete(step),
            Step::Stop => {
                assert_eq!(self.half.stop(), self.op.is_some() && !self.asked);
                self.asked |= self.op.is_some();
            }
            Step::Look => self.look(),
            Step::ReadSome(count) => self.read_some(usize::from(count)),
            Step::Pop => self.pop(),
            Step::TakeOwned if self.future == Future::Waits => {
                let done = self.done.take();
                assert_eq!(self.half.take_owned(), done);
                if done.is_some() {
                    self.future = Future::None;
                }
            }
            Step::DropOwned if self.future == Future::Waits => self.drop_owned(),
            Step::ForgetOwned if self.future == Future::Waits => self.future = Future::Forgotten,
            Step::TakeOwned | Step::DropOwned | Step::ForgetOwned => {}
        }
        assert_eq!(self.half.is_in_flight(), self.op.is_some());
        assert_eq!(self.half.is_starved(), self.starved);
        let is_ready = self.waiting() > 0 || self.end != NaiveEnd::NotYet;
        assert_eq!(self.half.is_ready(), is_ready);
    }

    fn begin(&mut self, source: Source) {
        // The stream is borrowed by its one reader.
        if !self.is_idle() || self.future == Future::Waits {
            return;
        }
        self.half.begin(source);
        self.op = Some(source);
        self.asked = false;
        self.starved = false;
        self.done = None;
        self.future = Future::None;
        if source == Source::Owned {
            self.future = Future::Waits;
            self.mark = self.mark.wrapping_add(1);
        }
    }

    fn complete(&mut self, step: Step) {
        match self.op {
            None => {}
            Some(Source::Receive) => self.complete_receive(step),
            Some(Source::Owned) => {
                let result = match step {
                    Step::Bring(count, _) => Ok(usize::from(count)),
                    Step::Fail(code, _) => Err(code),
                    _ => Ok(0),
                };
                let raw = result.map_or_else(|code| -code, |count| count as i32);
                if self.future == Future::Dropped {
                    self.adopt(result);
                } else {
                    self.done = Some(result);
                }
                self.check(completion(raw, None, false), None, false);
            }
            Some(Source::Poll) => match step {
                Step::Fail(code, _) => {
                    self.fail(code);
                    self.check(completion(-code, None, false), None, false);
                }
                _ => self.check(completion(1, None, false), None, false),
            },
        }
    }

    fn complete_receive(&mut self, step: Step) {
        match step {
            Step::Bring(count, more) => match self.lend() {
                Some(buffer) => {
                    self.arrived.push(Arrived {
                        buffer: Some(buffer),
                        start: 0,
                        end: usize::from(count),
                        mark: 0,
                    });
                    self.check(completion(count.into(), Some(buffer), more), None, more);
                }
                None => self.complete_receive(Step::Fail(libc::ENOBUFS, false)),
            },
            Step::Fail(code, carries) => {
                let buffer = if carries { self.lend() } else { None };
                if code == libc::ENOBUFS {
                    self.starved = true;
                } else {
                    self.fail(code);
                }
                self.check(completion(-code, buffer, false), buffer, false);
            }
            _ => {
                let carries = matches!(step, Step::End(true));
                let buffer = if carries { self.lend() } else { None };
                self.end = NaiveEnd::Ended;
                self.check(completion(0, buffer, false), buffer, false);
            }
        }
    }

    fn fail(&mut self, code: i32) {
        if ![libc::ECANCELED, libc::EINTR, libc::EAGAIN].contains(&code) {
            self.end = NaiveEnd::Failed(code);
        }
    }

    fn adopt(&mut self, result: Result<usize, i32>) {
        match result {
            Ok(0) => self.end = NaiveEnd::Ended,
            Ok(_) => {}
            Err(code) => self.fail(code),
        }
        self.arrived.push(Arrived {
            buffer: None,
            start: 0,
            end: result.unwrap_or(0),
            mark: self.mark,
        });
    }

    fn check(&mut self, completed: Completed, unused: Option<u16>, more: bool) {
        let stops = more && self.waiting() >= PIECES_MAX && !self.asked;
        let is_ready = self.waiting() > 0 || self.end != NaiveEnd::NotYet;
        let is_receive = self.op == Some(Source::Receive);
        let owed = OnCompleted {
            wakes: !more || is_ready,
            is_last: !more,
            stops,
            unused,
            starves: is_receive && completed.result == -libc::ENOBUFS,
            is_refused: completed.result == -libc::EAGAIN,
        };
        assert_eq!(self.half.completed(completed), owed);
        self.asked |= stops;
        if !more {
            self.op = None;
        }
        if let Some(buffer) = unused {
            self.back(buffer);
        }
    }

    fn look(&mut self) {
        let expected = match self.end {
            _ if self.waiting() > 0 => OnRead::Bytes,
            NaiveEnd::Ended => OnRead::End,
            NaiveEnd::Failed(code) => {
                self.end = NaiveEnd::NotYet;
                OnRead::Failed(code)
            }
            NaiveEnd::NotYet if self.op.is_some() => OnRead::Wait,
            NaiveEnd::NotYet => OnRead::Idle,
        };
        assert_eq!(self.half.look(), expected);
    }

    fn read_some(&mut self, count: usize) {
        let Some(first) = self.arrived.get_mut(self.taken) else {
            assert!(self.half.first_mut().is_none());
            return;
        };
        let count = count.min(first.end - first.start);
        first.start += count;
        self.half.first_mut().unwrap().start += count;
    }

    fn pop(&mut self) {
        let popped = self.half.pop();
        let Some(expected) = self.arrived.get(self.taken).copied() else {
            assert!(popped.is_none());
            return;
        };
        self.taken += 1;
        let Piece { body, start, end } = popped.expect("a piece is lost");
        assert_eq!((start, end), (expected.start, expected.end));
        match body {
            Body::Provided(buffer) => {
                assert_eq!(Some(buffer), expected.buffer);
                self.back(buffer);
            }
            Body::Owned(storage) => {
                assert_eq!(expected.buffer, None);
                // SAFETY: [read-half.order] the model has written as many bytes.
                let received = unsafe { storage.received(expected.end) };
                assert_eq!(received, vec![expected.mark; expected.end]);
            }
        }
    }

    fn drop_owned(&mut self) {
        // The kernel has written into it, or will.
        let mut room = vec![self.mark; 8];
        room.clear();
        self.half.leave_owned(Box::new(Adopted::new(room)));
        match self.done.take() {
            Some(result) => {
                self.future = Future::None;
                self.adopt(result);
            }
            None => self.future = Future::Dropped,
        }
    }
}

proptest! {
    // WITNESS: read-half.one, read-half.order, read-half.buffer, read-half.bounded
    #[test]
    fn any_order_of_calls_and_completions_is_like_the_naive_model(
        steps in prop::collection::vec(step(), 1..100)
    ) {
        let mut both = Both::new();
        for step in steps {
            both.apply(step);
        }
        while both.waiting() > 0 {
            both.apply(Step::Pop);
        }
        // Nothing is left over, and every buffer is with the kernel again.
        prop_assert!(both.half.pop().is_none());
        prop_assert!(both.buffers.iter().all(|place| *place == Place::Kernel));
    }
}
