//! The queue and the dense members by themselves, on one thread.

use crate::join_set::members::Members;
use crate::join_set::ready::{Node, Ready};
use mainspring_core::task::JoinHandle;
use mainspring_testkit::Script;
use std::sync::Arc;
use std::task::Waker;

fn waker(node: &Arc<Node>) -> Waker {
    Waker::from(Arc::clone(node))
}

/// The places that are popped, until there is none.
fn pop_all(ready: &mut Ready) -> Vec<Option<usize>> {
    std::iter::from_fn(|| ready.pop().map(|node| node.place())).collect()
}

// WITNESS: ready.once, ready.not-lost
#[test]
fn nodes_are_popped_in_the_order_of_their_wakes_and_each_once() {
    let mut ready = Ready::new();
    let nodes: Vec<_> = (0..4).map(|place| ready.node(place)).collect();
    for at in [2, 0, 2, 3, 0] {
        waker(&nodes[at]).wake();
    }
    assert_eq!(ready.pop().and_then(|node| node.place()), Some(2));
    // Woken while the rest of its batch is still there: behind it, and again after its pop.
    waker(&nodes[2]).wake_by_ref();
    waker(&nodes[0]).wake_by_ref();
    waker(&nodes[1]).wake_by_ref();
    let places = pop_all(&mut ready);
    assert_eq!(places, [Some(0), Some(3), Some(2), Some(1)], "ready.once");
    waker(&nodes[0]).wake();
    assert_eq!(pop_all(&mut ready), [Some(0)], "ready.not-lost");
}

// WITNESS: ready.not-lost
#[test]
fn owner_is_told_once_until_it_takes_the_stack() {
    let mut ready = Ready::new();
    let nodes: Vec<_> = (0..3).map(|place| ready.node(place)).collect();
    let (owner, tally) = Script::new().waker();
    ready.register(&owner);
    nodes.iter().for_each(|node| waker(node).wake());
    assert_eq!(tally.woken(), 1);
    assert_eq!(pop_all(&mut ready).len(), 3);
    ready.register(&owner);
    waker(&nodes[1]).wake();
    assert_eq!(tally.woken(), 2, "ready.not-lost");
    assert!(ready.unregister().is_none());
}

// WITNESS: ready.closed, ready.owned
#[test]
fn nothing_is_left_after_the_owner_whatever_was_woken() {
    let mut ready = Ready::new();
    let nodes: Vec<_> = (0..5).map(|place| ready.node(place)).collect();
    let (owner, tally) = Script::new().waker();
    let left = ready.left();
    nodes[..3].iter().for_each(|node| waker(node).wake());
    drop(ready.pop());
    ready.register(&owner);
    drop(owner);
    waker(&nodes[3]).wake();
    drop(ready);
    assert_eq!(tally.live(), 0, "ready.closed: the owner's waker stays");
    nodes.iter().for_each(|node| waker(node).wake());
    assert!(left.upgrade().is_some());
    drop(nodes);
    assert!(
        left.upgrade().is_none(),
        "ready.closed: nodes hold their stack"
    );
}

/// Tasks of an executor that is gone: all have ended.
fn ended(count: usize) -> Vec<JoinHandle<usize>> {
    let executor = crate::LocalExecutor::new();
    (0..count)
        .map(|n| executor.spawn_local(async move { n }))
        .collect()
}

// A member is taken out of anywhere, and everybody's place stays right.
// WITNESS: members.place, members.order
#[test]
fn places_stay_right_in_every_order_of_leaving() {
    let ready = Ready::new();
    for first in 0..5_usize {
        for second in 0..4_usize {
            let executor = crate::LocalExecutor::new();
            let mut members = Members::new();
            let ids: Vec<_> = (0..7)
                .map(|n| {
                    let handle = executor.spawn_local(async move { n });
                    let id = handle.id();
                    members.push(handle);
                    id
                })
                .collect();
            let nodes: Vec<_> = (0..5)
                .map(|place| {
                    let node = ready.node(place);
                    assert!(members.wait_for_fresh(Arc::clone(&node)).is_none());
                    node
                })
                .collect();
            executor.block_on(mainspring_core::task::yield_now());
            let mut seen = Vec::new();
            for leaving in [first, second] {
                let result = members.take_waited(leaving).unwrap().unwrap();
                assert_eq!(nodes[result].place(), None, "members.place");
                seen.push(result);
            }
            for (n, node) in nodes.iter().enumerate() {
                let Some(place) = node.place() else {
                    assert!(seen.contains(&n), "members.place: {n} lost its own");
                    continue;
                };
                let handle = members.handles().nth(place).unwrap();
                assert_eq!(handle.id(), ids[n], "members.place: another's");
            }
            assert_eq!(
                (members.len(), members.fresh()),
                (5, Some(3)),
                "members.order"
            );
            for _ in 0..2 {
                seen.push(members.take_fresh().unwrap().unwrap());
            }
            assert_eq!(members.fresh(), None, "members.order");
            assert!(seen.contains(&5) && seen.contains(&6));
            members.clear();
            assert!(nodes.iter().all(|node| node.place().is_none()));
        }
    }
}

// WITNESS: members.order
#[test]
fn members_that_ended_before_are_taken_without_a_node() {
    let mut members = Members::new();
    ended(3).into_iter().for_each(|handle| members.push(handle));
    let mut cancelled = 0;
    while let Some(result) = members.take_fresh() {
        cancelled += usize::from(result.is_err());
    }
    assert_eq!((cancelled, members.len()), (3, 0));
}
