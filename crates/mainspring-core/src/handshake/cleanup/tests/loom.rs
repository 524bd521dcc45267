//! Models of the cleanup's word: the drop that started it against the cleanup that ends.

use crate::handshake::cleanup::{CleanupWord, OnDetach, OnFinish, OnLeave};
use crate::sync::Arc;
use crate::tests::recorder::{explore, race};

// WITNESS: cleanup.last-frees, cleanup.leave, cleanup.finish
#[test]
fn leave_racing_finish_the_second_frees() {
    explore(None, |start| {
        let word = Arc::new(CleanupWord::new());
        assert_eq!(word.detach(), OnDetach::Start);
        let (dropper, cleanup) = (Arc::clone(&word), word);
        let (left, finished) = race(start, move || dropper.leave(), move || cleanup.finish());
        assert_ne!(
            left == OnLeave::Free,
            finished == OnFinish::Free,
            "cleanup.last-frees: both or neither"
        );
    });
}

// WITNESS: cleanup.once
#[test]
fn dropped_again_while_it_runs_starts_nothing() {
    explore(None, |start| {
        let word = Arc::new(CleanupWord::new());
        assert_eq!(word.detach(), OnDetach::Start);
        let (dropper, cleanup) = (Arc::clone(&word), word);
        let (left, (again, finished)) = race(
            start,
            move || dropper.leave(),
            // What the cleanup holds may drop the same guard once more.
            move || (cleanup.detach(), cleanup.finish()),
        );
        assert_eq!(again, OnDetach::AlreadyStarted, "cleanup.once");
        assert_ne!(left == OnLeave::Free, finished == OnFinish::Free);
    });
}
