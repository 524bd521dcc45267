use super::{Allowed, matches};
use crate::ci::STAGES;

fn parse(text: &str) -> Allowed {
    Allowed::parse(text).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn pattern_matches_the_whole_reason() {
    assert!(matches("no nightly*", "no nightly toolchain"));
    assert!(matches("*ring*EPERM", "the ring said EPERM"));
    assert!(matches("exactly", "exactly"));
    assert!(matches("*", ""));
    assert!(!matches("no", "no nightly toolchain"));
    assert!(!matches("nightly*", "no nightly toolchain"));
    assert!(!matches("*ring", "the ring said"));
}

#[test]
fn entry_covers_only_its_own_stage() {
    let allowed = parse("# why\n\nasan: no nightly*\n");
    assert!(allowed.covers("asan", "no nightly toolchain: install one"));
    assert!(!allowed.covers("deny", "no nightly toolchain: install one"));
    assert!(!allowed.covers("asan", "no linker"));
}

#[test]
fn malformed_line_is_refused_with_its_number() {
    let error = Allowed::parse("asan: x\nasan\n").err();
    assert_eq!(error.as_deref(), Some("line 2 is not `stage: pattern`"));
    assert!(Allowed::parse("asan:  ").is_err());
}

#[test]
fn committed_list_names_only_stages_that_may_be_skipped() {
    let committed = parse(include_str!("../../../lists/allowed-skips.txt"));
    assert_eq!(committed.check_against(STAGES), Ok(()));
    assert!(parse("unheard-of: *").check_against(STAGES).is_err());
    assert!(parse("test: *").check_against(STAGES).is_err());
}
