use super::{Context, Outcome, shortened};
use std::path::PathBuf;

#[test]
fn merged_outcomes_add_up_in_the_closing_line() {
    let mut all = Outcome::new();
    all.pass(1);
    let mut tests = Outcome::new();
    tests.pass(41);
    tests.fail("core::slow", "was stopped after 60 s");
    tests.skip("core::ignored", "marked #[ignore]");
    tests.skip("asan", "no nightly toolchain");
    all.merge(tests);
    all.check("fmt", Ok(()));
    all.check::<()>("deny", Err("licence not listed".to_owned()));
    assert_eq!(all.closing_line(), "43 passed, 2 failed, 2 skipped");
    assert_eq!(all.failures(), ["core::slow", "deny"]);
}

#[test]
fn nothing_run_is_all_zeros() {
    assert_eq!(
        Outcome::new().closing_line(),
        "0 passed, 0 failed, 0 skipped"
    );
}

#[test]
fn package_filter_selects_all_when_empty_and_only_the_named_otherwise() {
    let mut ctx = Context::new(PathBuf::from("/w"));
    assert!(ctx.is_selected("mainspring-core"));
    ctx.packages = vec!["mainspring-timer".to_owned()];
    assert!(ctx.is_selected("mainspring-timer"));
    assert!(!ctx.is_selected("mainspring-core"));
}

#[test]
fn very_long_output_keeps_both_ends() {
    let text: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let short = shortened(&text.join("\n"));
    assert_eq!(short.len(), 401);
    assert_eq!((short[0].as_str(), short[400].as_str()), ("0", "999"));
    assert_eq!(short[200], "… 600 lines left out …");
    assert_eq!(shortened("a\nb"), ["a", "b"]);
}
