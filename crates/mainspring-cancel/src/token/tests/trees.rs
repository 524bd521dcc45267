//! Trees: what is cancelled with what, what is waited for, what is left behind.

use super::wakers::{counted, poll};
use crate::{CancelToken, Phase, Reason, What};
use std::pin::pin;
use std::task::Waker;

// C1, C2
// WITNESS: wave.whole
#[test]
fn cancel_reaches_everything_below_and_nothing_beside() {
    let root = CancelToken::new();
    let (left, right) = (root.child(), root.child());
    let below = left.child();
    let (counter, waker) = counted();
    let mut waiting = pin!(below.cancelled());
    assert!(poll(waiting.as_mut(), &waker).is_pending());
    left.cancel(Reason::new(What::Timeout));
    assert!(below.is_cancelled());
    assert!(!root.is_cancelled() && !right.is_cancelled());
    assert_eq!(counter.count(), 1);
    let reason = below.reason().unwrap();
    assert_eq!(
        (reason.what(), reason.origin().what()),
        (What::Parent, What::Timeout)
    );
    root.cancel(Reason::shutdown());
    assert!(right.is_cancelled());
    // It keeps the reason that it got first.
    assert_eq!(left.reason().unwrap().what(), What::Timeout);
    assert_eq!(below.reason().unwrap().origin().what(), What::Timeout);
}

// WITNESS: node.phase
#[test]
fn child_of_a_cancelled_token_is_cancelled_and_not_waited_for() {
    let root = CancelToken::new();
    let hold = root.hold().unwrap();
    root.cancel(Reason::shutdown());
    let late = root.child();
    assert_eq!(late.phase(), Phase::Cancelled);
    assert_eq!(late.reason().unwrap().origin().what(), What::Shutdown);
    assert!(late.child().is_cancelled());
    assert!(late.hold().is_err());
    drop(hold);
    assert_eq!(root.phase(), Phase::Cancelled);
}

// C11
// WITNESS: node.settled
#[test]
fn token_waits_for_its_children_but_not_for_one_that_is_gone() {
    let root = CancelToken::new();
    let (one, other) = (root.child(), root.child());
    let hold = other.child().hold().unwrap();
    root.cancel(Reason::requested());
    assert_eq!(
        (one.phase(), other.phase()),
        (Phase::Cancelled, Phase::Cancelling)
    );
    drop(other);
    // The one with the hold is below the dropped one, and alive by its hold.
    assert_eq!(root.phase(), Phase::Cancelling);
    drop(hold);
    assert_eq!(root.phase(), Phase::Cancelled);

    let root = CancelToken::new();
    let child = root.child();
    drop(child);
    root.cancel(Reason::requested());
    assert_eq!(root.phase(), Phase::Cancelled);
}

// WITNESS: node.settled
#[test]
fn child_that_is_cancelled_alone_leaves_its_parent_alive() {
    let root = CancelToken::new();
    let child = root.child();
    let hold = child.hold().unwrap();
    child.cancel(Reason::requested());
    drop(hold);
    assert_eq!(child.phase(), Phase::Cancelled);
    assert_eq!(root.phase(), Phase::Alive);
    assert!(root.node.lock().children().is_empty());
    root.cancel(Reason::requested());
    assert_eq!(root.phase(), Phase::Cancelled);
}

// C1
// WITNESS: node.adopted, node.linked
#[test]
fn children_of_one_that_is_gone_are_its_parents() {
    let root = CancelToken::new();
    let middle = root.child();
    let beside = root.child();
    let below: Vec<_> = (0..4).map(|_| middle.child()).collect();
    drop(middle);
    assert_eq!(root.node.lock().children().len(), 5);
    drop(beside);
    assert_eq!(root.node.lock().children().len(), 4);
    let hold = below[2].hold().unwrap();
    root.cancel(Reason::requested());
    assert!(below.iter().all(CancelToken::is_cancelled));
    assert_eq!(root.phase(), Phase::Cancelling);
    drop(below);
    drop(hold);
    assert_eq!(root.phase(), Phase::Cancelled);
}

// WITNESS: node.adopted
#[test]
fn children_of_a_root_that_is_gone_are_roots() {
    let root = CancelToken::new();
    let (one, other) = (root.child(), root.child());
    let below = one.child();
    drop(root);
    one.cancel(Reason::requested());
    assert!(below.is_cancelled());
    assert!(!other.is_cancelled());
    assert_eq!(one.phase(), Phase::Cancelled);
}

// WITNESS: node.reached
#[test]
fn dead_node_in_a_cancelled_tree_settles_with_what_is_below() {
    let root = CancelToken::new();
    let middle = root.child();
    let hold = middle.child().hold().unwrap();
    middle.cancel(Reason::requested());
    drop(middle);
    assert_eq!(root.node.lock().children().len(), 1);
    root.cancel(Reason::requested());
    assert_eq!(root.phase(), Phase::Cancelling);
    drop(hold);
    assert_eq!(root.phase(), Phase::Cancelled);
    assert!(root.node.lock().children().is_empty());
}

const DEEP: usize = 100_000;

fn chain() -> Vec<CancelToken> {
    let mut chain = vec![CancelToken::new()];
    for at in 0..DEEP {
        let child = chain[at].child();
        chain.push(child);
    }
    chain
}

/// On a stack on which a recursion through the chain would not end.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    thread.spawn(test).unwrap().join().unwrap();
}

// C1
// WITNESS: wave.whole
#[test]
fn a_hundred_thousand_levels_are_cancelled_and_settle_without_recursion() {
    on_a_small_stack(|| {
        let chain = chain();
        let last = chain.last().unwrap();
        let hold = last.hold().unwrap();
        let (counter, waker) = counted();
        let mut waiting = pin!(last.cancelled());
        assert!(poll(waiting.as_mut(), &waker).is_pending());
        chain[0].cancel(Reason::requested());
        assert!(chain.iter().all(CancelToken::is_cancelled));
        assert_eq!(counter.count(), 1);
        assert!(chain.iter().all(|token| token.phase() == Phase::Cancelling));
        assert_eq!(chain[0].cancel_report().holds.len(), 1);
        drop(hold);
        assert!(chain.iter().all(|token| token.phase() == Phase::Cancelled));
    });
}

// C1
// WITNESS: node.adopted
#[test]
fn a_hundred_thousand_levels_are_dropped_from_either_end_without_recursion() {
    on_a_small_stack(|| {
        let mut chain = chain();
        let last = chain.pop().unwrap();
        // From the top: each one's child is a root.
        drop(chain);
        assert!(!last.is_cancelled());
        let mut chain = self::chain();
        while chain.len() > 1 {
            chain.pop();
        }
        assert!(chain[0].node.lock().children().is_empty());
        // Cancelled and dropped with a hold at the end: the dead ones go when it is released.
        let chain = self::chain();
        let hold = chain.last().unwrap().hold().unwrap();
        chain[0].cancel(Reason::requested());
        drop(chain);
        drop(hold);
    });
}

// C1
// WITNESS: wave.whole
#[test]
fn cancelling_a_chain_from_its_end_walks_each_level_once() {
    on_a_small_stack(|| {
        let chain = chain();
        let hold = chain.last().unwrap().hold().unwrap();
        // A walk that went through what is told would take 5 * 10^9 steps.
        for token in chain.iter().rev() {
            assert!(token.cancel(Reason::requested()));
        }
        drop(hold);
        assert_eq!(chain[0].phase(), Phase::Cancelled);
    });
}

// C7, B206
// WITNESS: node.linked
#[test]
fn token_replaced_by_its_child_again_and_again_grows_no_chain() {
    let root = CancelToken::new();
    let mut token = root.child();
    for _ in 0..DEEP {
        token = token.child();
    }
    assert_eq!(root.node.lock().children().len(), 1);
    root.cancel(Reason::requested());
    assert!(token.is_cancelled());
    let _ = poll(pin!(token.drained()), Waker::noop());
}
