//! Models of the cleanup's word: the drop that started it against the cleanup that ends.

use crate::handshake::cleanup::{CleanupWord, OnDetach, OnFinish, OnLeave};
use crate::sync::Arc;
use loom::thread;

// WITNESS: cleanup.last-frees, cleanup.leave, cleanup.finish
#[test]
fn leave_racing_finish_the_second_frees() {
    loom::model(|| {
        let word = Arc::new(CleanupWord::new());
        assert_eq!(word.detach(), OnDetach::Start);
        let cleanup = {
            let word = Arc::clone(&word);
            thread::spawn(move || word.finish())
        };
        let left = word.leave();
        let finished = cleanup.join().unwrap();
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
    loom::model(|| {
        let word = Arc::new(CleanupWord::new());
        assert_eq!(word.detach(), OnDetach::Start);
        let cleanup = {
            let word = Arc::clone(&word);
            // What the cleanup holds may drop the same guard once more.
            thread::spawn(move || (word.detach(), word.finish()))
        };
        let left = word.leave();
        let (again, finished) = cleanup.join().unwrap();
        assert_eq!(again, OnDetach::AlreadyStarted, "cleanup.once");
        assert_ne!(left == OnLeave::Free, finished == OnFinish::Free);
    });
}
