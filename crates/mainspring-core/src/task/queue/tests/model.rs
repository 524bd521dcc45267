//! The run queue against a `VecDeque` of numbers.

use crate::task::tests::support::{Queue, scheduler};
use crate::task::{self, RunQueue, TaskId};
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Step {
    Push,
    PushFront,
    Pop,
    /// Appends a queue of this many.
    Append(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Push),
        1 => Just(Step::PushFront),
        3 => Just(Step::Pop),
        1 => (0_usize..4).prop_map(Step::Append),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // WITNESS: task.link
    #[test]
    fn any_steps_leave_the_queue_like_the_model(steps in steps()) {
        let scheduled = Queue::new();
        let scheduler = scheduler(&scheduled);
        let make = || {
            let (runnable, join) = task::create(async {}, scheduler.clone());
            join.detach();
            runnable
        };
        let mut queue = RunQueue::new();
        let mut model: VecDeque<TaskId> = VecDeque::new();
        for step in steps {
            match step {
                Step::Push => {
                    let runnable = make();
                    model.push_back(runnable.id());
                    queue.push(runnable);
                }
                Step::PushFront => {
                    let runnable = make();
                    model.push_front(runnable.id());
                    queue.push_front(runnable);
                }
                Step::Pop => {
                    let popped = queue.pop().map(|runnable| runnable.id());
                    prop_assert_eq!(popped, model.pop_front());
                }
                Step::Append(count) => {
                    let mut other = RunQueue::new();
                    other.extend((0..count).map(|_| make()).inspect(|r| model.push_back(r.id())));
                    queue.append(&mut other);
                    prop_assert_eq!((other.is_empty(), other.len()), (true, 0));
                }
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
        }
        let rest: Vec<_> = queue.map(|runnable| runnable.id()).collect();
        prop_assert_eq!(rest, Vec::from(model));
    }
}
