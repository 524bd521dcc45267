//! A cancellation on its way down, against those who build and leave the tree.

use super::super::racing::{explore_bounded, explore_three, race};
use crate::{CancelToken, Phase, Reason};
use mainspring_core::sync::thread;

// WITNESS: node.phase, node.linked
#[test]
fn child_made_while_its_parent_is_cancelled_is_cancelled_too() {
    explore_bounded(|start| {
        let parent = CancelToken::new();
        let cancelling = {
            let parent = parent.clone();
            move || parent.cancel(Reason::requested())
        };
        let making = {
            let parent = parent.clone();
            move || parent.child()
        };
        let (_, child) = race(start, cancelling, making);
        assert!(child.is_cancelled(), "node.phase: missed");
        assert!(child.reason().is_some_and(|reason| reason.is_inherited()));
        assert_eq!(parent.phase(), Phase::Cancelled);
    });
}

// C2
// WITNESS: wave.whole, node.reached, node.adopted
#[test]
fn token_below_one_that_is_dropped_is_cancelled_when_cancel_returns() {
    explore_bounded(|start| {
        let root = CancelToken::new();
        let middle = root.child();
        let leaf = middle.child();
        let cancelling = {
            let (root, leaf) = (root.clone(), leaf.clone());
            move || {
                root.cancel(Reason::requested());
                assert!(leaf.is_cancelled(), "wave.whole: it was missed");
            }
        };
        race(start, cancelling, move || drop(middle));
        assert_eq!(leaf.phase(), Phase::Cancelled);
        assert_eq!(
            root.phase(),
            Phase::Cancelled,
            "node.settled: nobody said so"
        );
    });
}

// C2
// WITNESS: wave.whole
#[test]
fn whoever_cancels_second_returns_when_all_below_are_cancelled() {
    explore_bounded(|start| {
        let root = CancelToken::new();
        let middle = root.child();
        let leaf = middle.child();
        let cancelling = |token: &CancelToken| {
            let (token, leaf) = (token.clone(), leaf.clone());
            move || {
                token.cancel(Reason::requested());
                assert!(leaf.is_cancelled(), "wave.whole: returned too early");
            }
        };
        race(start, cancelling(&root), cancelling(&middle));
        assert_eq!(root.phase(), Phase::Cancelled);
    });
}

// WITNESS: node.settled, node.linked
#[test]
fn children_that_settle_at_once_settle_their_parent() {
    explore_bounded(|start| {
        let root = CancelToken::new();
        let [one, other] = [root.child(), root.child()].map(|child| child.hold());
        root.cancel(Reason::requested());
        assert_eq!(root.phase(), Phase::Cancelling);
        race(start, move || drop(one), move || drop(other));
        assert_eq!(
            root.phase(),
            Phase::Cancelled,
            "node.settled: nobody said so"
        );
    });
}

// WITNESS: node.linked, node.adopted
#[test]
fn child_that_settles_while_its_parent_is_dropped_leaves_the_right_one() {
    explore_bounded(|start| {
        let root = CancelToken::new();
        let middle = root.child();
        let leaf = middle.child();
        let hold = leaf.hold();
        leaf.cancel(Reason::requested());
        race(start, move || drop(middle), move || drop(hold));
        assert_eq!(leaf.phase(), Phase::Cancelled);
        let count = root.node.lock().children().len();
        assert_eq!(count, 0, "node.linked: left behind");
    });
}

// WITNESS: node.last, node.adopted
#[test]
fn last_of_two_handles_takes_the_node_out_with_what_the_other_made() {
    explore_bounded(|start| {
        let root = CancelToken::new();
        let middle = root.child();
        let other = middle.clone();
        let making = move || {
            let leaf = middle.child();
            drop(middle);
            leaf
        };
        let (leaf, ()) = race(start, making, move || drop(other));
        let count = root.node.lock().children().len();
        assert_eq!(count, 1, "node.adopted: the leaf alone");
        root.cancel(Reason::requested());
        assert!(leaf.is_cancelled());
    });
}

// WITNESS: node.linked
#[test]
fn three_that_leave_and_come_below_one_parent_leave_it_whole() {
    explore_three(|| {
        let root = CancelToken::new();
        let (one, other) = (root.child(), root.child());
        let leaving = thread::spawn(move || drop(one));
        let coming = {
            let root = root.clone();
            thread::spawn(move || root.child())
        };
        drop(other);
        leaving.join().unwrap();
        let child = coming.join().unwrap();
        assert_eq!(root.node.lock().children().len(), 1);
        root.cancel(Reason::requested());
        assert!(child.is_cancelled());
    });
}
