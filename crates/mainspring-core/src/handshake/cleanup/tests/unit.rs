use crate::handshake::cleanup::{CleanupWord, OnDetach, OnFinish, OnLeave};

// WITNESS: cleanup.last-frees
#[test]
fn cleanup_that_outlives_the_drop_frees() {
    let word = CleanupWord::new();
    assert!(!word.is_detached());
    assert_eq!(word.detach(), OnDetach::Start);
    assert!(word.is_detached());
    assert_eq!(word.leave(), OnLeave::Orphaned);
    assert_eq!(word.finish(), OnFinish::Free);
}

// WITNESS: cleanup.last-frees
#[test]
fn cleanup_that_ends_inside_the_drop_leaves_the_cell_to_the_dropper() {
    let word = CleanupWord::new();
    assert_eq!(word.detach(), OnDetach::Start);
    assert_eq!(word.finish(), OnFinish::Cleaned);
    assert_eq!(word.leave(), OnLeave::Free);
}

// WITNESS: cleanup.once
#[test]
fn dropped_again_in_any_later_state_nothing_is_started() {
    let word = CleanupWord::new();
    assert_eq!(word.detach(), OnDetach::Start);
    assert_eq!(word.detach(), OnDetach::AlreadyStarted, "DETACHED");
    assert_eq!(word.leave(), OnLeave::Orphaned);
    assert_eq!(word.detach(), OnDetach::AlreadyStarted, "ORPHANED");
    assert_eq!(word.finish(), OnFinish::Free);
    assert_eq!(word.detach(), OnDetach::AlreadyStarted, "CLEANED");
}

#[test]
fn state_is_printed_by_name() {
    let word = CleanupWord::new();
    assert_eq!(format!("{word:?}"), "CleanupWord { state: \"LIVE\" }");
}
