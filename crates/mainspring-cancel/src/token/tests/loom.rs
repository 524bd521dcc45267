//! Models of the token. What a canceller or a holder did before is the cancellation of a
//! completion, whose word is read relaxed: only the edges of the token carry it.

mod calls;
mod trees;

use super::racing::{explore, explore_bounded, race};
use super::wakers::poll;
use crate::{CancelToken, Phase, Reason};
use loom::future::block_on;
use mainspring_core::completion;
use std::pin::pin;
use std::task::Waker;

// WITNESS: node.told, node.phase
#[test]
fn cancel_racing_a_wait_ends_it_and_brings_what_was_done_before() {
    explore(|start| {
        let token = CancelToken::new();
        let (seen, change) = completion::<()>();
        let cancelling = {
            let token = token.clone();
            move || {
                drop(change);
                token.cancel(Reason::requested())
            }
        };
        let waiting = move || {
            let _ = block_on(token.cancelled());
            assert!(seen.is_cancelled(), "node.told: nothing to see");
        };
        let (is_first, ()) = race(start, cancelling, waiting);
        assert!(is_first);
    });
}

// C3
// WITNESS: node.told
#[test]
fn token_that_is_found_cancelled_brings_what_was_done_before() {
    explore(|start| {
        let token = CancelToken::new();
        let (seen, change) = completion::<()>();
        let cancelling = {
            let token = token.clone();
            move || {
                drop(change);
                token.cancel(Reason::requested());
            }
        };
        let looking = move || {
            let is_cancelled = token.is_cancelled();
            assert!(
                !is_cancelled || seen.is_cancelled(),
                "node.told: nothing to see"
            );
        };
        race(start, cancelling, looking);
    });
}

// WITNESS: node.phase
#[test]
fn two_that_cancel_at_once_are_one_first_with_its_reason() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let other = token.clone();
        let one = move || token.cancel(Reason::shutdown());
        let two = {
            let other = other.clone();
            move || other.cancel(Reason::requested())
        };
        let (one, two) = race(start, one, two);
        assert!(one != two, "node.phase: first twice, or never");
        let what = other.reason().expect("it was cancelled").what();
        let expected = if one {
            crate::What::Shutdown
        } else {
            crate::What::Requested
        };
        assert_eq!(what, expected, "node.phase: the other's reason");
        assert_eq!(other.phase(), Phase::Cancelled);
    });
}

// WITNESS: node.settled, node.told
#[test]
fn release_of_the_last_hold_racing_cancel_and_a_wait_drains_and_brings_its_work() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let hold = token.hold().expect("nobody has cancelled it");
        let (seen, work) = completion::<()>();
        let holding = move || {
            drop(work);
            drop(hold);
        };
        let waiting = move || {
            token.cancel(Reason::requested());
            block_on(token.drained());
            assert!(seen.is_cancelled(), "node.told: drained too early");
        };
        race(start, holding, waiting);
    });
}

// WITNESS: node.settled
#[test]
fn hold_taken_when_the_last_goes_is_refused_or_waited_for() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let hold = token.hold().expect("nobody has cancelled it");
        token.cancel(Reason::requested());
        let late = {
            let token = token.clone();
            move || {
                if let Ok(late) = token.hold() {
                    let phase = token.phase();
                    assert_eq!(phase, Phase::Cancelling, "node.settled: it is held");
                    drop(late);
                }
            }
        };
        race(start, move || drop(hold), late);
        assert_eq!(
            token.phase(),
            Phase::Cancelled,
            "node.settled: nobody said so"
        );
        assert!(poll(pin!(token.drained()), Waker::noop()).is_ready());
    });
}

// WITNESS: until.pinned
#[test]
fn wait_dropped_while_all_are_woken_leaves_the_list_whole() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let mut waiting = Box::pin(token.clone().cancelled_owned());
        assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
        let cancelling = {
            let token = token.clone();
            move || token.cancel(Reason::requested())
        };
        race(start, cancelling, move || drop(waiting));
        assert!(token.is_cancelled());
    });
}
