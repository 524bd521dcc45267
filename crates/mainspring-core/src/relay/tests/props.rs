//! Any sequence of calls answers like a queue with three flags.

use crate::relay::{OnComplete, OnEnd, OnRearm, OnTake, Relay};
use crate::tests::recorder::Recorder;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::task::Poll;

#[derive(Clone, Copy, Debug)]
enum Call {
    Complete,
    End,
    TryTake,
    Poll(usize),
    Disarm,
    Close,
    Rearm,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => Just(Call::Complete),
        1 => Just(Call::End),
        3 => Just(Call::TryTake),
        5 => (0..2_usize).prop_map(Call::Poll),
        1 => Just(Call::Disarm),
        1 => Just(Call::Close),
        2 => Just(Call::Rearm),
    ]
}

#[derive(Default)]
struct Model {
    queue: VecDeque<u32>,
    waiting: Option<usize>,
    ended: bool,
    closed: bool,
    wakes: [usize; 2],
}

const CAPACITY: usize = 4;

impl Model {
    fn wake(&mut self) -> bool {
        match self.waiting.take() {
            Some(task) => {
                self.wakes[task] += 1;
                true
            }
            None => false,
        }
    }

    fn take(&mut self) -> OnTake<u32> {
        match self.queue.pop_front() {
            Some(value) => OnTake::Value(value),
            None if self.ended || self.closed => OnTake::Ended,
            None => OnTake::Empty,
        }
    }
}

/// Makes one call on both and compares what they say.
fn step(
    relay: &Relay<u32, CAPACITY>,
    model: &mut Model,
    tasks: &[Recorder; 2],
    call: Call,
    number: u32,
) -> Result<(), TestCaseError> {
    // SAFETY (all calls below): this thread plays both sides, one call at a time, and completes
    // only while the producer has not ended.
    match call {
        Call::Complete if model.ended => {}
        Call::Complete => {
            // SAFETY: [relay.slots] the one producer.
            let verdict = unsafe { relay.complete(number) };
            if model.closed {
                prop_assert!(matches!(verdict, OnComplete::Closed(back) if back == number));
            } else if model.queue.len() == CAPACITY {
                prop_assert!(matches!(verdict, OnComplete::Full(back) if back == number));
            } else {
                model.queue.push_back(number);
                let woken = model.wake();
                match verdict {
                    OnComplete::Wake(waker) => {
                        prop_assert!(woken, "relay.waker: nobody was parked");
                        waker.wake();
                    }
                    other => prop_assert!(!woken, "relay.no-lost-wake: {:?}", other),
                }
            }
        }
        Call::End => {
            model.ended = true;
            let woken = model.wake();
            // SAFETY: [relay.slots] the one producer.
            match unsafe { relay.end() } {
                OnEnd::Wake(waker) => {
                    prop_assert!(woken);
                    waker.wake();
                }
                OnEnd::Ended => prop_assert!(!woken, "relay.no-lost-wake"),
            }
        }
        Call::TryTake => {
            // SAFETY: [relay.slots] the one consumer.
            let taken = unsafe { relay.try_take() };
            prop_assert_eq!(taken, model.take());
        }
        Call::Poll(task) => {
            // SAFETY: [relay.slots] the one consumer.
            let polled = unsafe { relay.poll_take(&tasks[task].context()) };
            let expected = match model.take() {
                OnTake::Value(value) => Poll::Ready(Some(value)),
                OnTake::Ended => Poll::Ready(None),
                OnTake::Empty => {
                    model.waiting = Some(task);
                    Poll::Pending
                }
            };
            prop_assert_eq!(polled, expected);
        }
        Call::Disarm => {
            // SAFETY: [relay.slots] the one consumer.
            let waker = unsafe { relay.disarm() };
            prop_assert_eq!(waker.is_some(), model.waiting.take().is_some());
        }
        Call::Close => {
            model.closed = true;
            // SAFETY: [relay.slots] the one consumer.
            let waker = unsafe { relay.close() };
            prop_assert_eq!(waker.is_some(), model.waiting.take().is_some());
        }
        Call::Rearm => {
            let expected = match (model.closed, model.ended) {
                (true, _) => OnRearm::Closed,
                (false, true) => OnRearm::Armed,
                (false, false) => OnRearm::Live,
            };
            // SAFETY: [relay.slots] the one consumer.
            prop_assert_eq!(unsafe { relay.rearm() }, expected);
            if expected == OnRearm::Armed {
                model.ended = false;
            }
        }
    }
    Ok(())
}

proptest! {
    // WITNESS: relay.once, relay.order, relay.waker, relay.no-lost-wake
    #[test]
    fn any_sequence_of_calls_answers_like_the_model(
        calls in proptest::collection::vec(call(), 0..80),
    ) {
        let relay = Relay::<u32, CAPACITY>::new();
        let tasks = [Recorder::new(), Recorder::new()];
        let mut model = Model::default();
        for (number, call) in (0..).zip(calls) {
            step(&relay, &mut model, &tasks, call, number)?;
            let parked = usize::from(model.waiting.is_some());
            let clones: usize = tasks.iter().map(Recorder::clones).sum();
            prop_assert_eq!(clones, parked, "relay.waker: leaked or lost");
        }
        drop(relay);
        for (task, expected) in tasks.iter().zip(model.wakes) {
            prop_assert_eq!(task.wakes(), expected);
            prop_assert_eq!(task.clones(), 0, "relay.waker: leaked");
        }
    }
}
