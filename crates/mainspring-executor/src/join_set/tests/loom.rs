//! Ends racing with the join, with each other and with the set's end.

use super::support::{Letters, SlotRef, run, spawn};
use crate::join_set::JoinSet;
use crate::join_set::ready::{Node, Ready};
use loom::future::block_on;
use loom::thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn waker(node: &Arc<Node>) -> Waker {
    Waker::from(Arc::clone(node))
}

/// Waits as `block_on` does. A wake that is under way makes its target poll again and again until
/// it is over: others have to run between these polls.
fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    block_on(poll_fn(|cx| {
        let polled = poll(cx);
        if polled.is_pending() {
            thread::yield_now();
        }
        polled
    }))
}

/// Waits for the next node, as the set does.
fn next(ready: &mut Ready) -> Arc<Node> {
    wait(|cx| {
        if let Some(node) = ready.pop() {
            return Poll::Ready(node);
        }
        ready.register(cx.waker());
        match ready.pop() {
            Some(node) => Poll::Ready(node),
            None => Poll::Pending,
        }
    })
}

fn join_next<T>(set: &mut JoinSet<T>) -> T {
    let result = wait(|cx| set.poll_join_next(cx));
    result.expect("the set has members").unwrap()
}

// WITNESS: ready.once, ready.owned, ready.push, ready.not-lost
#[test]
fn two_ends_racing_the_wait_are_both_popped_once() {
    explore(2, || {
        let mut ready = Ready::new();
        let left = ready.left();
        let nodes = [ready.node(0), ready.node(1)];
        let threads = [&nodes[0], &nodes[1]].map(|node| {
            let waker = waker(node);
            thread::spawn(move || waker.wake())
        });
        let mut places = [next(&mut ready).place(), next(&mut ready).place()];
        places.sort_unstable();
        assert_eq!(places, [Some(0), Some(1)], "ready.once");
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(ready.pop().is_none(), "ready.once");
        drop((nodes, ready));
        assert!(left.upgrade().is_none(), "ready.owned: a node is left");
    });
}

// The node is queued when the other thread wakes it, or was popped a moment ago.
// WITNESS: ready.again, ready.unlinked, ready.not-lost, ready.once
#[test]
fn wake_of_a_node_that_is_queued_is_seen_by_the_look_that_follows() {
    explore(3, || {
        let mut ready = Ready::new();
        let node = ready.node(0);
        let letters = Letters::new();
        waker(&node).wake();
        let end = {
            let (waker, letters) = (waker(&node), Arc::clone(&letters));
            thread::spawn(move || {
                letters.write();
                waker.wake();
            })
        };
        drop(next(&mut ready));
        while letters.read() < 1 {
            drop(next(&mut ready));
        }
        end.join().unwrap();
    });
}

// WITNESS: ready.closed, ready.owned
#[test]
fn ends_racing_the_drop_of_the_set_leave_nothing() {
    explore(3, || {
        let mut ready = Ready::new();
        let left = ready.left();
        let nodes = [ready.node(0), ready.node(1)];
        waker(&nodes[1]).wake();
        let first = waker(&nodes[0]);
        drop(nodes);
        let end = thread::spawn(move || first.wake());
        drop(ready.pop());
        drop(ready);
        end.join().unwrap();
        assert!(left.upgrade().is_none(), "ready.closed: a node is left");
    });
}

// The other has ended before anybody waited.
// WITNESS: ready.not-lost, ready.again
#[test]
fn real_task_that_ends_on_another_thread_is_joined_beside_one_that_has_ended() {
    explore(2, || {
        let mut set = JoinSet::new();
        let (slot, join) = spawn(async { 1 });
        set.insert(join);
        run(&slot);
        let (slot, join) = spawn(async { 2 });
        set.insert(join);
        let end = thread::spawn(move || run(&slot));
        let first = join_next(&mut set);
        let second = join_next(&mut set);
        assert_eq!(first + second, 3);
        assert!(set.is_empty());
        end.join().unwrap();
    });
}

// The set goes, or lets go, while a task that it waits for ends: nothing is left of either.
// WITNESS: ready.closed, ready.owned
#[test]
fn drop_of_the_set_racing_an_end_it_waits_for_leaves_nothing() {
    for detaches in [false, true] {
        explore(2, move || {
            let output = Arc::new(());
            let given = Arc::clone(&output);
            let (slot, join) = spawn(async move { given });
            let mut set = JoinSet::new();
            set.insert(join);
            assert!(set.try_join_next().is_none());
            let there = SlotRef::clone(&slot);
            let end = thread::spawn(move || run(&there));
            let left = set.ready.left();
            if detaches {
                set.detach_all();
            }
            drop(set);
            end.join().unwrap();
            // The abort may have come after the run took the runnable.
            run(&slot);
            assert_eq!(Arc::strong_count(&output), 1, "the output is left");
            assert!(left.upgrade().is_none(), "ready.closed: a node is left");
        });
    }
}
