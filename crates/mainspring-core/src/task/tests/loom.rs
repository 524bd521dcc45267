//! Models of the task's protocol: each runs the shipped task on a queue behind a modelled mutex.

use super::support::{Letter, Mailbox, Queue, Scene, poll_once, scheduler, spawn};
use crate::sync::Arc;
use crate::task::{self, JoinHandle, Ran, TaskState};
use crate::time::Nanos;
use crate::wait::{self, WaitKind};
use loom::model::Builder;
use loom::thread;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

mod aborts;
mod joins;
mod names;

/// Two threads: every interleaving.
fn model(run: impl Fn() + Send + Sync + 'static) {
    loom::model(run);
}

/// Three threads: every interleaving with two preemptions.
fn model_three(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(run);
}

fn polls_to(join: &mut JoinHandle<super::support::Guard>, waker: &Waker) -> bool {
    match Pin::new(join).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(result) => {
            drop(result.expect("the task neither panics nor is aborted"));
            true
        }
        Poll::Pending => false,
    }
}

// WITNESS: task.wake, task.one-poller
#[test]
fn wake_racing_poll_is_followed_by_one_that_sees_the_letter() {
    model(|| {
        let (scene, waker) = Scene::polled(1);
        let letter = Arc::clone(&scene.letter);
        let writer = thread::spawn(move || {
            letter.write();
            waker.wake();
        });
        scene.queue.run_all();
        writer.join().unwrap();
        scene.queue.run_all();
        assert!(
            scene.join.as_ref().unwrap().is_finished(),
            "task.wake: a letter was lost"
        );
        scene.end();
    });
}

// The task is scheduled already when the writer wakes it: nothing is left to do but to release.
// WITNESS: task.wake
#[test]
fn redundant_wake_by_ref_still_releases() {
    model(|| {
        let (scene, waker) = Scene::polled(1);
        waker.wake_by_ref();
        let letter = Arc::clone(&scene.letter);
        let writer = thread::spawn(move || {
            letter.write();
            waker.wake_by_ref();
            drop(waker);
        });
        scene.queue.run_all();
        writer.join().unwrap();
        scene.queue.run_all();
        assert!(
            scene.join.as_ref().unwrap().is_finished(),
            "task.wake: a letter was lost"
        );
        scene.end();
    });
}

// WITNESS: task.wake
#[test]
fn redundant_wake_by_value_still_releases() {
    model(|| {
        let (scene, waker) = Scene::polled(1);
        waker.wake_by_ref();
        let letter = Arc::clone(&scene.letter);
        let writer = thread::spawn(move || {
            letter.write();
            waker.wake();
        });
        scene.queue.run_all();
        writer.join().unwrap();
        scene.queue.run_all();
        assert!(
            scene.join.as_ref().unwrap().is_finished(),
            "task.wake: a letter was lost"
        );
        scene.end();
    });
}

// One thread ends a poll while another wakes the task and polls it next, with no queue between them
// that would order the two.
// WITNESS: task.handoff, task.one-poller, task.runnable
#[test]
fn poll_on_another_thread_sees_the_future_as_the_last_one_left_it() {
    model(|| {
        let (scene, waker) = Scene::polled(2);
        waker.wake_by_ref();
        let runnable = scene.queue.pop().unwrap();
        let queue = Arc::clone(&scene.queue);
        let letter = Arc::clone(&scene.letter);
        let other = thread::spawn(move || {
            letter.write();
            letter.write();
            waker.wake();
            queue.run_one();
        });
        let _ = runnable.run();
        other.join().unwrap();
        scene.queue.run_all();
        assert!(scene.join.as_ref().unwrap().is_finished(), "task.handoff");
        scene.end();
    });
}

// Two remote wakers, a task that wants both letters: no wake is taken for the other.
// WITNESS: task.wake, task.one-poller
#[test]
fn two_wakers_bring_two_letters() {
    model_three(|| {
        let (scene, waker) = Scene::polled(2);
        let writers = [waker.clone(), waker].map(|waker| {
            let letter = Arc::clone(&scene.letter);
            thread::spawn(move || {
                letter.write();
                waker.wake();
            })
        });
        scene.queue.run_all();
        for writer in writers {
            writer.join().unwrap();
        }
        scene.queue.run_all();
        assert!(
            scene.join.as_ref().unwrap().is_finished(),
            "task.wake: a letter was lost"
        );
        scene.end();
    });
}

// The joiner is registered while the task completes; it is woken, or finds the output.
// WITNESS: task.joiner, task.output, task.joiner-slot
#[test]
fn joiner_racing_completion_takes_the_output() {
    model(|| {
        let mut scene = Scene::new(0);
        let mut join = scene.join.take().unwrap();
        // The joiner is a task, so that being woken is visible as a run.
        let (joiner, waker) = Scene::polled(1);
        joiner.letter.write();
        let runnable = scene.queue.pop().unwrap();
        let worker = thread::spawn(move || runnable.run());
        let is_done = polls_to(&mut join, &waker);
        assert_eq!(worker.join().unwrap(), Ran::Complete);
        joiner.queue.run_all();
        let is_woken = joiner.join.as_ref().unwrap().is_finished();
        assert!(is_done || is_woken, "task.joiner: the joiner sleeps");
        assert!(is_done || polls_to(&mut join, Waker::noop()), "task.output");
        drop((join, waker));
        joiner.end();
        scene.drop_waker();
        scene.end();
    });
}

// The second poll of the join handle comes with another waker; whichever is registered when the
// task completes is woken, and the place of the waker is never written under the completer.
// WITNESS: task.joiner-slot, task.joiner
#[test]
fn join_waker_replaced_while_the_task_completes() {
    model(|| {
        let mut scene = Scene::new(0);
        let mut join = scene.join.take().unwrap();
        let (joiner, waker) = Scene::polled(1);
        joiner.letter.write();
        assert!(!polls_to(&mut join, Waker::noop()));
        let runnable = scene.queue.pop().unwrap();
        let worker = thread::spawn(move || runnable.run());
        let is_done = polls_to(&mut join, &waker);
        assert_eq!(worker.join().unwrap(), Ran::Complete);
        joiner.queue.run_all();
        let is_woken = joiner.join.as_ref().unwrap().is_finished();
        assert!(
            is_done || is_woken,
            "task.joiner: the joiner that came last sleeps"
        );
        assert!(is_done || polls_to(&mut join, Waker::noop()), "task.output");
        drop((join, waker));
        joiner.end();
        scene.drop_waker();
        scene.end();
    });
}

// A handle that registered goes while the task completes: one of the two drops the output, one of
// them frees, and the waker in the task goes with whoever owns it.
// WITNESS: task.output-once, task.free, task.joiner-slot, task.alive
#[test]
fn registered_handle_dropped_while_the_task_completes() {
    model(|| {
        let mut scene = Scene::new(0);
        let mut join = scene.join.take().unwrap();
        let (joiner, waker) = Scene::polled(1);
        assert!(!polls_to(&mut join, &waker));
        drop(waker);
        let queue = Arc::clone(&scene.queue);
        let worker = thread::spawn(move || {
            queue.run_all();
        });
        drop(join);
        worker.join().unwrap();
        joiner.end();
        scene.drop_waker();
        scene.end();
    });
}

// Nobody else holds the task, so the worker may be the one who frees it: after the handle has taken
// its waker out of it.
// WITNESS: task.free, task.joiner-slot, task.alive
#[test]
fn registered_handle_dropped_while_the_task_is_freed() {
    model(|| {
        let queue = Queue::new();
        let mut join = spawn(&queue, async {});
        assert!(poll_once(&mut join).is_pending());
        let runnable = queue.pop().unwrap();
        let worker = thread::spawn(move || runnable.run());
        drop(join);
        assert_eq!(worker.join().unwrap(), Ran::Complete);
    });
}

// WITNESS: task.output-once, task.free, task.alive
#[test]
fn handle_dropped_while_the_task_completes() {
    model(|| {
        let mut scene = Scene::new(0);
        let join = scene.join.take();
        let queue = Arc::clone(&scene.queue);
        let worker = thread::spawn(move || {
            queue.run_all();
        });
        drop(join);
        worker.join().unwrap();
        scene.drop_waker();
        scene.end();
    });
}

// WITNESS: task.free, task.alive, task.waker
#[test]
fn waker_cloned_and_dropped_while_the_task_completes() {
    model(|| {
        let (mut scene, waker) = Scene::polled(1);
        scene.letter.write();
        waker.wake_by_ref();
        let holder = thread::spawn(move || {
            let other = waker.clone();
            drop(waker);
            other.wake();
        });
        scene.join.take();
        scene.queue.run_all();
        holder.join().unwrap();
        scene.end();
    });
}

// WITNESS: task.output
#[test]
fn whoever_sees_the_end_sees_what_the_task_did() {
    model(|| {
        let queue = Queue::new();
        let letter = Letter::new();
        let written = Arc::clone(&letter);
        let join = spawn(&queue, async move { written.write() });
        let worker = thread::spawn(move || {
            queue.run_all();
        });
        if join.is_finished() {
            assert_eq!(letter.read(), 1, "task.output");
        }
        worker.join().unwrap();
    });
}

// A snapshot while the task is woken and polled again shows one reason or the other, or none: never
// the kind of one with the object of the other, nor the link of the queue.
// WITNESS: wait.note, wait.torn
#[test]
fn snapshot_racing_a_poll_never_mixes_two_reasons() {
    model(|| {
        let queue = Queue::new();
        let wakers = Arc::new(Mailbox::new(None));
        let mailed = Arc::clone(&wakers);
        let mut polls = 0;
        let noting = poll_fn(move |cx| {
            polls += 1;
            if polls == 1 {
                mailed.lock().replace(cx.waker().clone());
            }
            let kinds = [WaitKind::Timer, WaitKind::Receive];
            wait::note(kinds[polls - 1], polls as u64);
            Poll::<()>::Pending
        });
        let join = spawn(&queue, noting);
        let _ = queue.run_one();
        let waker = wakers.lock().take().unwrap();
        let task = queue.with_registry(|all| all.iter().next().map(|task| (*task).clone()));
        let task = task.unwrap();
        let looking = thread::spawn(move || {
            let info = task.info(Nanos::ZERO);
            let is_waiting = info.state == TaskState::Waiting;
            assert_eq!(is_waiting, info.waits_for.is_some(), "wait.torn: {info:?}");
            info.waits_for.map(|reason| (reason.kind, reason.object))
        });
        waker.wake();
        let _ = queue.run_one();
        if let Some(seen) = looking.join().unwrap() {
            let possible = [(WaitKind::Timer, 1), (WaitKind::Receive, 2)];
            assert!(possible.contains(&seen), "wait.torn: {seen:?}");
        }
        drop(join);
        queue.shut_down();
    });
}

// WITNESS: task.future-once, task.output-once, task.alive
#[test]
fn run_wake_abort_and_handle_drop_at_once() {
    model_three(|| {
        let (mut scene, waker) = Scene::polled(1);
        let join = scene.join.take().unwrap();
        let letter = Arc::clone(&scene.letter);
        let writer = thread::spawn(move || {
            letter.write();
            waker.wake();
        });
        let aborter = thread::spawn(move || {
            join.abort();
            drop(join);
        });
        scene.queue.run_all();
        writer.join().unwrap();
        aborter.join().unwrap();
        scene.queue.run_all();
        assert_eq!(scene.futures.count(), 1, "task.future-once");
        scene.end();
    });
}

// The executor ends while a waker fires: the task is ended once, the waker's call of the scheduler
// is over before the scheduler goes. Nobody comes back later for a runnable that arrived late: a
// task that is left in the queue keeps the queue, and itself, for ever.
// WITNESS: task.scheduler, scheduler.alive, scheduler.last, task.registry
#[test]
fn executor_dropped_while_a_waker_fires() {
    model(|| {
        let (scene, waker) = Scene::polled(1);
        let (futures, outputs) = (scene.futures.clone(), scene.outputs.clone());
        let Scene { queue, join, .. } = scene;
        drop(join);
        let writer = thread::spawn(move || waker.wake());
        queue.shut_down();
        drop(queue);
        writer.join().unwrap();
        assert_eq!(futures.count(), 1, "task.future-once");
        assert_eq!(outputs.count(), 1, "task.output-once");
    });
}

// A worker runs the task to its end and lets the executor go, while the waker that published the
// runnable is still inside `schedule`.
// WITNESS: task.scheduler, scheduler.alive, scheduler.last
#[test]
fn scheduler_outlives_the_call_that_published_the_runnable() {
    model(|| {
        let (scene, waker) = Scene::polled(1);
        scene.letter.write();
        let Scene { queue, join, .. } = scene;
        drop(join);
        let waking = thread::spawn(move || waker.wake());
        let Some(runnable) = queue.pop() else {
            waking.join().unwrap();
            queue.run_all();
            return;
        };
        drop(queue);
        assert_eq!(runnable.run(), Ran::Complete);
        waking.join().unwrap();
    });
}

// A worker's purse gives its references back while another thread drops the last counted one.
// WITNESS: scheduler.last, scheduler.purse, scheduler.alive
#[test]
fn purse_left_while_the_last_reference_goes() {
    model(|| {
        let queue = Queue::new();
        let reference = scheduler(&queue);
        drop(queue);
        let elsewhere = reference.clone();
        let other = thread::spawn(move || {
            let resident = elsewhere.enter();
            let (runnable, join) = task::create(async {}, elsewhere.clone());
            drop((runnable, join));
            drop(elsewhere);
            drop(resident);
        });
        drop(reference);
        other.join().unwrap();
    });
}
