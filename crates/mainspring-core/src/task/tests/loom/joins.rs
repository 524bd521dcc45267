//! Joins against the end of the task, on the thread that merely looks.

use super::super::support::Scene;
use super::{model, polls_to};
use loom::thread;
use std::task::Waker;

// A handle that finds the task complete takes the output on the strength of a load.
// WITNESS: task.output
#[test]
fn first_look_racing_the_end_takes_the_output() {
    model(|| {
        let mut scene = Scene::new(0);
        let mut join = scene.join.take().unwrap();
        let joiner = thread::spawn(move || {
            let is_done = polls_to(&mut join, Waker::noop());
            (join, is_done)
        });
        scene.queue.run_all();
        let (mut join, is_done) = joiner.join().unwrap();
        assert!(is_done || polls_to(&mut join, Waker::noop()), "task.output");
        drop(join);
        scene.drop_waker();
        scene.end();
    });
}

// The task may end between the look that finds the old waker and taking it back.
// WITNESS: task.output, task.joiner-slot
#[test]
fn another_waker_racing_the_end_takes_the_output() {
    model(|| {
        let mut scene = Scene::new(0);
        let mut join = scene.join.take().unwrap();
        let (other, waker) = Scene::polled(1);
        other.letter.write();
        assert!(!polls_to(&mut join, Waker::noop()));
        let joiner = thread::spawn(move || {
            let is_done = polls_to(&mut join, &waker);
            drop(waker);
            (join, is_done)
        });
        scene.queue.run_all();
        let (mut join, is_done) = joiner.join().unwrap();
        other.queue.run_all();
        let is_woken = other.join.as_ref().unwrap().is_finished();
        assert!(is_done || is_woken, "task.joiner: the joiner sleeps");
        assert!(is_done || polls_to(&mut join, Waker::noop()), "task.output");
        drop(join);
        other.end();
        scene.drop_waker();
        scene.end();
    });
}
