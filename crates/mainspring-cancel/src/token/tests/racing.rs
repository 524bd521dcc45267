//! Two racers in a model, either of them on the thread that loom starts with.
//!
//! loom remembers one latest access of an atomic: a racer that loads a word before it exchanges it
//! hides an earlier load of the other's. From the other start those executions are explored.

use mainspring_core::sync::thread;

#[derive(Clone, Copy)]
pub(crate) enum Start {
    First,
    Second,
}

pub(crate) fn explore(model: impl Fn(Start) + Copy + Send + Sync + 'static) {
    for start in [Start::First, Start::Second] {
        loom::model(move || model(start));
    }
}

/// As [`explore`], with two preemptions: for racers that do more than one thing.
pub(crate) fn explore_bounded(model: impl Fn(Start) + Copy + Send + Sync + 'static) {
    for start in [Start::First, Start::Second] {
        explore_three(move || model(start));
    }
}

/// Three threads, two preemptions.
pub(crate) fn explore_three(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

pub(crate) fn race<A: 'static, B: 'static>(
    start: Start,
    first: impl FnOnce() -> A + 'static,
    second: impl FnOnce() -> B + 'static,
) -> (A, B) {
    match start {
        Start::First => {
            let second = thread::spawn(second);
            (first(), second.join().unwrap())
        }
        Start::Second => {
            let first = thread::spawn(first);
            let second = second();
            (first.join().unwrap(), second)
        }
    }
}
