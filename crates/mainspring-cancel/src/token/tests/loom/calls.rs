//! Callbacks that are registered and taken back while their token is cancelled.

use super::super::racing::{explore_bounded, race};
use crate::{CancelToken, Phase, Reason, Registration, Unregistered};
use loom::future::block_on;
use mainspring_core::{Completer, Completion, completion};

/// A callback that completes something, so that who has the other end knows whether it was called.
fn register(token: &CancelToken, call: Completer<()>) -> Registration {
    token.on_cancel(move |_| {
        let _ = call.complete(());
    })
}

fn was_called(called: &mut Completion<()>) -> bool {
    called.try_take().is_ok()
}

// C4
// WITNESS: register.never-lost, wave.once
#[test]
fn callback_registered_while_its_token_is_cancelled_is_called_once() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let (call, mut called) = completion();
        let cancelling = {
            let token = token.clone();
            move || token.cancel(Reason::requested())
        };
        let registering = {
            let token = token.clone();
            move || register(&token, call)
        };
        let (_, registration) = race(start, cancelling, registering);
        assert!(was_called(&mut called), "register.never-lost");
        assert!(matches!(registration.unregister(), Unregistered::Ran));
        assert_eq!(token.phase(), Phase::Cancelled);
    });
}

// WITNESS: register.never-lost, register.counted
#[test]
fn callback_taken_back_while_its_token_is_cancelled_is_called_or_given_back() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let (call, mut called) = completion();
        let registration = register(&token, call);
        let cancelling = {
            let token = token.clone();
            move || token.cancel(Reason::requested())
        };
        let taking = move || match registration.unregister() {
            Unregistered::Removed(callback) => {
                drop(callback);
                false
            }
            Unregistered::Running(end) => {
                block_on(end);
                true
            }
            Unregistered::Ran => true,
        };
        let (_, is_called) = race(start, cancelling, taking);
        assert_eq!(was_called(&mut called), is_called, "register.never-lost");
        assert_eq!(
            token.phase(),
            Phase::Cancelled,
            "node.settled: nobody said so"
        );
    });
}

// WITNESS: register.never-lost, node.settled
#[test]
fn registration_dropped_while_its_token_is_cancelled_leaves_nothing() {
    explore_bounded(|start| {
        let root = CancelToken::new();
        let child = root.child();
        let (call, called) = completion();
        let registration = register(&child, call);
        drop(child);
        let cancelling = {
            let root = root.clone();
            move || root.cancel(Reason::requested())
        };
        race(start, cancelling, move || drop(registration));
        drop(called);
        assert_eq!(
            root.phase(),
            Phase::Cancelled,
            "node.settled: nobody said so"
        );
        assert!(
            root.node.lock().children().is_empty(),
            "node.linked: left behind"
        );
    });
}

// WITNESS: register.counted
#[test]
fn end_of_a_callback_that_runs_is_told_with_what_it_did() {
    explore_bounded(|start| {
        let token = CancelToken::new();
        let (seen, work) = completion::<()>();
        let registration = token.on_cancel(move |_| drop(work));
        let cancelling = {
            let token = token.clone();
            move || token.cancel(Reason::requested())
        };
        let waiting = move || match registration.unregister() {
            Unregistered::Running(end) => {
                block_on(end);
                assert!(seen.is_cancelled(), "register.counted: told too early");
            }
            Unregistered::Ran => assert!(seen.is_cancelled(), "register.counted"),
            Unregistered::Removed(_) => {}
        };
        race(start, cancelling, waiting);
    });
}
